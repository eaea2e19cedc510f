//! Calls that read and write a guest's memory, in each form, by each compiler, with its optimisations: none
//! drops or moves what the guest reads and writes around them.

use std::fs;

use crate::common::{api, builds, folder, tests};
use riverrun::{Caller, Config, HostError, Linker, Memory, Ptr, Slice, Str};
use riverrun_testkit::suite::SuiteEngine;

#[allow(unreachable_pub, reason = "it is what was generated")]
mod bindings {
    include!("goldens/memory_host.rs");
}
use bindings::{Api, Item};

/// The pointer that the guest has left.
struct Host(Option<Ptr<i32>>);

impl Host {
    fn watched(&self) -> Result<Ptr<i32>, HostError> {
        self.0.ok_or_else(|| "nothing is watched".into())
    }
}

impl Api for Host {
    fn sum(caller: Caller<'_, Self>, values: Slice<i32>) -> Result<i64, HostError> {
        Ok(values.get(caller.memory())?.iter().map(|&value| i64::from(value)).sum())
    }

    fn fill(mut caller: Caller<'_, Self>, values: Slice<i32>, with: i32) -> Result<(), HostError> {
        values.get_mut(caller.memory_mut())?.fill(with);
        Ok(())
    }

    fn increment(mut caller: Caller<'_, Self>, value: Ptr<i32>) -> Result<i32, HostError> {
        let value = value.get_mut(caller.memory_mut())?;
        *value += 1;
        Ok(*value - 1)
    }

    fn length(caller: Caller<'_, Self>, text: Str) -> Result<u64, HostError> {
        Ok(text.get(caller.memory())?.len() as u64)
    }

    fn item(mut caller: Caller<'_, Self>, item: Ptr<Item>) -> Result<f64, HostError> {
        let item = item.get_mut(caller.memory_mut())?;
        let sum = f64::from(item.a) + f64::from(item.b) + item.c;
        (item.a, item.b, item.c) = (-item.a, -item.b, -item.c);
        Ok(sum)
    }

    fn watch(mut caller: Caller<'_, Self>, value: Ptr<i32>) -> Result<(), HostError> {
        caller.data_mut().0 = Some(value);
        Ok(())
    }

    fn poke(mut caller: Caller<'_, Self>, value: i32) -> Result<(), HostError> {
        let (host, memory) = caller.split();
        *host.watched()?.get_mut(memory)? = value;
        Ok(())
    }

    fn peek(mut caller: Caller<'_, Self>) -> Result<i32, HostError> {
        let (host, memory) = caller.split();
        Ok(*host.watched()?.get(memory)?)
    }

    fn call(mut caller: Caller<'_, Self>, function: Ptr<()>, times: i32) -> Result<(), HostError> {
        let function = caller.func_at::<(i32,), ()>(function.address())?;
        for n in 1..=times {
            function.call(&mut caller, (n,))?;
        }
        Ok(())
    }

    fn leaf_sum(&mut self, memory: &mut Memory, values: Ptr<[i32; 8]>) -> Result<i64, HostError> {
        Ok(values.get(memory)?.iter().map(|&value| i64::from(value)).sum())
    }

    fn leaf_fill(&mut self, memory: &mut Memory, values: Ptr<[i32; 8]>, with: i32) -> Result<(), HostError> {
        *values.get_mut(memory)? = [with; 8];
        Ok(())
    }

    fn leaf_scale(
        &mut self,
        memory: &mut Memory,
        to: Ptr<[i32; 8]>,
        from: Ptr<[i32; 8]>,
        by: i32,
    ) -> Result<(), HostError> {
        *to.get_mut(memory)? = from.get(memory)?.map(|value| value * by);
        Ok(())
    }

    fn leaf_negate(&mut self, memory: &mut Memory, values: Ptr<[i32; 8]>) -> Result<(), HostError> {
        values.get_mut(memory)?.iter_mut().for_each(|value| *value = -*value);
        Ok(())
    }

    fn leaf_items(
        &mut self,
        memory: &mut Memory,
        items: Ptr<[Item; 2]>,
        last: Ptr<[Item; 1]>,
    ) -> Result<f64, HostError> {
        let [first, second] = *items.get(memory)?;
        let [last] = last.get_mut(memory)?;
        (last.a, last.b, last.c) = (first.a + second.a, first.b + second.b, first.c + second.c);
        Ok(f64::from(last.a) + f64::from(last.b) + last.c)
    }
}

#[test]
fn nothing_is_dropped_or_moved_around_calls() {
    let folder = folder();
    for build in builds() {
        for form in ["sys_##name", "isys_##name", "dsys_##name"] {
            let [_, assembly] = api("memory.json").write_guest_c(folder.path()).unwrap();
            let sources = [tests().join("guests/memory.c"), assembly];
            let guest = build.guest(folder.path(), &sources, &[&format!("-DFORM(name)={form}")]);
            let bytes = fs::read(guest).unwrap();
            for engine in SuiteEngine::ALL {
                let program = engine.load(&Config::new(), &*bytes);
                let mut linker = Linker::new(program.engine());
                bindings::link(&mut linker).unwrap();
                let mut machine = linker.instantiate(&program, Host(None)).unwrap();
                assert_eq!(machine.run().unwrap(), 0);
                let memory = machine.func::<(i32,), i32>("memory").unwrap();
                for n in [0, 9, -100] {
                    let line =
                        memory.call(&mut machine, (n,)).unwrap_or_else(|error| panic!("{build:?}, {form}: {error}"));
                    assert_eq!(line, 0, "line of tests/guests/memory.c, {build:?}, {form}");
                }
            }
        }
    }
}

//! A host's functions behind the code that `riverrun bindgen` makes of `apis/memory.json`. Nothing that a guest passes them
//! panics: the fuzz target of host functions has them, too.

use riverrun::{Caller, HostError, Memory, Ptr, Slice, Str};

#[allow(unreachable_pub, reason = "it is what was generated")]
mod bindings {
    include!("../goldens/memory_host.rs");
}
pub(crate) use bindings::link;
use bindings::{Api, Item};

/// The pointer that the guest has left.
#[derive(Default)]
pub(crate) struct Host(Option<Ptr<i32>>);

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
        let before = *value;
        *value = before.wrapping_add(1);
        Ok(before)
    }

    fn length(caller: Caller<'_, Self>, text: Str) -> Result<u64, HostError> {
        Ok(text.get(caller.memory())?.len() as u64)
    }

    fn item(mut caller: Caller<'_, Self>, item: Ptr<Item>) -> Result<f64, HostError> {
        let item = item.get_mut(caller.memory_mut())?;
        let sum = f64::from(item.a) + f64::from(item.b) + item.c;
        (item.a, item.b, item.c) = (item.a.wrapping_neg(), item.b.wrapping_neg(), -item.c);
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
        *to.get_mut(memory)? = from.get(memory)?.map(|value| value.wrapping_mul(by));
        Ok(())
    }

    fn leaf_negate(&mut self, memory: &mut Memory, values: Ptr<[i32; 8]>) -> Result<(), HostError> {
        values.get_mut(memory)?.iter_mut().for_each(|value| *value = value.wrapping_neg());
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
        (last.a, last.b, last.c) = (first.a.wrapping_add(second.a), first.b.wrapping_add(second.b), first.c + second.c);
        Ok(f64::from(last.a) + f64::from(last.b) + last.c)
    }
}

//! Host functions behind the code that `riverrun bindgen` makes.

use riverrun::{Caller, HostError, Memory, Ptr, Slice, Str};

use crate::functions::Kept;

#[allow(unreachable_pub, reason = "it is what was generated")]
mod bindings {
    include!("../../../../../crates/bindgen/tests/goldens/memory_host.rs");
}
pub use bindings::link;
use bindings::{Api, Item};

/// The names by which guests call them.
pub const NAMES: [&str; 14] = [
    "Memory::sum",
    "Memory::fill",
    "Memory::increment",
    "Memory::length",
    "Memory::item",
    "Memory::watch",
    "Memory::poke",
    "Memory::peek",
    "Memory::call",
    "Leaf::sum",
    "Leaf::fill",
    "Leaf::scale",
    "Leaf::negate",
    "Leaf::items",
];

fn sum(values: &[i32]) -> i64 {
    values.iter().map(|&value| i64::from(value)).sum()
}

impl Api for Kept {
    fn sum(caller: Caller<'_, Self>, values: Slice<i32>) -> Result<i64, HostError> {
        Ok(sum(values.get(caller.memory())?))
    }

    fn fill(mut caller: Caller<'_, Self>, values: Slice<i32>, with: i32) -> Result<(), HostError> {
        values.get_mut(caller.memory_mut())?.fill(with);
        Ok(())
    }

    fn increment(mut caller: Caller<'_, Self>, value: Ptr<i32>) -> Result<i32, HostError> {
        let value = value.get_mut(caller.memory_mut())?;
        *value = value.wrapping_add(1);
        Ok(*value)
    }

    fn length(caller: Caller<'_, Self>, text: Str) -> Result<u64, HostError> {
        Ok(text.get(caller.memory())?.len() as u64)
    }

    fn item(mut caller: Caller<'_, Self>, item: Ptr<Item>) -> Result<f64, HostError> {
        let item = item.get_mut(caller.memory_mut())?;
        (item.a, item.b) = (item.a.wrapping_neg(), !item.b);
        Ok(item.c)
    }

    fn watch(mut caller: Caller<'_, Self>, value: Ptr<i32>) -> Result<(), HostError> {
        caller.data_mut().watched = Some(value);
        Ok(())
    }

    fn poke(mut caller: Caller<'_, Self>, value: i32) -> Result<(), HostError> {
        let (kept, memory) = caller.split();
        *kept.watched()?.get_mut(memory)? = value;
        Ok(())
    }

    fn peek(mut caller: Caller<'_, Self>) -> Result<i32, HostError> {
        let (kept, memory) = caller.split();
        Ok(*kept.watched()?.get(memory)?)
    }

    fn call(mut caller: Caller<'_, Self>, function: Ptr<()>, times: i32) -> Result<(), HostError> {
        let function = caller.func_at::<(i32,), ()>(function.address())?;
        for n in 0..times.min(3) {
            function.call(&mut caller, (n,))?;
        }
        Ok(())
    }

    fn leaf_sum(&mut self, memory: &mut Memory, values: Ptr<[i32; 8]>) -> Result<i64, HostError> {
        Ok(sum(values.get(memory)?))
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
        values.get_mut(memory)?.iter_mut().for_each(|value| *value = !*value);
        Ok(())
    }

    fn leaf_items(
        &mut self,
        memory: &mut Memory,
        items: Ptr<[Item; 2]>,
        last: Ptr<[Item; 1]>,
    ) -> Result<f64, HostError> {
        let [first, second] = *items.get(memory)?;
        *last.get_mut(memory)? = [first];
        Ok(second.c)
    }
}

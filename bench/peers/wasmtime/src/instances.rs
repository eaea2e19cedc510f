//! Many instances of a module.

use anyhow::Result;
use peer_common::instances::{self, Host};
use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, InstancePre, Linker, Module, PoolingAllocationConfig, Store, TypedFunc,
};

/// An allocator for `count` instances at once, if `pooling`.
///
/// # Errors
/// If `count` is no number.
pub(crate) fn configure(config: &mut Config, pooling: bool, count: &str) -> Result<()> {
    if pooling {
        let count: u32 = count.parse()?;
        let mut pool = PoolingAllocationConfig::new();
        // One more: a new one may be made before an old one is gone.
        pool.total_core_instances(count + 1).total_memories(count + 1).total_tables(count + 1);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    Ok(())
}

/// Measures instances of the module, which are those of a pool if `pooling`.
///
/// # Errors
/// As Wasmtime says.
pub(crate) fn report(engine: &Engine, module: &Module, pooling: bool, count: &str) -> Result<()> {
    let mut linker = Linker::new(engine);
    // The function that is called calls nothing.
    linker.define_unknown_imports_as_traps(module)?;
    let template = linker.instantiate_pre(module)?;
    instances::report(&mut Instances { engine: engine.clone(), template, pooling }, count)
}

struct Instances {
    engine: Engine,
    template: InstancePre<()>,
    pooling: bool,
}

impl Host for Instances {
    type Instance = (Store<()>, TypedFunc<i64, i64>);

    fn create(&mut self) -> Result<Self::Instance> {
        let mut store = Store::new(&self.engine, ());
        let instance = self.template.instantiate(&mut store)?;
        let touch = instance.get_typed_func(&mut store, "touch")?;
        Ok((store, touch))
    }

    fn touch(&mut self, (store, touch): &mut Self::Instance, x: i64) -> Result<i64> {
        Ok(touch.call(store, x)?)
    }

    fn recycle(&mut self, x: i64) -> Result<Option<i64>> {
        if !self.pooling {
            return Ok(None);
        }
        let mut instance = self.create()?;
        self.touch(&mut instance, x).map(Some)
    }
}

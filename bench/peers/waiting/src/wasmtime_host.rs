//! Wasmtime's instances, by its async functions.

use anyhow::{Result, anyhow};
use wasmtime::{
    Caller, Config, Engine, InstanceAllocationStrategy, InstancePre, Linker, Module, PoolingAllocationConfig, Store,
    TypedFunc,
};

use crate::measure::{Host, Wait};

/// The guest, as text: what `guest.c` does.
const GUEST: &str = r#"(module
    (import "" "later" (func $later (param i64) (result i64)))
    (memory 1)
    (func (export "ask") (param $x i64) (result i64)
        (i64.store (i32.const 8) (local.get $x))
        (i64.store (i32.const 0) (i64.add (i64.load (i32.const 0)) (i64.const 1)))
        (i64.add (call $later (local.get $x)) (i64.add (i64.load (i32.const 8)) (i64.load (i32.const 0))))))"#;

pub(crate) struct Instances {
    engine: Engine,
    template: InstancePre<Wait>,
}

/// Wasmtime has an error type of its own.
fn in_words(error: wasmtime::Error) -> anyhow::Error {
    anyhow!("{error:?}")
}

impl Instances {
    /// Of the guest; in a pool for so many if there is one.
    pub(crate) fn new(pool: Option<u32>) -> Result<Instances> {
        let mut config = Config::new();
        if let Some(count) = pool {
            // The two of calls that are polled by hand, besides.
            let count = count + 2;
            let mut pool = PoolingAllocationConfig::new();
            pool.total_core_instances(count).total_memories(count).total_tables(count).total_stacks(count);
            config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        }
        let engine = Engine::new(&config).map_err(in_words)?;
        let module = Module::new(&engine, GUEST).map_err(in_words)?;
        let mut linker = Linker::new(&engine);
        let defined = linker.func_wrap_async("", "later", |caller: Caller<'_, Wait>, (x,): (i64,)| {
            Box::new(async move {
                caller.data().wait().await;
                x
            })
        });
        defined.map_err(in_words)?;
        let template = linker.instantiate_pre(&module).map_err(in_words)?;
        Ok(Instances { engine, template })
    }
}

impl Host for Instances {
    type Instance = (Store<Wait>, TypedFunc<i64, i64>);

    async fn create(&mut self, wait: Wait) -> Result<Self::Instance> {
        let mut store = Store::new(&self.engine, wait);
        let instance = self.template.instantiate_async(&mut store).await.map_err(in_words)?;
        let ask = instance.get_typed_func(&mut store, "ask").map_err(in_words)?;
        Ok((store, ask))
    }

    async fn ask((store, ask): &mut Self::Instance, x: i64) -> Result<i64> {
        ask.call_async(store, x).await.map_err(in_words)
    }
}

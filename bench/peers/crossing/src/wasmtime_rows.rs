//! Wasmtime's rows: its typed functions, and its raw ones.

use anyhow::Result;
use wasmtime::{Caller, Engine, Func, FuncType, Instance, Module, Store, ValRaw, ValType};

use crate::measure::Row;

/// The guest, as text.
pub(crate) const GUEST: &str = r#"(module
    (import "" "i64" (func $i64 (result i64)))
    (import "" "many" (func $many (param i32 i32 i32 i32 i32) (result i64)))
    (func (export "nop"))
    (func (export "i64") (result i64) (call $i64))
    (func (export "many") (result i64)
        (call $many (i32.const 1) (i32.const 2) (i32.const 3) (i32.const 4) (i32.const 5)))
    (func (export "i64_host") (param $times i64) (result i64) (local $last i64)
        (loop $again
            (local.set $last (call $i64))
            (br_if $again (i64.ne (i64.const 0) (local.tee $times (i64.sub (local.get $times) (i64.const 1))))))
        (local.get $last))
    (func (export "many_host") (param $times i64) (result i64) (local $last i64)
        (loop $again
            (local.set $last
                (call $many (i32.const 1) (i32.const 2) (i32.const 3) (i32.const 4) (i32.const 5)))
            (br_if $again (i64.ne (i64.const 0) (local.tee $times (i64.sub (local.get $times) (i64.const 1))))))
        (local.get $last)))"#;

/// Wasmtime has an error type of its own.
fn in_words(error: wasmtime::Error) -> anyhow::Error {
    anyhow::anyhow!("{error:?}")
}

fn sum(a: i32, b: i32, c: i32, d: i32, e: i32) -> i64 {
    i64::from(a) + i64::from(b ^ c ^ d ^ e)
}

fn store(typed: bool) -> Result<(Store<()>, Instance)> {
    let engine = Engine::default();
    let module = Module::new(&engine, GUEST).map_err(in_words)?;
    let mut store = Store::new(&engine, ());
    let (i64, many) = if typed {
        (Func::wrap(&mut store, || 42_i64), Func::wrap(&mut store, sum))
    } else {
        let kind = FuncType::new(&engine, [], [ValType::I64]);
        // SAFETY: the slots are as the types say.
        let i64 = unsafe {
            Func::new_unchecked(&mut store, kind, |_: Caller<'_, ()>, slots| {
                slots[0].write(ValRaw::i64(42));
                Ok(())
            })
        };
        let kind = FuncType::new(&engine, std::iter::repeat_n(ValType::I32, 5), [ValType::I64]);
        // SAFETY: likewise.
        let many = unsafe {
            Func::new_unchecked(&mut store, kind, |_: Caller<'_, ()>, slots| {
                // By reference: a copy of the whole slot has to wait until the guest has written all of it.
                let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(|n| slots[n].assume_init_ref().get_i32());
                slots[0].write(ValRaw::i64(sum(a, b, c, d, e)));
                Ok(())
            })
        };
        (i64, many)
    };
    let instance = Instance::new(&mut store, &module, &[i64.into(), many.into()]).map_err(in_words)?;
    Ok((store, instance))
}

pub(crate) fn rows(engine: &str, typed: bool) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    {
        let (mut store, instance) = store(typed)?;
        let function = instance.get_typed_func::<(), ()>(&mut store, "nop").map_err(in_words)?;
        rows.push(Row::new(engine, "nop", move |times| {
            for _ in 0..times {
                match typed {
                    true => function.call(&mut store, ()).expect("nothing"),
                    // SAFETY: no parameters, no results.
                    false => unsafe { function.func().call_unchecked(&mut store, &mut []).expect("nothing") },
                }
            }
        }));
    }
    for name in ["i64", "many"] {
        let (mut store, instance) = store(typed)?;
        let function = instance.get_typed_func::<(), i64>(&mut store, name).map_err(in_words)?;
        rows.push(Row::new(engine, name, move |times| {
            let mut sum = 0;
            for _ in 0..times {
                sum += match typed {
                    true => function.call(&mut store, ()).expect("a number"),
                    false => {
                        let mut slots = [ValRaw::i64(0)];
                        // SAFETY: no parameters, a result.
                        unsafe { function.func().call_unchecked(&mut store, &mut slots).expect("a number") };
                        slots[0].get_i64()
                    }
                };
            }
            std::hint::black_box(sum);
        }));
    }
    for (name, export) in [("i64 host", "i64_host"), ("many host", "many_host")] {
        let (mut store, instance) = store(typed)?;
        let function = instance.get_typed_func::<i64, i64>(&mut store, export).map_err(in_words)?;
        rows.push(Row::new(engine, name, move |times| {
            function.call(&mut store, times as i64).expect("a loop");
        }));
    }
    Ok(rows)
}

//! Misuse that the types forbid: each example is code that a host might write and that must not compile. The first example
//! of each kind does compile, and differs in one line.
//!
//! # A memory is its machine's
//!
//! Engines reach it by its address, also while a host function runs.
//!
//! ```
//! use riverrun::{Config, Engine, Linker, Memory, Program};
//!
//! let engine = Engine::new(&Config::new())?;
//! let program = Program::new(&engine, riverrun::doc::TINY)?;
//! let mut one = Linker::<()>::new(&engine).instantiate(&program, ())?;
//! let mut two = Linker::<()>::new(&engine).instantiate(&program, ())?;
//! let (first, second): (&mut Memory, &mut Memory) = (one.memory_mut(), two.memory_mut());
//! assert_eq!(first.regions(), second.regions());
//! std::mem::swap(&mut one, &mut two);
//! # Ok::<(), riverrun::Error>(())
//! ```
//!
//! ```compile_fail,E0277
//! use riverrun::{Config, Engine, Linker, Memory, Program};
//!
//! let engine = Engine::new(&Config::new())?;
//! let program = Program::new(&engine, riverrun::doc::TINY)?;
//! let mut one = Linker::<()>::new(&engine).instantiate(&program, ())?;
//! let mut two = Linker::<()>::new(&engine).instantiate(&program, ())?;
//! let (first, second): (&mut Memory, &mut Memory) = (one.memory_mut(), two.memory_mut());
//! std::mem::swap(first, second);
//! # Ok::<(), riverrun::Error>(())
//! ```
//!
//! ```compile_fail,E0277
//! fn replace<T>(caller: &mut riverrun::Caller<'_, T>, other: &mut riverrun::Machine<T>) {
//!     std::mem::swap(caller.memory_mut(), other.memory_mut());
//! }
//! ```
//!
//! ```compile_fail,E0277
//! fn replace<T>(caller: &mut riverrun::Caller<'_, T>, other: &mut riverrun::Machine<T>) {
//!     std::mem::swap(caller.split().1, other.split().1);
//! }
//! ```
//!
//! ```compile_fail,E0277
//! fn take(memory: &mut riverrun::Memory) {
//!     std::mem::take(memory);
//! }
//! ```
//!
//! ```compile_fail,E0277
//! fn own(memory: &mut riverrun::Memory) {
//!     let moved = *memory;
//! }
//! ```
//!
//! ```compile_fail,E0277
//! struct Keeper {
//!     memory: Option<riverrun::Memory>,
//! }
//! ```
//!
//! # What a call lends ends with it
//!
//! ```
//! use riverrun::{Caller, Config, Engine, Linker};
//!
//! let mut linker: Linker<Vec<u64>> = Linker::new(&Engine::new(&Config::new())?);
//! linker.func("keep", |mut caller: Caller<'_, Vec<u64>>| {
//!     let pc = caller.pc();
//!     caller.data_mut().push(pc);
//! })?;
//! # Ok::<(), riverrun::Error>(())
//! ```
//!
//! ```compile_fail
//! use riverrun::{Caller, Config, Engine, Linker};
//!
//! struct Keeper(Option<Caller<'static, Keeper>>);
//!
//! let mut linker: Linker<Keeper> = Linker::new(&Engine::new(&Config::new())?);
//! linker.func("keep", |mut caller: Caller<'static, Keeper>| {
//!     let kept: &mut Keeper = caller.data_mut();
//!     drop(caller);
//! })?;
//! # Ok::<(), riverrun::Error>(())
//! ```
//!
//! ```compile_fail
//! use std::sync::Mutex;
//! use riverrun::{Caller, Config, Engine, Linker, Memory};
//!
//! static KEPT: Mutex<Option<&'static mut Memory>> = Mutex::new(None);
//!
//! let mut linker: Linker<()> = Linker::new(&Engine::new(&Config::new())?);
//! linker.func("keep", |mut caller: Caller<'_, ()>| {
//!     *KEPT.lock().unwrap() = Some(caller.memory_mut());
//! })?;
//! # Ok::<(), riverrun::Error>(())
//! ```
//!
//! ```compile_fail
//! use riverrun::Caller;
//!
//! // A thread of its own would outlive the call.
//! fn elsewhere(mut caller: Caller<'_, ()>) {
//!     std::thread::scope(|scope| {
//!         scope.spawn(|| caller.set_x(10, 1));
//!     });
//! }
//! ```
//!
//! # A caller is its call's
//!
//! An [`AsyncCaller`](crate::AsyncCaller) lends the [`Caller`](crate::Caller) in it, which can be exchanged only for one that
//! lives as long. That of another call does not.
//!
//! ```
//! use std::sync::Mutex;
//! use riverrun::{AsyncCaller, Config, Engine, Linker};
//!
//! static KEPT: Mutex<Option<AsyncCaller<'static, u64>>> = Mutex::new(None);
//!
//! let mut linker: Linker<u64> = Linker::new(&Engine::new(&Config::new())?);
//! linker.func_async("exchange", |mut caller: AsyncCaller<'_, u64>, (): ()| {
//!     Box::pin(async move {
//!         let mut kept = KEPT.lock().unwrap();
//!         let other = &mut **kept.as_mut().unwrap();
//!         std::mem::swap(caller.data_mut(), other.data_mut());
//!         Ok(())
//!     })
//! })?;
//! # Ok::<(), riverrun::Error>(())
//! ```
//!
//! ```compile_fail,E0521
//! use std::sync::Mutex;
//! use riverrun::{AsyncCaller, Config, Engine, Linker};
//!
//! static KEPT: Mutex<Option<AsyncCaller<'static, u64>>> = Mutex::new(None);
//!
//! let mut linker: Linker<u64> = Linker::new(&Engine::new(&Config::new())?);
//! linker.func_async("exchange", |mut caller: AsyncCaller<'_, u64>, (): ()| {
//!     Box::pin(async move {
//!         let mut kept = KEPT.lock().unwrap();
//!         let other = &mut **kept.as_mut().unwrap();
//!         std::mem::swap(&mut *caller, other);
//!         Ok(())
//!     })
//! })?;
//! # Ok::<(), riverrun::Error>(())
//! ```
//!
//! ```
//! fn exchange<'a, T>(one: &mut riverrun::AsyncCaller<'a, T>, two: &mut riverrun::Caller<'a, T>) {
//!     std::mem::swap(&mut **one, two);
//! }
//! ```
//!
//! ```compile_fail
//! fn exchange<T>(one: &mut riverrun::AsyncCaller<'_, T>, two: &mut riverrun::Caller<'_, T>) {
//!     std::mem::swap(&mut **one, two);
//! }
//! ```
//!
//! # Calls need the machine for themselves
//!
//! ```compile_fail,E0502
//! use riverrun::{Func, Machine};
//!
//! fn call(machine: &mut Machine<()>, function: Func<(), ()>) {
//!     let bytes = machine.memory().slice(0x10000, 4).unwrap();
//!     let _ = function.call(machine, ());
//!     assert_eq!(bytes[0], 0);
//! }
//! ```
//!
//! ```compile_fail,E0499
//! use riverrun::{Caller, Func};
//!
//! fn call(mut caller: Caller<'_, ()>, function: Func<(), ()>) {
//!     let heap = caller.heap();
//!     let _ = function.call(&mut caller, ());
//!     drop(heap);
//! }
//! ```
//!
//! # What is bound to a thread stays there
//!
//! ```compile_fail,E0277
//! fn send<T: Send>(_: T) {}
//!
//! fn machine(machine: riverrun::Machine<std::rc::Rc<()>>) {
//!     send(machine);
//! }
//! ```
//!
//! ```compile_fail
//! use riverrun::{Config, Engine, Linker};
//!
//! let local = std::rc::Rc::new(7);
//! let mut linker: Linker<()> = Linker::new(&Engine::new(&Config::new())?);
//! linker.func("local", move || *local)?;
//! # Ok::<(), riverrun::Error>(())
//! ```

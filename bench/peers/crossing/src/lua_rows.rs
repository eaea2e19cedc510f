//! The rows of Lua and LuaJIT, by their C API, which is the fastest way to them; and of LuaJIT's FFI, by
//! which scripts call C functions directly.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::rc::Rc;

use anyhow::{Context, Result, ensure};
use libloading::Library;

use crate::measure::{MANY, Row};

type State = *mut c_void;
type Function = unsafe extern "C" fn(State) -> c_int;

/// The API of a Lua of either kind.
struct Lua {
    state: State,
    push_integer: unsafe extern "C" fn(State, i64),
    to_integer: unsafe extern "C" fn(State, c_int, *mut c_int) -> i64,
    call: unsafe extern "C" fn(State, c_int, c_int, isize, *const c_void),
    raw_get: unsafe extern "C" fn(State, c_int, i64) -> c_int,
    set_top: unsafe extern "C" fn(State, c_int),
    registry: c_int,
    library: Library,
}

const SCRIPT: &CStr = c"
function nop() end
function i64() return host_i64() end
function many() return host_many(1, 2, 3, 4, 5) end
function i64_host(times) local last for i = 1, times do last = host_i64() end return last end
function many_host(times) local last for i = 1, times do last = host_many(1, 2, 3, 4, 5) end return last end
";

const FFI: &CStr = c"
local ffi = require 'ffi'
local host_i64 = ffi.cast('int64_t (*)(void)', address_i64)
local host_many = ffi.cast('int64_t (*)(int, int, int, int, int)', address_many)
function i64_host(times) local last for i = 1, times do last = host_i64() end return tonumber(last) end
function many_host(times)
    local last for i = 1, times do last = host_many(1, 2, 3, 4, 5) end return tonumber(last)
end
";

extern "C" fn c_i64() -> i64 {
    42
}

extern "C" fn c_many(a: c_int, b: c_int, c: c_int, d: c_int, e: c_int) -> i64 {
    i64::from(a) + i64::from(b ^ c ^ d ^ e)
}

/// The API for host functions, which get nothing but the state.
static HOST: std::sync::OnceLock<[Api; 2]> = std::sync::OnceLock::new();

#[derive(Clone, Copy)]
struct Api {
    push_integer: unsafe extern "C" fn(State, i64),
    to_integer: unsafe extern "C" fn(State, c_int, *mut c_int) -> i64,
}

unsafe extern "C" fn host_i64<const JIT: usize>(state: State) -> c_int {
    // SAFETY: Lua calls this with its state; the API was loaded before.
    unsafe { (HOST.get().unwrap_unchecked()[JIT].push_integer)(state, c_i64()) };
    1
}

unsafe extern "C" fn host_many<const JIT: usize>(state: State) -> c_int {
    // SAFETY: as above.
    unsafe {
        let api = &HOST.get().unwrap_unchecked()[JIT];
        let argument = |n| (api.to_integer)(state, n, std::ptr::null_mut()) as c_int;
        (api.push_integer)(state, c_many(argument(1), argument(2), argument(3), argument(4), argument(5)));
    }
    1
}

const LIBRARIES: [&str; 2] = ["liblua5.4.so.0", "libluajit-5.1.so.2"];
const PACKAGES: &str = "apt install liblua5.4-0 libluajit-5.1-2";
/// Of Lua 5.4, and of LuaJIT, which has that of Lua 5.1; there follow the globals.
const REGISTRY: [c_int; 2] = [-1_001_000, -10_000];
const GLOBALS: c_int = -10_002;

fn open(name: &str) -> Result<Library> {
    // SAFETY: Lua's libraries have no initialisers.
    unsafe { Library::new(name) }.with_context(|| PACKAGES)
}

impl Lua {
    /// A state that has run the script.
    fn new(jit: usize, script: &CStr) -> Result<Lua> {
        let api = |jit: usize| -> Result<Api> {
            let library = open(LIBRARIES[jit])?;
            let to_integer: &[u8] = if jit == 1 { b"lua_tointeger" } else { b"lua_tointegerx" };
            // SAFETY: these are their types; LuaJIT's `lua_tointeger` ignores the third argument. The library
            // is never unloaded.
            let api = unsafe {
                Api { push_integer: *library.get(b"lua_pushinteger")?, to_integer: *library.get(to_integer)? }
            };
            std::mem::forget(library);
            Ok(api)
        };
        if HOST.get().is_none() {
            let _ = HOST.set([api(0)?, api(1)?]);
        }
        let library = open(LIBRARIES[jit])?;
        // SAFETY: the functions have these types in Lua's headers, and are called as its manual says.
        unsafe {
            let new: unsafe extern "C" fn() -> State = *library.get(b"luaL_newstate")?;
            let open_libraries: unsafe extern "C" fn(State) = *library.get(b"luaL_openlibs")?;
            let load: unsafe extern "C" fn(State, *const c_char) -> c_int = *library.get(b"luaL_loadstring")?;
            let set_field: unsafe extern "C" fn(State, c_int, *const c_char) = *library.get(b"lua_setfield")?;
            let push_closure: unsafe extern "C" fn(State, Function, c_int) = *library.get(b"lua_pushcclosure")?;
            let Api { push_integer, to_integer } = HOST.get().context("the API")?[jit];
            let state = new();
            let call = *library.get(if jit == 1 { b"lua_call".as_slice() } else { b"lua_callk" })?;
            let set_global = |name: &CStr| -> Result<()> {
                if jit == 1 {
                    set_field(state, GLOBALS, name.as_ptr());
                } else {
                    let set: unsafe extern "C" fn(State, *const c_char) = *library.get(b"lua_setglobal")?;
                    set(state, name.as_ptr());
                }
                Ok(())
            };
            open_libraries(state);
            push_closure(state, if jit == 1 { host_i64::<1> } else { host_i64::<0> }, 0);
            set_global(c"host_i64")?;
            push_closure(state, if jit == 1 { host_many::<1> } else { host_many::<0> }, 0);
            set_global(c"host_many")?;
            push_integer(state, c_i64 as *const () as i64);
            set_global(c"address_i64")?;
            push_integer(state, c_many as *const () as i64);
            set_global(c"address_many")?;
            let lua = Lua {
                state,
                push_integer,
                to_integer,
                call,
                raw_get: *library.get(b"lua_rawgeti")?,
                set_top: *library.get(b"lua_settop")?,
                registry: REGISTRY[jit],
                library,
            };
            ensure!(load(state, script.as_ptr()) == 0, "the script cannot be loaded");
            (lua.call)(state, 0, 0, 0, std::ptr::null());
            Ok(lua)
        }
    }

    /// A number by which the global function is found at once.
    fn reference(&self, jit: usize, name: &CStr) -> Result<i64> {
        // SAFETY: as in `new`.
        unsafe {
            if jit == 1 {
                let get: unsafe extern "C" fn(State, c_int, *const c_char) = *self.library.get(b"lua_getfield")?;
                get(self.state, GLOBALS, name.as_ptr());
            } else {
                let get: unsafe extern "C" fn(State, *const c_char) -> c_int = *self.library.get(b"lua_getglobal")?;
                get(self.state, name.as_ptr());
            }
            let reference: unsafe extern "C" fn(State, c_int) -> c_int = *self.library.get(b"luaL_ref")?;
            Ok(reference(self.state, self.registry).into())
        }
    }

    fn run(&self, function: i64, argument: Option<i64>, has_result: bool) -> i64 {
        // SAFETY: as in `new`; the function was referred to.
        unsafe {
            (self.raw_get)(self.state, self.registry, function);
            if let Some(argument) = argument {
                (self.push_integer)(self.state, argument);
            }
            (self.call)(self.state, argument.is_some().into(), has_result.into(), 0, std::ptr::null());
            if !has_result {
                return 0;
            }
            let result = (self.to_integer)(self.state, -1, std::ptr::null_mut());
            (self.set_top)(self.state, -2);
            result
        }
    }
}

pub(crate) fn rows(engine: &str, is_jit: bool) -> Result<Vec<Row>> {
    let jit = usize::from(is_jit);
    let lua = Rc::new(Lua::new(jit, SCRIPT)?);
    let mut rows = Vec::new();
    for (name, symbol, result) in [("nop", c"nop", 0), ("i64", c"i64", 42), ("many", c"many", MANY)] {
        let (lua, function) = (lua.clone(), lua.reference(jit, symbol)?);
        let has_result = name != "nop";
        ensure!(lua.run(function, None, has_result) == result, "{engine}: {name}");
        rows.push(Row::new(engine, name, move |times| {
            for _ in 0..times {
                lua.run(function, None, has_result);
            }
        }));
    }
    rows.extend(loops(engine, jit, &lua)?);
    Ok(rows)
}

/// Calls from script to host by LuaJIT's FFI.
pub(crate) fn ffi_rows(engine: &str) -> Result<Vec<Row>> {
    loops(engine, 1, &Rc::new(Lua::new(1, FFI)?))
}

fn loops(engine: &str, jit: usize, lua: &Rc<Lua>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, symbol, result) in [("i64 host", c"i64_host", 42), ("many host", c"many_host", MANY)] {
        let (lua, function) = (lua.clone(), lua.reference(jit, symbol)?);
        ensure!(lua.run(function, Some(3), true) == result, "{engine}: {name}");
        rows.push(Row::new(engine, name, move |times| {
            lua.run(function, Some(times as i64), true);
        }));
    }
    Ok(rows)
}

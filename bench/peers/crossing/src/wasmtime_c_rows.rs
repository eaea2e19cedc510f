//! Rows of Wasmtime's C API, in which the calls are compiled C (`c/wasmtime.c`).

use std::ffi::{CString, c_char, c_int};

use anyhow::{Result, ensure};
// What the rows are linked with.
use wasmtime_c_api as _;

use crate::measure::{KINDS, Row};
use crate::wasmtime_rows::GUEST;

#[repr(C)]
struct WasmtimeRow([u8; 0]);

unsafe extern "C" {
    fn wasmtime_row_new(wat: *const c_char, name: *const c_char, checked: bool) -> *mut WasmtimeRow;
    fn wasmtime_row_run(row: *mut WasmtimeRow, kind: c_int, times: u64) -> i64;
    fn wasmtime_row_delete(row: *mut WasmtimeRow);
}

/// A row, freed in the end.
struct Handle(*mut WasmtimeRow);

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: it was made by `wasmtime_row_new`, and is not used again.
        unsafe { wasmtime_row_delete(self.0) }
    }
}

impl Handle {
    fn run(&self, kind: c_int, times: u64) -> i64 {
        // SAFETY: it was made by `wasmtime_row_new`; `rows` has the kind of each function.
        unsafe { wasmtime_row_run(self.0, kind, times) }
    }
}

/// Calls of values with their types, or `unchecked` ones.
pub(crate) fn rows(engine: &str, checked: bool) -> Result<Vec<Row>> {
    let wat = CString::new(GUEST)?;
    let mut rows = Vec::new();
    for (name, symbol, kind, result) in KINDS {
        // SAFETY: both are strings.
        let handle = Handle(unsafe { wasmtime_row_new(wat.as_ptr(), symbol.as_ptr(), checked) });
        ensure!(handle.run(kind, 1) == result, "{engine}: {name}");
        rows.push(Row::new(engine, name, move |times| {
            std::hint::black_box(handle.run(kind, times));
        }));
    }
    Ok(rows)
}

//! Rows of riverrun's interfaces in C and C++, in which the calls are compiled C and C++ (`c/`).

use std::ffi::{CString, c_char, c_int};
use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};
use riverrun::{CompileOptions, Config, Engine, Program};
// What the rows are linked with.
use riverrun_capi as _;

use crate::measure::{KINDS, Row};

#[repr(C)]
struct CRow([u8; 0]);
#[repr(C)]
struct CppRow([u8; 0]);

unsafe extern "C" {
    fn c_row_new(guest: *const c_char, artifact: *const c_char, name: *const c_char, checked: bool) -> *mut CRow;
    fn c_row_run(row: *mut CRow, kind: c_int, times: u64) -> i64;
    fn c_row_delete(row: *mut CRow);
    fn cpp_row_new(guest: *const c_char, artifact: *const c_char, name: *const c_char, kind: c_int) -> *mut CppRow;
    fn cpp_row_run(row: *mut CppRow, kind: c_int, times: u64) -> i64;
    fn cpp_row_delete(row: *mut CppRow);
}

/// How the guest is called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interface {
    CRaw,
    CChecked,
    CppTyped,
}

/// One of the rows, freed in the end.
enum Handle {
    C(*mut CRow),
    Cpp(*mut CppRow),
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: what the row was made as.
        unsafe {
            match self {
                Handle::C(row) => c_row_delete(*row),
                Handle::Cpp(row) => cpp_row_delete(*row),
            }
        }
    }
}

impl Handle {
    fn run(&self, kind: c_int, times: u64) -> i64 {
        // SAFETY: what the row was made as.
        unsafe {
            match self {
                Handle::C(row) => c_row_run(*row, kind, times),
                Handle::Cpp(row) => cpp_row_run(*row, kind, times),
            }
        }
    }
}

/// The rows of an interface, on compiled code or not.
pub(crate) fn rows(engine: &str, elf: &[u8], compiled: bool, interface: Interface) -> Result<Vec<Row>> {
    // It stays as long as the rows may load it, which is here.
    let folder = tempfile::tempdir()?;
    let guest = folder.path().join("guest.elf");
    fs::write(&guest, elf)?;
    let artifact = folder.path().join("guest.rro");
    if compiled {
        let program = Program::new(&Engine::new(&Config::new())?, elf)?;
        program.compile_to(&CompileOptions::default(), &artifact)?;
    }
    let text = |path: &Path| CString::new(path.to_string_lossy().into_owned());
    let (guest, artifact) = (text(&guest)?, if compiled { text(&artifact)? } else { CString::default() });
    let mut rows = Vec::new();
    for (name, symbol, kind, result) in KINDS {
        let (guest, artifact, symbol) = (guest.as_ptr(), artifact.as_ptr(), symbol.as_ptr());
        // SAFETY: strings as these functions take them.
        let handle = unsafe {
            match interface {
                Interface::CppTyped => Handle::Cpp(cpp_row_new(guest, artifact, symbol, kind)),
                _ => Handle::C(c_row_new(guest, artifact, symbol, interface == Interface::CChecked)),
            }
        };
        ensure!(handle.run(kind, 1) == result, "{engine}: {name}");
        rows.push(Row::new(engine, name, move |times| {
            std::hint::black_box(handle.run(kind, times));
        }));
    }
    Ok(rows)
}

//! Programs and their compiled code by the interface: compiling them, and running what was compiled.

mod common;

use std::ffi::{CStr, CString, c_char, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};

use common::{folder, guests};
// The library as it was built with this test: with the compiler, or without.
use riverrun_capi as _;

type Handle = *mut c_void;

unsafe extern "C" {
    fn riverrun_engine_new(config: *const c_void, engine: *mut Handle) -> Handle;
    fn riverrun_engine_delete(engine: Handle);
    fn riverrun_program_from_file(engine: Handle, path: *const c_char, program: *mut Handle) -> Handle;
    fn riverrun_program_compile(
        program: Handle,
        path: *const c_char,
        counts_fuel: bool,
        compiled: *mut Handle,
    ) -> Handle;
    fn riverrun_program_is_compiled(program: Handle) -> bool;
    fn riverrun_program_delete(program: Handle);
    fn riverrun_error_message(error: Handle) -> *const c_char;
    fn riverrun_error_delete(error: Handle);
}

/// Compiles a guest into an artifact as C does; gives the error's words.
fn compile(guest: &Path, artifact: &Path, counts_fuel: bool) -> Result<(), String> {
    let text = |path: &Path| CString::new(path.to_str().unwrap()).unwrap();
    let (guest, artifact) = (text(guest), text(artifact));
    let (mut engine, mut program, mut compiled) = (null_mut(), null_mut(), null_mut());
    // SAFETY: as the header has it; everything is deleted once.
    unsafe {
        assert!(riverrun_engine_new(null(), &mut engine).is_null());
        assert!(riverrun_program_from_file(engine, guest.as_ptr(), &mut program).is_null());
        let error = riverrun_program_compile(program, artifact.as_ptr(), counts_fuel, &mut compiled);
        assert!(!riverrun_program_is_compiled(program));
        assert_eq!(riverrun_program_is_compiled(compiled), error.is_null());
        let result = if error.is_null() {
            Ok(())
        } else {
            Err(CStr::from_ptr(riverrun_error_message(error)).to_str().unwrap().to_owned())
        };
        riverrun_error_delete(error);
        riverrun_program_delete(program);
        riverrun_program_delete(compiled);
        riverrun_engine_delete(engine);
        result
    }
}

#[cfg(not(feature = "compile"))]
#[test]
fn a_library_without_the_compiler_says_so() {
    let folder = folder();
    let artifact = folder.path().join("none.rro");
    let error = compile(&guests()[0], &artifact, true).unwrap_err();
    assert!(error.contains("built without the compiler: use `riverrun compile`"), "{error}");
    assert!(!artifact.exists());
}

#[cfg(feature = "compile")]
mod with_the_compiler {
    use super::*;
    use crate::common::{COMPILERS, here, host, libc_guest, run_host, words};

    #[test]
    fn what_is_compiled_does_what_the_interface_says() {
        let folder = folder();
        let host = host(COMPILERS[0][0], &["-std=c11", "-O2"], &here().join("tests/c/api.c"), folder.path());
        for (n, guest) in guests().iter().enumerate() {
            // The host calls functions of code that does not count at once.
            for counts_fuel in [false, true] {
                let artifact = folder.path().join(format!("{n}-{counts_fuel}.rro"));
                compile(guest, &artifact, counts_fuel).unwrap();
                run_host(&host, &[guest.as_os_str(), artifact.as_os_str()]);
            }
        }
    }

    #[test]
    fn what_cannot_be_written_is_an_error() {
        let inside_a_file = guests()[0].join("such.rro");
        let error = compile(&guests()[0], &inside_a_file, true).unwrap_err();
        assert!(error.contains(inside_a_file.parent().unwrap().to_str().unwrap()), "{error}");
    }

    #[test]
    fn a_guest_with_a_libc_runs_compiled() {
        let folder = folder();
        let guest = libc_guest(folder.path());
        let engine = riverrun::Engine::new(&riverrun::Config::new()).unwrap();
        let program = riverrun::Program::from_file(&engine, &guest).unwrap();
        // Most of it is libc, which would take long.
        let options = riverrun::CompileOptions { level: 0, ..Default::default() };
        let artifact = folder.path().join("libc.rro");
        program.compile_to(&options, &artifact).unwrap();
        let host = host(COMPILERS[0][0], &["-std=c11", "-O2"], &here().join("tests/c/libc.c"), folder.path());
        let words = words(folder.path());
        run_host(&host, &[guest.as_os_str(), artifact.as_os_str(), words.as_os_str()]);
    }
}

//! Compiled code that the configuration asks for: made when a program is loaded, and kept.

use std::path::Path;
use std::time::SystemTime;

use riverrun::{CompileOptions, Config, Engine, Fidelity, Flow, Linker, Program};

fn config(cache: Option<&Path>, compile: Option<CompileOptions>) -> Config {
    let mut config = Config::new();
    if let Some(cache) = cache {
        // SAFETY: the folder is the test's own.
        unsafe { config.cache(cache) };
    }
    if let Some(options) = compile {
        config.compile(options);
    }
    config
}

fn program(config: &Config) -> Program {
    Program::new(&Engine::new(config).unwrap(), riverrun::doc::TINY).unwrap()
}

/// Runs the program, which exits with 42.
fn runs(program: &Program) {
    let mut linker = Linker::new(program.engine());
    linker.ecall(|caller: riverrun::Caller<'_, ()>| Ok(Flow::Exit(caller.x(10) as i32)));
    assert_eq!(linker.instantiate(program, ()).unwrap().run().unwrap(), 42);
}

fn only_file(folder: &Path) -> (std::path::PathBuf, SystemTime) {
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    (files[0].path(), files[0].metadata().unwrap().modified().unwrap())
}

#[test]
fn a_program_is_compiled_as_it_is_loaded() {
    let program = program(&config(None, Some(CompileOptions::default())));
    assert!(program.is_compiled());
    runs(&program);
}

#[test]
fn a_program_that_takes_too_much_work_is_interpreted() {
    let few = CompileOptions { max_work: 1, ..CompileOptions::default() };
    let interpreted = program(&config(None, Some(few)));
    assert!(!interpreted.is_compiled());
    runs(&interpreted);
    let error = interpreted.compile(&few, |_, _| {}).unwrap_err();
    assert!(error.to_string().contains("more work than the limit of 1 instructions"), "{error}");
}

#[test]
fn what_is_in_the_cache_is_not_compiled_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("made/on/demand");
    let compile = config(Some(&cache), Some(CompileOptions::default()));
    runs(&program(&compile));
    let made = only_file(&cache);
    assert!(program(&compile).is_compiled());
    assert_eq!(only_file(&cache), made);
    let taken = program(&config(Some(&cache), None));
    assert!(taken.is_compiled());
    runs(&taken);
}

#[test]
fn what_is_in_the_cache_but_does_not_fit_is_compiled_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path();
    program(&config(Some(cache), Some(CompileOptions::default())));
    let (path, _) = only_file(cache);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let interpreted = program(&config(Some(cache), None));
    assert!(!interpreted.is_compiled());
    runs(&interpreted);
    assert!(program(&config(Some(cache), Some(CompileOptions::default()))).is_compiled());
    assert_eq!(std::fs::read(&path).unwrap(), whole);
    let precise = CompileOptions { fidelity: Fidelity::Precise, ..CompileOptions::default() };
    assert!(program(&config(Some(cache), Some(precise))).is_compiled());
    assert_ne!(std::fs::read(&path).unwrap(), whole);
}

#[test]
fn a_file_that_replaces_one_in_use_is_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("code.rro");
    let program = program(&config(None, None));
    let other = CompileOptions { fuel: true, ..CompileOptions::default() };
    let [first, second] =
        [CompileOptions::default(), other].map(|options| program.compile_to(&options, &path).unwrap().0);
    assert_eq!([&first, &second].map(|program| program.compiled_options().unwrap().fuel), [false, true]);
    runs(&first);
    runs(&second);
}

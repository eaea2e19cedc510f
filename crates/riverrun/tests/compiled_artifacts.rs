//! Compiled code that does not fit is refused in words that say why, and its program runs all the same.

use std::path::Path;
use std::sync::OnceLock;

use riverrun::{ArtifactError, Caller, CompileOptions, Config, Engine, Error, Fidelity, Flow, Linker, Program};
use riverrun_testkit::tools;
use riverrun_vm::artifact::{ABI, Artifact, Header};

fn program(flags: &[&str]) -> Program {
    let engine = Engine::new(&Config::new()).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/endless.c");
    Program::new(&engine, tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, flags)).unwrap()
}

/// Functions in Go preserve no register, and return results in many, which default compiled code does not expect.
#[test]
fn programs_in_go_are_compiled_precisely() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/go.c");
    let whole = tools::compile(env!("CARGO_TARGET_TMPDIR"), &source, &["-O2"]);
    let mut stripped = whole.clone();
    // Where the section headers are, how many, and which one has their names.
    stripped[40..48].fill(0);
    stripped[60..64].fill(0);
    for elf in [whole, stripped] {
        let mut config = Config::new();
        // SAFETY: the folder is the test's own.
        unsafe { config.compile(CompileOptions::default()).cache(folder.path()) };
        let run = || {
            let program = Program::new(&Engine::new(&config).unwrap(), elf.clone()).unwrap();
            assert!(program.compiled_options().unwrap().is_precise());
            let mut linker = Linker::new(program.engine());
            linker.ecall(|caller: Caller<'_, ()>| Ok(Flow::Exit(caller.x(10) as i32)));
            assert_eq!(linker.instantiate(&program, ()).unwrap().run().unwrap(), 7);
            let (_, report) = program.compile(&CompileOptions::default(), |_, _| {}).unwrap();
            assert_eq!(report.fidelity, Fidelity::Precise);
            let artifacts = std::fs::read_dir(folder.path()).unwrap();
            let times = artifacts.map(|entry| entry.unwrap().metadata().unwrap().modified().unwrap());
            times.max().unwrap()
        };
        let compiled = run();
        assert_eq!(run(), compiled, "what is in the cache is used");
    }
    assert_eq!(ours().compile(&CompileOptions::default(), |_, _| {}).unwrap().1.fidelity, Fidelity::AbiAssuming);
}

fn ours() -> Program {
    program(&["-O2"])
}

/// The artifact of [`ours`].
fn artifact() -> &'static [u8] {
    static ARTIFACT: OnceLock<Vec<u8>> = OnceLock::new();
    ARTIFACT.get_or_init(|| ours().compile(&CompileOptions::default(), |_, _| {}).unwrap().0)
}

/// Gives the program this artifact, and runs it.
fn load(program: &Program, artifact: &[u8]) -> Result<(), ArtifactError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.rro");
    std::fs::write(&path, artifact).unwrap();
    // SAFETY: this test made the code, and what has been changed about it is to be found.
    let compiled = unsafe { program.with_artifact(&path) };
    assert!(!program.is_compiled());
    let mut linker = Linker::new(program.engine());
    linker.ecall(|caller: Caller<'_, ()>| Ok(Flow::Exit(caller.x(10) as i32)));
    let mut machine = linker.instantiate(compiled.as_ref().unwrap_or(program), ()).unwrap();
    machine.set_x(10, 7);
    assert_eq!(machine.run().unwrap(), 7, "it runs without, too");
    compiled.map(drop).map_err(|error| match error {
        Error::Artifact(error) => error,
        error => panic!("{error}"),
    })
}

/// The artifact with its header changed, and the header's hash made right.
fn with_header(change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut artifact = artifact().to_vec();
    let header = artifact.len() - Header::SIZE;
    let (body, hash) = artifact[header..].split_at_mut(Header::SIZE - 32);
    change(body);
    hash.copy_from_slice(&Header::hash(body));
    artifact
}

#[test]
fn what_fits_is_loaded() {
    load(&ours(), artifact()).unwrap();
    load(&ours(), &with_header(|_| ())).unwrap();
}

#[test]
fn what_is_cut_is_refused() {
    let program = ours();
    let whole = artifact();
    let near_ends = (0..64).chain(whole.len() - Header::SIZE - 64..whole.len());
    for len in near_ends.chain((0..whole.len()).step_by(whole.len() / 50)) {
        let error = load(&program, &whole[..len]).unwrap_err();
        assert!(matches!(error, ArtifactError::NotAnArtifact | ArtifactError::Damaged), "cut to {len}: {error}");
    }
}

#[test]
fn what_is_damaged_is_refused() {
    let program = ours();
    let whole = artifact();
    let header = whole.len() - Header::SIZE..whole.len();
    for at in header.chain((0..whole.len()).step_by(whole.len() / 100)) {
        let mut damaged = whole.to_vec();
        damaged[at] ^= 1 << (at % 8);
        let error = load(&program, &damaged).unwrap_err();
        assert!(matches!(error, ArtifactError::NotAnArtifact | ArtifactError::Damaged), "byte {at}: {error}");
    }
}

#[test]
fn code_of_another_program_is_refused() {
    let error = load(&program(&["-O1"]), artifact()).unwrap_err();
    assert_eq!(error.to_string(), "the artifact was compiled from another program");
}

#[test]
fn code_of_another_compiler_is_refused() {
    let error = load(&ours(), &with_header(|header| header[8] ^= 0x40)).unwrap_err();
    let words = format!("the artifact has ABI {}, this riverrun needs {ABI}: compile it again", ABI ^ 0x40);
    assert_eq!(error.to_string(), words);
}

/// Whatever a header says that its code was not compiled for, it is found out, and named.
#[test]
fn code_of_other_options_is_refused() {
    const OPTIONS: usize = 12;
    const FEATURES: usize = 16;
    const DISPATCH_BITS: usize = 24;
    const PROGRAM: usize = 8 + DISPATCH_BITS + 8;
    type Change = fn(&mut [u8]);
    let changes: [(Change, &str); 11] = [
        (|header| header[OPTIONS] ^= 1, "options"),
        (|header| header[OPTIONS] ^= 2, "options"),
        (|header| header[OPTIONS] ^= 4, "options"),
        (|header| header[OPTIONS] ^= 8, "options"),
        (|header| header[OPTIONS] ^= 12, "options"),
        (|header| header[OPTIONS + 1] = 3, "options"),
        (|header| header[FEATURES] ^= 1, "processor features"),
        (|header| header[DISPATCH_BITS] += 1, "a table of functions"),
        (|header| header[DISPATCH_BITS] -= 1, "a table of functions"),
        (|header| header[OPTIONS] ^= 16, "does not know (0x210)"),
        (|header| header[OPTIONS + 1] = 4, "does not know (0x400)"),
    ];
    for (change, words) in changes {
        let error = load(&ours(), &with_header(change)).unwrap_err();
        assert!(matches!(error, ArtifactError::Header { .. } | ArtifactError::Options { .. }), "{error}");
        assert!(error.to_string().contains(words), "{words}: {error}");
    }
    // The header of one program's code before another one's.
    let other = program(&["-O1"]);
    let error = load(
        &other,
        &with_header(|header| {
            header[PROGRAM..PROGRAM + 32].copy_from_slice(&Header::hash(other.image().bytes()));
        }),
    )
    .unwrap_err();
    assert!(matches!(error, ArtifactError::Header { what: "a program" }), "{error}");
}

#[test]
fn code_for_another_processor_is_refused() {
    let error = load(&ours(), &with_header(|header| header[23] |= 0x80)).unwrap_err();
    assert!(matches!(error, ArtifactError::Features { .. }), "{error}");
    assert!(error.to_string().contains("which this processor lacks"), "{error}");
}

#[test]
fn code_for_another_system_is_refused() {
    let target = Header::SIZE - 32 - 48;
    let error =
        load(&ours(), &with_header(|header| header[target..target + 7].copy_from_slice(b"aarch64"))).unwrap_err();
    assert!(error.to_string().starts_with("the artifact is for aarch64"), "{error}");
}

#[test]
fn what_is_no_artifact_is_refused() {
    let elf = ours();
    let error = load(&elf, elf.image().bytes()).unwrap_err();
    assert!(matches!(error, ArtifactError::NotAnArtifact), "{error}");
}

#[test]
fn profilers_are_told_where_compiled_functions_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mapped.rro");
    std::fs::write(&path, artifact()).unwrap();
    let program = ours();
    assert_eq!(program.perf_map().unwrap(), "");
    // SAFETY: this test made the code.
    let (program, artifact) = unsafe {
        let artifact = Artifact::load(&path, &Header::hash(program.image().bytes())).unwrap();
        (program.with_artifact(&path).unwrap(), artifact)
    };
    let map = program.perf_map().unwrap();
    let entry = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let mut number = || u64::from_str_radix(words.next().unwrap(), 16).unwrap();
        let (start, size) = (number(), number());
        (words.next().unwrap().to_owned(), start, size)
    };
    let entries: Vec<(String, u64, u64)> = map.lines().map(entry).collect();
    let named = |name: &str| entries.iter().find(|(entry, ..)| *entry == format!("guest::{name}")).expect("an entry");
    // Another artifact of the same code lies elsewhere, with the same distances.
    let function = |name| artifact.function(program.image().symbol(name).unwrap().address).unwrap() as u64;
    for name in ["fib", "deeper", "bounce"] {
        let (_, start, size) = named(name);
        assert_eq!(start.wrapping_sub(named("_start").1), function(name).wrapping_sub(function("_start")), "{name}");
        assert_ne!(*size, 0, "{name}");
    }
    for pair in entries.windows(2) {
        assert!(pair[0].1 + pair[0].2 <= pair[1].1, "{pair:?} overlap");
    }
    // It is the file that was loaded, whatever is there now.
    std::fs::write(folder.path().join("other"), "nothing").unwrap();
    std::fs::rename(folder.path().join("other"), &path).unwrap();
    assert_eq!(program.perf_map().unwrap(), map);
}

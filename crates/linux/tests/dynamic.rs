//! Dynamically linked programs do here what they do under qemu.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use crate::common::{gcc, gxx};
use crate::virtual_fs::PassThrough;
use riverrun::image::Image;
use riverrun::{Config, Engine, Linker, Machine, Program, Snapshot};
use riverrun_linux::{Builder, Captured, Detail, DirAccess, Error, Joined, Linux, Output};
use riverrun_testkit::suite::load_compiled_in_part;

/// Where Debian's cross compiler has the guest's libraries.
const SYSROOT: &str = "/usr/riscv64-linux-gnu";

/// A directory with the program and its two libraries.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let library = gxx("library.cpp", &["-O2", "-shared", "-fPIC"]);
    std::fs::copy(library, folder.path().join("liblibrary.so")).unwrap();
    let late = gcc("late.c", &["-O2", "-shared", "-fPIC"]);
    std::fs::copy(late, folder.path().join("liblate.so")).unwrap();
    let search = format!("-L{}", folder.path().display());
    let program = gxx("dynamic.cpp", &["-O2", "-std=c++20", "-Wall", &search, "-llibrary", "-Wl,-rpath,/opt"]);
    std::fs::copy(program, folder.path().join("dynamic")).unwrap();
    folder
}

fn builder(folder: &Path) -> Builder {
    let builder = Linux::builder().dir(SYSROOT, "/", DirAccess::ReadOnly).unwrap();
    builder.dir(folder, "/opt", DirAccess::ReadOnly).unwrap()
}

fn join(folder: &Path, libraries: &[&str]) -> Joined {
    let libraries: Vec<String> = libraries.iter().map(|&name| name.to_owned()).collect();
    builder(folder).join(std::fs::read(folder.join("dynamic")).unwrap(), &libraries).unwrap().unwrap()
}

fn machine(config: &Config, joined: &Joined, builder: Builder) -> (Machine<Linux>, Captured) {
    machine_of(&Program::new(&Engine::new(config).unwrap(), joined.bytes()).unwrap(), joined, builder)
}

fn machine_of(program: &Program, joined: &Joined, builder: Builder) -> (Machine<Linux>, Captured) {
    let stdout = Captured::default();
    let mut linker = Linker::new(program.engine());
    riverrun_linux::add_to_linker(&mut linker, |linux: &mut Linux| linux);
    let linux = builder.joined(joined.clone()).stdout(Output::writer(stdout.clone())).build();
    let mut machine = linker.instantiate(program, linux).unwrap();
    riverrun_linux::start(&mut machine, |linux| linux).unwrap();
    (machine, stdout)
}

fn text(captured: &Captured) -> String {
    String::from_utf8(captured.take()).unwrap()
}

#[test]
fn position_independent_programs_have_thread_local_variables() {
    let program = gcc("thread_local.c", &["-O2", "-fPIE", "-pie"]);
    let expected = Command::new("qemu-riscv64").args(["-L", SYSROOT]).arg(&program).output().unwrap();
    let builder = || Linux::builder().dir(SYSROOT, "/", DirAccess::ReadOnly).unwrap().args(["program"]);
    let joined = builder().join(std::fs::read(&program).unwrap(), &[]).unwrap().unwrap();
    let (mut machine, stdout) = machine(&Config::new(), &joined, builder());
    assert_eq!((machine.run().unwrap(), text(&stdout).as_bytes()), (0, &expected.stdout[..]));
    assert_eq!(expected.stdout, b"7\n4\n");
}

#[test]
fn libraries_are_linked_and_loaded() {
    let folder = folder();
    let mut qemu = Command::new("qemu-riscv64");
    qemu.args(["-L", SYSROOT, "-E"]).arg(format!("LD_LIBRARY_PATH={}", folder.path().display()));
    let expected = qemu.arg(folder.path().join("dynamic")).arg(folder.path().join("liblate.so")).output().unwrap();
    let expected_text = String::from_utf8(expected.stdout).unwrap();
    assert!(expected_text.ends_with("late 42\nclosed 0\nagain 8\n"), "{expected_text}");
    // By its path, or that of a directory above it.
    for library in ["/opt/liblate.so", "/opt"] {
        let joined = join(folder.path(), &[library]);
        let builder = builder(folder.path()).args(["/opt/dynamic", "/opt/liblate.so"]);
        let (mut machine, stdout) = machine(&Config::new(), &joined, builder);
        let status = machine.run().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(text(&stdout), expected_text);
        assert_eq!(Some(status), expected.status.code());
    }
}

#[test]
fn libraries_that_are_named_have_to_be_there() {
    let folder = folder();
    for name in ["/opt/libnone.so", "libnone.so"] {
        let program = std::fs::read(folder.path().join("dynamic")).unwrap();
        let error = builder(folder.path()).join(program, &[name.to_owned()]).unwrap_err().to_string();
        assert_eq!(error, format!("cannot link dynamically: {name}: there is no such library in the guest's tree"));
    }
}

/// What was joined is compiled as other programs are: here all but the large libraries, which would take long. They are called
/// by entries of procedure linkage tables, and call the program back.
#[test]
fn libraries_are_compiled() {
    const LARGE: u64 = 64 << 10;
    let folder = folder();
    let joined = join(folder.path(), &["/opt/liblate.so"]);
    let arguments = || builder(folder.path()).args(["/opt/dynamic", "/opt/liblate.so"]);
    let (mut interpreted, stdout) = machine(&Config::new(), &joined, arguments());
    let status = interpreted.run().unwrap();
    let expected = text(&stdout);
    let small = |image: &Image| image.text().iter().filter(|text| text.end - text.start < LARGE).cloned().collect();
    let Some(program) = load_compiled_in_part(joined.bytes(), small) else { return };
    let (mut compiled, stdout) = machine_of(&program, &joined, arguments());
    assert_eq!(compiled.run().unwrap_or_else(|error| panic!("{error}")), status);
    assert_eq!(text(&stdout), expected);
}

/// Frames have the names and lines of their own files, wherever these lie, and of those without lines the names.
#[test]
fn backtraces_name_functions_of_all_files() {
    let folder = tempfile::tempdir().unwrap();
    let library = gcc("named_library.c", &["-O1", "-g", "-shared", "-fPIC"]);
    std::fs::copy(library, folder.path().join("libnamed.so")).unwrap();
    let search = format!("-L{}", folder.path().display());
    for kind in ["-pie", "-no-pie"] {
        let program = gcc("named.c", &["-O1", "-g", kind, &search, "-lnamed", "-Wl,-rpath,/opt"]);
        let builder = || builder(folder.path());
        let joined = builder().join(std::fs::read(program).unwrap(), &[]).unwrap().unwrap();
        let (mut machine, _) = machine(&Config::new(), &joined, builder().args(["named"]));
        let error = machine.run().unwrap_err();
        let frames = error.trap().unwrap().backtrace.iter().filter_map(|frame| {
            let place = frame.locations.first().map(|place| {
                let file = Path::new(place.file.as_deref().unwrap()).file_name().unwrap().to_str().unwrap();
                format!(" {file}:{}", place.line.unwrap())
            });
            Some(format!("{}{}", frame.function.as_ref()?, place.unwrap_or_default()))
        });
        let frames: Vec<String> = frames.collect();
        let own = ["compare named.c:7", "sort named.c:11", "call named_library.c:3", "main named.c:17"];
        let known: Vec<&String> = frames.iter().filter(|frame| frame.contains(' ')).collect();
        assert_eq!(known, own, "{frames:?}");
        assert!(frames[1].starts_with("qsort") && frames.last().unwrap() == "_start", "{frames:?}");
    }
}

/// They may be the host's bytes, or in a file system that it implements.
#[test]
fn libraries_need_no_directory() {
    let folder = folder();
    let sysroot = PassThrough::new(SYSROOT);
    let bytes = |name: &str| -> Arc<[u8]> { std::fs::read(folder.path().join(name)).unwrap().into() };
    let (library, late) = (bytes("liblibrary.so"), bytes("liblate.so"));
    let builder = || {
        let builder = Linux::builder().file_system("/", sysroot.clone()).unwrap();
        let builder = builder.file("/opt/liblibrary.so", library.clone()).unwrap();
        builder.file("/opt/liblate.so", late.clone()).unwrap().args(["/opt/dynamic", "/opt/liblate.so"])
    };
    let in_directories = self::builder(folder.path()).args(["/opt/dynamic", "/opt/liblate.so"]);
    let joined = [
        (join(folder.path(), &["/opt/liblate.so"]), in_directories),
        (builder().join(bytes("dynamic"), &["/opt/liblate.so".to_owned()]).unwrap().unwrap(), builder()),
    ];
    let [expected, ended] = joined.map(|(joined, builder)| {
        let (mut machine, stdout) = machine(&Config::new(), &joined, builder);
        let status = machine.run().unwrap_or_else(|error| panic!("{error}: {}", text(&stdout)));
        (status, text(&stdout))
    });
    assert_eq!(ended, expected);
}

/// Text is never read from memory: what the program was not joined with is not mapped to be executed.
#[test]
fn libraries_that_were_not_named_are_refused_by_name() {
    let folder = folder();
    let joined = join(folder.path(), &[]);
    let in_memory: Arc<[u8]> = std::fs::read(folder.path().join("liblate.so")).unwrap().into();
    for path in ["/opt/liblate.so", "/late/liblate.so"] {
        let log = Captured::default();
        let builder = builder(folder.path()).file("/late/liblate.so", in_memory.clone()).unwrap();
        let builder = builder.args(["/opt/dynamic", path]).log(log.clone(), Detail::Unknown);
        let (mut machine, stdout) = machine(&Config::new(), &joined, builder);
        assert_eq!(machine.run().unwrap(), 1);
        let stdout = text(&stdout);
        assert!(stdout.contains(&format!("{path}: failed to map segment")), "{stdout}");
        let refused = format!(
            "{path:?} is refused: its code can run only if it is named when the program is loaded (--library)\n"
        );
        let log = text(&log);
        assert!(log.contains(&refused), "{log}");
    }
}

/// It need not be named: it is no library.
#[test]
fn code_that_a_program_has_made_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let program = std::fs::read(gcc("made_code.c", &["-O2", "-D_GNU_SOURCE"])).unwrap();
    let log = Captured::default();
    let builder = builder(folder.path());
    let joined = builder.join(program, &[]).unwrap().unwrap();
    let (mut machine, stdout) = machine(&Config::new(), &joined, builder.log(log.clone(), Detail::Unknown));
    assert_eq!(machine.run().unwrap(), 0);
    assert_eq!(text(&stdout), "Permission denied\nPermission denied\n");
    assert_eq!(text(&log), "code that a program makes or loads as it runs is not provided\n");
}

/// A snapshot of a dynamically linked program goes on with the same files.
#[test]
fn snapshots_go_on() {
    let folder = folder();
    let joined = join(folder.path(), &["liblate.so", "/opt/liblate.so"]);
    let arguments = || builder(folder.path()).args(["/opt/dynamic", "/opt/liblate.so"]).seed(Some(1));
    let (mut whole, stdout) = machine(&Config::new(), &joined, arguments());
    assert_eq!(whole.run().unwrap(), 3);
    let expected = text(&stdout);
    let (mut first, stdout) = machine(&Config::new(), &joined, arguments());
    first.set_fuel(Some(whole.instructions() / 2));
    first.run().unwrap_err();
    let before = text(&stdout);
    let bytes = riverrun_linux::snapshot(&mut first, |linux| linux).unwrap().to_bytes();

    let program = first.program().clone();
    let snapshot = Snapshot::from_bytes(&program, &bytes).unwrap();
    let stdout = Captured::default();
    let linux = builder(folder.path()).joined(joined).stdout(Output::writer(stdout.clone()));
    let linux = linux.restore_from(&snapshot).unwrap();
    let mut linker = Linker::new(program.engine());
    riverrun_linux::add_to_linker(&mut linker, |linux: &mut Linux| linux);
    let mut second = linker.instantiate_from(&snapshot, linux).unwrap();
    assert_eq!(second.run().unwrap(), 3);
    assert_eq!(before + &text(&stdout), expected);
}

/// glibc loads a library by itself where a thread ends; that is joined with every program that has glibc.
#[test]
fn threads_end_in_programs_that_name_no_library() {
    let program = gcc("ends_thread.c", &["-O2", "-Wall"]);
    let expected = Command::new("qemu-riscv64").args(["-L", SYSROOT]).arg(&program).output().unwrap();
    let builder = || Linux::builder().dir(SYSROOT, "/", DirAccess::ReadOnly).unwrap().args(["program"]);
    let joined = builder().join(std::fs::read(&program).unwrap(), &[]).unwrap().unwrap();
    let (mut machine, stdout) = machine(&Config::new(), &joined, builder());
    assert_eq!((machine.run().unwrap(), text(&stdout).as_bytes()), (0, &expected.stdout[..]));
    assert_eq!(expected.stdout, b"frames\nended\n");
}

/// Before any of them is read as a whole.
#[test]
fn a_folder_of_too_many_libraries_is_named() {
    let folder = folder();
    let (library, many) = (folder.path().join("liblate.so"), folder.path().join("many"));
    std::fs::create_dir(&many).unwrap();
    let join = || {
        let program = std::fs::read(folder.path().join("dynamic")).unwrap();
        builder(folder.path()).join(program, &["/opt/many".to_owned()])
    };
    // Other names of a file do not count, nor do files that are no libraries.
    for n in 0..600 {
        std::fs::hard_link(&library, many.join(format!("lib{n}.so"))).unwrap();
        std::fs::write(many.join(format!("text{n}.so")), "GROUP ( libc.so.6 )").unwrap();
    }
    assert!(join().unwrap().is_some());
    for n in 0..600 {
        std::fs::write(many.join(format!("other{n}.so.1")), b"\x7fELF, and no more").unwrap();
    }
    let error = join().unwrap_err().to_string();
    let expected = "cannot link dynamically: /opt/many: there are 601 libraries in it, of which at most 512 can be joined: \
                    name those that the program loads";
    assert_eq!(error, expected);
}

#[test]
fn what_is_missing_is_named() {
    let folder = folder();
    let program = std::fs::read(folder.path().join("dynamic")).unwrap();
    match Linux::builder().join(program.clone(), &[]) {
        Err(Error::Join { path, reason }) => {
            assert_eq!(path, "/lib/ld-linux-riscv64-lp64d.so.1");
            assert!(reason.contains("not in the guest's tree"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    // The guest's own dynamic linker says which library there is none of.
    let builder = || Linux::builder().dir(SYSROOT, "/", DirAccess::ReadOnly).unwrap();
    let joined = builder().join(program, &[]).unwrap().unwrap();
    let stderr = Captured::default();
    let (mut machine, _) =
        machine(&Config::new(), &joined, builder().args(["/dynamic"]).stderr(Output::writer(stderr.clone())));
    assert_eq!(machine.run().unwrap(), 127);
    let stderr = text(&stderr);
    assert!(stderr.contains("liblibrary.so: cannot open shared object file"), "{stderr}");

    let static_program = std::fs::read(gcc("fills.c", &["-O2", "-static", "-Wall"])).unwrap();
    assert!(builder().join(static_program, &[]).unwrap().is_none());
    assert!(matches!(builder().join(*b"no program", &[]), Err(Error::Join { .. })));
}

//! Linux's system calls, on a directory of the fuzzer's own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use riverrun::{Config, Engine, Linker, Program};
use riverrun_linux::{Detail, DirAccess, Input, Linux, Output, add_to_linker, start};
use riverrun_testkit::Random;

use crate::hostile;
use crate::lying::Lying;

/// One more than the highest number of a system call.
const NUMBERS: usize = 460;

/// Attacks that share a directory: what guests leave in it is thrown away then.
const SHARED: u32 = 50;

/// Bytes of a file at most: guests make them as long as they can. What the fuzzer says may go to a file, too.
const FILE_MAX: u64 = 16 << 20;

struct Host {
    linker: Linker<Linux>,
    program: Program,
    /// Removed when the fuzzer ends by itself.
    folder: tempfile::TempDir,
    attacks: AtomicU32,
}

static HOST: OnceLock<Host> = OnceLock::new();

extern "C" fn remove_folder() {
    if let Some(host) = HOST.get() {
        let _ = fs::remove_dir_all(host.folder.path());
    }
}

fn host() -> &'static Host {
    HOST.get_or_init(|| {
        let limit = libc::rlimit { rlim_cur: FILE_MAX, rlim_max: FILE_MAX };
        // SAFETY: the structure lives as long as the call; a signal that is ignored has no handler; what is called at the
        // end is static.
        unsafe {
            assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &limit), 0);
            assert_eq!(libc::atexit(remove_folder), 0);
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        }
        let mut config = Config::new();
        config.memory_limit(hostile::MEMORY_LIMIT).stack_size(64 << 10);
        let engine = Engine::new(&config).expect("the configuration is in range");
        let mut linker = Linker::new(&engine);
        add_to_linker(&mut linker, |linux: &mut Linux| linux);
        let program = Program::new(&engine, hostile::program()).expect("it is a program");
        let folder = tempfile::tempdir().expect("there is room for a directory");
        Host { linker, program, folder, attacks: AtomicU32::new(0) }
    })
}

/// The granted directories, one for all and one for reading.
fn folders(host: &Host) -> io::Result<[PathBuf; 2]> {
    let folders = ["w", "ro"].map(|name| host.folder.path().join(name));
    if host.attacks.fetch_add(1, Ordering::Relaxed).is_multiple_of(SHARED) {
        for folder in &folders {
            // What cannot be removed stays, and is no worse than what guests find elsewhere.
            let _ = fs::remove_dir_all(folder);
            fs::create_dir_all(folder.join("dir"))?;
            fill(folder)?;
        }
    }
    Ok(folders)
}

fn fill(folder: &Path) -> io::Result<()> {
    fs::write(folder.join("file"), "what is in it")?;
    fs::write(folder.join("dir/a"), "")?;
    std::os::unix::fs::symlink("dir/../file", folder.join("link"))
}

pub fn attack(random: &mut Random) {
    let host = host();
    let [writable, readable] = folders(host).expect("there is room for a few files");
    let linux = Linux::builder()
        .args(["guest", "argument"])
        .env("HOME", "/w")
        .stdin(Input::bytes("what is to be read\n"))
        .stdout(Output::writer(io::sink()))
        .dir(writable, "/w", DirAccess::ReadWrite)
        .and_then(|builder| builder.dir(readable, "/ro", DirAccess::ReadOnly))
        .and_then(|builder| builder.file_system("/fs", Lying::new(random.u64())))
        .and_then(|builder| builder.listen("0")?.connect("127.0.0.1:9"))
        .expect("the directories are there, and the addresses are some")
        .seed(Some(random.u64()))
        .virtual_time(true)
        .log(io::sink(), if random.one_in(2) { Detail::All } else { Detail::Unknown })
        .build();
    let mut machine = host.linker.instantiate(&host.program, linux).expect("there is room");
    start(&mut machine, |linux| linux).expect("the arguments are short");
    hostile::prepare(&mut machine, random);
    for _ in 0..1 + random.below(24) {
        let number = random.below(NUMBERS) as u64;
        hostile::call(&mut machine, random, number);
    }
}

//! Compiles the script's source in the background whenever it has been saved.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::SystemTime;
use std::{fs, io, thread};

use riverrun::{Engine, Program};
use riverrun_bindgen::{Language, Library, Toolchain};

/// What compiles the script's source, again and again.
pub struct Builder {
    engine: Engine,
    source: PathBuf,
    folder: PathBuf,
    /// When the source that was compiled last had been saved.
    saved: Option<SystemTime>,
    running: Option<Receiver<Result<Program, String>>>,
}

impl Builder {
    /// Watches a source from now on.
    ///
    /// # Errors
    /// If the source is not there, or no folder to build in can be made.
    pub fn new(engine: &Engine, source: &Path) -> io::Result<Builder> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("riverrun-game-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        let named =
            |path: &Path, error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let saved = saved(source).map_err(|error| named(source, error))?;
        fs::create_dir_all(&folder).map_err(|error| named(&folder, error))?;
        Ok(Builder { engine: engine.clone(), source: source.to_owned(), folder, saved: Some(saved), running: None })
    }

    /// A new program, or the compiler's complaints, once the source has been saved and compiled. Never waits.
    pub fn poll(&mut self) -> Option<Result<Program, String>> {
        if let Some(running) = &self.running {
            let done = match running.try_recv() {
                Ok(done) => done,
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => Err("the compiler's thread has panicked".to_owned()),
            };
            self.running = None;
            return Some(done);
        }
        let now = saved(&self.source).ok();
        // Editors may delete a file before they write it.
        if now.is_some() && now != self.saved {
            self.saved = now;
            let (sender, receiver) = channel();
            let (engine, source, folder) = (self.engine.clone(), self.source.clone(), self.folder.clone());
            thread::spawn(move || sender.send(build(&engine, &source, &folder)));
            self.running = Some(receiver);
        }
        None
    }

    /// Whether the compiler is at work.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }
}

impl Drop for Builder {
    fn drop(&mut self) {
        // A compiler that is still at work keeps its files.
        if self.running.is_none() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

fn saved(path: &Path) -> io::Result<SystemTime> {
    fs::metadata(path)?.modified()
}

/// What `riverrun c++ --bare` does, with the header and stubs that the build script has left.
fn build(engine: &Engine, source: &Path, folder: &Path) -> Result<Program, String> {
    let generated = Path::new(env!("OUT_DIR"));
    let program = folder.join("script");
    let arguments: [OsString; 6] = [
        "-I".into(),
        generated.into(),
        source.into(),
        generated.join("api.S").into(),
        "-o".into(),
        program.clone().into(),
    ];
    let toolchain = Toolchain::find(Library::None).map_err(|error| error.to_string())?;
    let command = toolchain.command(Language::Cxx, Library::None, &arguments, folder);
    let output = command.map_err(|error| error.to_string())?.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Program::from_file(engine, &program).map_err(|error| error.to_string())
}

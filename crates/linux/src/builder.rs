//! What a guest is granted.

use std::path::Path;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::Linux;
use crate::descriptors::{self, Descriptors, standard_streams};
use crate::error::Error;
use crate::file_systems::kernel_file_system;
use crate::grant::DirOptions;
use crate::guest_path::GuestPath;
use crate::host_file::SizeLimit;
use crate::joined::{self, Joined};
use crate::last_words::LastWords;
use crate::log::{Detail, Log};
use crate::network::Network;
use crate::paths::Names;
use crate::process::Process;
use crate::random::Random;
use crate::reactor::Reactor;
use crate::signals::Signals;
use crate::stdio::{Input, Output};
use crate::threads::Threads;
use crate::time::Clock;
use crate::virtual_fs::FileSystem;

/// Collects what a guest is granted; see [`Linux::builder`].
#[derive(Debug, Default)]
pub struct Builder {
    args: Vec<Vec<u8>>,
    env: Vec<Vec<u8>>,
    stdin: Input,
    stdout: Output,
    stderr: Output,
    names: Names,
    network: Network,
    joined: Option<Joined>,
    max_descriptors: Option<usize>,
    max_file_size: Option<u64>,
    max_threads: Option<usize>,
    seed: Option<u64>,
    virtual_time: bool,
    exits: bool,
    log: Log,
}

impl Builder {
    /// Adds arguments, the program's name first.
    pub fn args<S: Into<Vec<u8>>>(mut self, args: impl IntoIterator<Item = S>) -> Builder {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds an environment variable, in the place of one of the same name.
    pub fn env(mut self, name: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> Builder {
        let mut variable = name.into();
        variable.push(b'=');
        let same = self.env.iter().position(|other| other.starts_with(&variable));
        variable.extend(value.into());
        match same {
            Some(index) => self.env[index] = variable,
            None => self.env.push(variable),
        }
        self
    }

    /// Whether a program that offers functions to its host (`RIVERRUN_EXPORT`) exits once its `main` has returned, as
    /// all others do.
    ///
    /// By default it does not, if it was linked with the SDK's `reactor.c`, as `riverrun cc` and `riverrun c++` do: its
    /// run ends behind `main`, with the status that this has returned, and nothing of it has been torn down. Its
    /// functions can be called then. Run once more, it exits in order: destructors and `atexit` functions run.
    pub fn exits(mut self, on: bool) -> Builder {
        self.exits = on;
        self
    }

    /// Standard input; nothing by default.
    pub fn stdin(mut self, input: Input) -> Builder {
        self.stdin = input;
        self
    }

    /// Standard output; nowhere by default.
    pub fn stdout(mut self, output: Output) -> Builder {
        self.stdout = output;
        self
    }

    /// Standard error; nowhere by default.
    pub fn stderr(mut self, output: Output) -> Builder {
        self.stderr = output;
        self
    }

    /// The host's own standard streams.
    pub fn inherit_stdio(self) -> Builder {
        self.stdin(Input::Inherit).stdout(Output::InheritStdout).stderr(Output::InheritStderr)
    }

    /// Grants the host's directory `host` under the guest's absolute path `guest`. How is said by a
    /// [`DirAccess`](crate::DirAccess) or by [`DirOptions`].
    ///
    /// Guests cannot leave it: `..` and symbolic links are followed as the guest's own paths. Neither can they open
    /// devices, FIFOs and sockets in it, nor change devices. File systems of the kernel, such as procfs, are not part
    /// of it, nor are other mounts unless the options say so.
    ///
    /// Directories may be granted within others; the longest name wins. The guest's path is taken literally: the way to a
    /// granted directory consists of directories. Where an outer one lacks them, the host gets them once the guest makes
    /// something else there; where it has something else, nothing can be made. Names on the way to a granted directory
    /// cannot be moved or removed (`EBUSY`), as mount points.
    ///
    /// What is granted as read-only is that by every name that leads through the directory, such as one below another
    /// directory, above it, that the guest may write to. Only a name that is granted as writable itself overrides that.
    ///
    /// # Errors
    /// [`Error::Directory`] if it cannot be opened, [`Error::KernelFileSystem`] if it is in one, [`Error::GuestPath`]
    /// if the guest's path is none, [`Error::GrantedTwice`].
    pub fn dir(
        mut self,
        host: impl AsRef<Path>,
        guest: &str,
        options: impl Into<DirOptions>,
    ) -> Result<Builder, Error> {
        let path = GuestPath::parse_absolute(guest).ok_or_else(|| Error::GuestPath(guest.to_owned()))?;
        let host = host.as_ref();
        let cannot = |source| Error::Directory { host: host.to_owned(), source };
        let dir = Dir::open_ambient_dir(host, ambient_authority()).map_err(cannot)?;
        if let Some(name) = kernel_file_system(&dir).map_err(|errno| cannot(errno.into()))? {
            return Err(Error::KernelFileSystem { host: host.to_owned(), name });
        }
        match self.names.grant(path, dir, options.into()).map_err(|errno| cannot(errno.into()))? {
            true => Ok(self),
            false => Err(Error::GrantedTwice(guest.to_owned())),
        }
    }

    /// Gives the guest a file with these contents at an absolute path, which it can read and not change. The host needs no
    /// such file; where a granted directory has one of this name, the guest sees this one. Directories on the way to it are
    /// there as those on the way to granted directories. It costs the host the memory of its contents, once for all guests
    /// that are given the same `Arc`.
    ///
    /// ```
    /// # use riverrun_linux::Linux;
    /// let linux = Linux::builder().file("/etc/game.conf", *b"level = 3\n")?.build();
    /// # Ok::<(), riverrun_linux::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::GuestPath`] if the path is none; [`Error::GrantedTwice`] if a file or a granted directory is there, or the
    /// way to one leads through it.
    pub fn file(mut self, guest: &str, contents: impl Into<Arc<[u8]>>) -> Result<Builder, Error> {
        let path = GuestPath::parse_absolute(guest).ok_or_else(|| Error::GuestPath(guest.to_owned()))?;
        match self.names.give(path, contents.into()) {
            true => Ok(self),
            false => Err(Error::GrantedTwice(guest.to_owned())),
        }
    }

    /// Grants a file system that the host implements, under the guest's absolute path `guest`. It is as a granted
    /// directory: the longest name wins where others are granted within it, and its name cannot be moved or removed.
    /// See [`FileSystem`] for an example.
    ///
    /// Its files may be mapped, and be open in a snapshot: they are opened again by their names. They have no holes, and
    /// locks on them hold for the guest alone.
    ///
    /// # Errors
    /// [`Error::GuestPath`] if the path is none; [`Error::GrantedTwice`] if it is granted already.
    pub fn file_system(mut self, guest: &str, file_system: Arc<dyn FileSystem>) -> Result<Builder, Error> {
        let path = GuestPath::parse_absolute(guest).ok_or_else(|| Error::GuestPath(guest.to_owned()))?;
        match self.names.mount(path, file_system) {
            true => Ok(self),
            false => Err(Error::GrantedTwice(guest.to_owned())),
        }
    }

    /// Lets the guest connect to `HOST:PORT` by TCP and UDP. The host is an address or a name. A name is looked up now,
    /// which may take a while: all its addresses are granted, and the guest finds them in its `/etc/hosts`. There is no
    /// other look-up for it. May be called again.
    ///
    /// Without a grant, `socket` and `connect` fail with `EACCES`, and the [log](Builder::log) says so. Other protocols are
    /// not provided. A socket that is open cannot be part of a snapshot.
    ///
    /// ```
    /// use riverrun_linux::Linux;
    ///
    /// let builder = Linux::builder().connect("localhost:5432")?.connect("192.0.2.7:443")?.connect("[::1]:80")?;
    /// assert!(Linux::builder().connect("192.0.2.7").is_err(), "without a port");
    /// # Ok::<(), riverrun_linux::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Address`] if it is no such address, or the name has none.
    pub fn connect(mut self, address: &str) -> Result<Builder, Error> {
        self.network.grant_connect(address)?;
        Ok(self)
    }

    /// Lets the guest listen at `ADDRESS:PORT` by TCP and UDP, and talk with all who connect or send there. A `PORT`
    /// alone is that of 127.0.0.1, which only programs of the same host reach. Port 0 is one that the host chooses,
    /// each time. May be called again.
    ///
    /// A guest that listens at all addresses (0.0.0.0, `::`) gets the granted one of that port.
    ///
    /// ```
    /// use riverrun_linux::Linux;
    ///
    /// let builder = Linux::builder().listen("8080")?.listen("0.0.0.0:80")?;
    /// # Ok::<(), riverrun_linux::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Address`] if it is no such address.
    pub fn listen(mut self, address: &str) -> Result<Builder, Error> {
        self.network.grant_listen(address)?;
        Ok(self)
    }

    /// The directory that the guest is in when it starts, an absolute path: `/` unless this is called. Whether it is there
    /// is seen when the guest uses it.
    ///
    /// # Errors
    /// [`Error::GuestPath`] if the path is none.
    pub fn current_dir(mut self, guest: &str) -> Result<Builder, Error> {
        self.names.current = GuestPath::parse_absolute(guest).ok_or_else(|| Error::GuestPath(guest.to_owned()))?;
        Ok(self)
    }

    /// Prepares a dynamically linked program: finds its dynamic linker and the libraries that it needs in what has been
    /// granted so far, by the guest's names. `libraries` are more of them, which it loads later (`dlopen`): names, or
    /// paths, of directories of the host for all libraries in them and below. `None` if the program is not dynamically
    /// linked.
    ///
    /// The result's [`Joined::bytes`] are the program to be loaded; [`Builder::joined`] tells the personality of it. The
    /// guest's dynamic linker reads the files again, so they are to be granted to the machine as well: the same
    /// directories, or the same `Arc` of bytes or of a file system. A
    /// library that another one needs and that is not found is left out: the dynamic linker then says what is missing.
    ///
    /// ```no_run
    /// use riverrun::{Config, Engine, Program};
    /// use riverrun_linux::{DirAccess, Linux};
    ///
    /// let builder = Linux::builder().dir("/usr/riscv64-linux-gnu", "/", DirAccess::ReadOnly)?;
    /// let joined = builder.join(std::fs::read("hello")?, &[])?.ok_or("a static program")?;
    /// let program = Program::new(&Engine::new(&Config::new())?, joined.bytes())?;
    /// let linux = builder.args(["/hello"]).joined(joined).build();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Join`] if the file, its dynamic linker, or one of `libraries` cannot be read.
    pub fn join(&self, program: impl Into<Arc<[u8]>>, libraries: &[String]) -> Result<Option<Joined>, Error> {
        joined::join(&self.names, program.into(), libraries)
    }

    /// The machine's program is this one, of [`Builder::join`].
    pub fn joined(mut self, joined: Joined) -> Builder {
        self.joined = Some(joined);
        self
    }

    /// How many descriptors the guest may have open, standard streams included: 256 unless this is called, 65,536 at
    /// most. Each may take one of its host's; so may each of 128 shared mappings of files. Beyond, calls fail with `EMFILE`.
    pub fn max_descriptors(mut self, count: usize) -> Builder {
        self.max_descriptors = Some(count);
        self
    }

    /// The size in bytes that the guest may give a file, its standard output included; no limit unless this is
    /// called, but the process's own (`RLIMIT_FSIZE`). Beyond, calls fail with `EFBIG`, and the guest is sent
    /// `SIGXFSZ`, as on Linux. How many files there are is not limited.
    pub fn max_file_size(mut self, bytes: u64) -> Builder {
        self.max_file_size = Some(bytes);
        self
    }

    /// Bytes that the guest's own files may take, those in its private `/tmp` and `/dev/shm` and those of
    /// `memfd_create`: 64 MiB unless this is called. They are in the host's memory, and count with what the guest maps
    /// against the machine's limit on memory. (The guest heap that `riverrun/heap.h` and hosts allocate from does not
    /// look at them.) Beyond, calls fail with `ENOSPC`.
    ///
    /// ```
    /// # use riverrun_linux::Linux;
    /// let linux = Linux::builder().max_private_files(1 << 20).build();
    /// ```
    pub fn max_private_files(self, bytes: u64) -> Builder {
        self.names.tree.set_limit(bytes);
        self
    }

    /// How many threads the guest may have at once: 1,024 unless this is called, 16,384 at most; 1 for none but the first.
    /// Each takes some 1 KiB of the host's memory. Beyond, `clone` fails with `EAGAIN`.
    pub fn max_threads(mut self, count: usize) -> Builder {
        self.max_threads = Some(count);
        self
    }

    /// Makes the guest's random numbers reproducible, and the order in which its threads run: another seed gives another
    /// one. Without a seed, random numbers are the host's, and threads run in turn for the same time each.
    pub fn seed(mut self, seed: Option<u64>) -> Builder {
        self.seed = seed;
        self
    }

    /// Makes the guest's clocks reproducible: they start at 2000-01-01, go on by one nanosecond
    /// with each instruction, and sleeping only sets them forward.
    pub fn virtual_time(mut self, on: bool) -> Builder {
        self.virtual_time = on;
        self
    }

    /// Reports system calls, a line each, to `sink`.
    pub fn log(mut self, sink: impl std::io::Write + Send + 'static, detail: Detail) -> Builder {
        self.log = Log::new(Box::new(sink), detail);
        self
    }

    /// Whether the guest's random numbers are reproducible.
    pub(crate) fn has_seed(&self) -> bool {
        self.seed.is_some()
    }

    /// The guest's operating system, to be put into a machine's data.
    pub fn build(mut self) -> Linux {
        let hosts = GuestPath(["etc", "hosts"].map(Into::into).into());
        if let Some(text) = self.network.hosts_file() {
            // One that the host has given stays.
            let _ = self.names.give(hosts, text.into());
        }
        let size_limit = self.max_file_size.map_or_else(SizeLimit::default, SizeLimit::new);
        let limit = self.max_descriptors.unwrap_or(descriptors::DEFAULT_LIMIT);
        let standard = standard_streams(self.stdin, [self.stdout, self.stderr], &size_limit);
        Linux {
            args: self.args,
            env: self.env,
            descriptors: Descriptors::new(standard.clone(), limit),
            standard,
            names: self.names,
            network: Arc::new(self.network),
            size_limit,
            joined: self.joined,
            program: None,
            image: std::sync::OnceLock::new(),
            layout: None,
            mappings: Default::default(),
            pending_opens: Default::default(),
            clock: Clock::new(self.virtual_time),
            random: Random::new(self.seed),
            timers: Default::default(),
            signals: Signals::default(),
            threads: Threads::new(self.max_threads, self.seed),
            process: Process::default(),
            reactor: Reactor::new(self.exits),
            log: self.log,
            last_words: LastWords::default(),
            baseline: None,
            own_baseline: None,
            has_locked: false,
            is_changed: false,
        }
    }
}

//! Grants of the Linux personality.

use std::ffi::{c_char, c_void};
use std::io;
use std::sync::Arc;

use riverrun_linux::{Builder, DirAccess, Input, Output};

use crate::arguments::{Result, array, given, text};
use crate::error::{Returned, delete, guard, guard_value};
use crate::file_system::{Called, FileSystem};
use crate::owned::{Destructor, Owned};
use crate::serving::serve;

/// The grants of guests: arguments, variables, streams, directories; nothing at first. Any number of machines may be made
/// with them.
#[derive(Clone, Debug, Default)]
pub struct Linux {
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    input: InputOf,
    output: OutputTo,
    errors: OutputTo,
    directories: Vec<(String, String, DirAccess)>,
    files: Vec<(String, Arc<[u8]>)>,
    file_systems: Vec<(String, Called)>,
    connect: Vec<String>,
    listen: Vec<String>,
    current_directory: Option<String>,
    max_descriptors: Option<usize>,
    max_file_size: Option<u64>,
    max_threads: Option<usize>,
    max_private_files: Option<u64>,
    seed: Option<u64>,
    virtual_time: bool,
    exits: bool,
}

#[derive(Clone, Debug, Default)]
enum InputOf {
    #[default]
    Nothing,
    Inherit,
    Bytes(Arc<[u8]>),
}

#[derive(Clone, Debug, Default)]
enum OutputTo {
    #[default]
    Nothing,
    Inherit,
    Sink(Arc<Sink>),
}

/// Takes what a guest writes. It cannot use the machine that writes, but others.
pub type Write = unsafe extern "C" fn(data: *mut c_void, bytes: *const c_void, len: usize);

#[derive(Debug)]
struct Sink {
    write: Write,
    owned: Owned,
}

/// A sink that a machine writes to.
struct Writer(Arc<Sink>);

impl io::Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: what the host has given with its data; the bytes are there as long as the call.
        serve(|| unsafe { (self.0.write)(self.0.owned.data, bytes.as_ptr().cast(), bytes.len()) });
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Linux {
    /// What the guest of one machine is granted.
    pub(crate) fn builder(&self) -> Result<Builder> {
        let mut builder = riverrun_linux::Linux::builder()
            .args(self.arguments.iter().map(String::as_str))
            .seed(self.seed)
            .virtual_time(self.virtual_time)
            .exits(self.exits);
        if let Some(count) = self.max_descriptors {
            builder = builder.max_descriptors(count);
        }
        if let Some(bytes) = self.max_file_size {
            builder = builder.max_file_size(bytes);
        }
        if let Some(count) = self.max_threads {
            builder = builder.max_threads(count);
        }
        if let Some(bytes) = self.max_private_files {
            builder = builder.max_private_files(bytes);
        }
        for (name, value) in &self.variables {
            builder = builder.env(name.as_str(), value.as_str());
        }
        builder = builder.stdin(match &self.input {
            InputOf::Nothing => Input::Null,
            InputOf::Inherit => Input::Inherit,
            InputOf::Bytes(bytes) => Input::bytes(&bytes[..]),
        });
        let output = |to: &OutputTo, own: Output| match to {
            OutputTo::Nothing => Output::Null,
            OutputTo::Inherit => own,
            OutputTo::Sink(sink) => Output::writer(Writer(sink.clone())),
        };
        builder = builder.stdout(output(&self.output, Output::InheritStdout));
        builder = builder.stderr(output(&self.errors, Output::InheritStderr));
        for (host, guest, access) in &self.directories {
            builder = builder.dir(host, guest, *access)?;
        }
        for (guest, file_system) in &self.file_systems {
            builder = builder.file_system(guest, Arc::new(file_system.clone()))?;
        }
        for address in &self.connect {
            builder = builder.connect(address)?;
        }
        for address in &self.listen {
            builder = builder.listen(address)?;
        }
        for (guest, contents) in &self.files {
            builder = builder.file(guest, contents.clone())?;
        }
        if let Some(directory) = &self.current_directory {
            builder = builder.current_dir(directory)?;
        }
        Ok(builder)
    }

    /// Adds a grant. One that cannot be granted is said at once, and leaves the others.
    fn grant(&mut self, add: impl FnOnce(&mut Linux)) -> Result<()> {
        let mut more = self.clone();
        add(&mut more);
        more.builder()?;
        *self = more;
        Ok(())
    }
}

/// Makes grants that grant nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_new() -> Option<Box<Linux>> {
    guard_value(None, || Some(Some(Box::default())))
}

/// Frees the grants; machines that were made with them keep theirs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_delete(granted: Option<Box<Linux>>) {
    delete(granted);
}

/// Adds an argument; the first one is the program's name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_add_argument(granted: Option<&mut Linux>, argument: *const c_char) -> Returned {
    guard(|| {
        given(granted, "granted")?.arguments.push(text(argument, "argument")?.to_owned());
        Ok(())
    })
}

/// Sets a variable of the environment; the guest gets none of the host's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_add_variable(
    granted: Option<&mut Linux>,
    name: *const c_char,
    value: *const c_char,
) -> Returned {
    guard(|| {
        let variable = (text(name, "name")?.to_owned(), text(value, "value")?.to_owned());
        given(granted, "granted")?.variables.push(variable);
        Ok(())
    })
}

/// Gives the guest the host's own standard input, output and error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_inherit_streams(granted: Option<&mut Linux>) -> Returned {
    guard(|| {
        let granted = given(granted, "granted")?;
        (granted.input, granted.output, granted.errors) = (InputOf::Inherit, OutputTo::Inherit, OutputTo::Inherit);
        Ok(())
    })
}

/// Gives the guest these bytes, which are copied, as its standard input.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_set_input(
    granted: Option<&mut Linux>,
    bytes: *const c_void,
    len: usize,
) -> Returned {
    guard(|| {
        given(granted, "granted")?.input = InputOf::Bytes(array::<u8>(bytes.cast(), len, "bytes")?.into());
        Ok(())
    })
}

/// Calls `write` with what guests write to their standard output: on the threads that run them, and for machines of
/// several threads at once. `destructor`, which may be NULL, frees `data` when this and all machines are gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_set_output(
    granted: Option<&mut Linux>,
    write: Option<Write>,
    data: *mut c_void,
    destructor: Option<Destructor>,
) -> Returned {
    let owned = Owned::new(data, destructor);
    guard(|| {
        let write = given(write, "write")?;
        given(granted, "granted")?.output = OutputTo::Sink(Arc::new(Sink { write, owned }));
        Ok(())
    })
}

/// The same for standard error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_set_errors(
    granted: Option<&mut Linux>,
    write: Option<Write>,
    data: *mut c_void,
    destructor: Option<Destructor>,
) -> Returned {
    let owned = Owned::new(data, destructor);
    guard(|| {
        let write = given(write, "write")?;
        given(granted, "granted")?.errors = OutputTo::Sink(Arc::new(Sink { write, owned }));
        Ok(())
    })
}

/// Grants the host's directory `host` under the guest's absolute path `guest`. Guests cannot leave it; other mounts, file
/// systems of the kernel such as procfs, and devices are not part of it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_add_directory(
    granted: Option<&mut Linux>,
    host: *const c_char,
    guest: *const c_char,
    read_only: bool,
) -> Returned {
    guard(|| {
        let granted = given(granted, "granted")?;
        let access = if read_only { DirAccess::ReadOnly } else { DirAccess::ReadWrite };
        let directory = (text(host, "host")?.to_owned(), text(guest, "guest")?.to_owned(), access);
        granted.grant(|granted| granted.directories.push(directory))
    })
}

/// Gives the guest a file with these bytes, which are copied, at its absolute path `guest`. The guest can read it and not
/// change it; the host needs no such file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_add_file(
    granted: Option<&mut Linux>,
    guest: *const c_char,
    bytes: *const c_void,
    len: usize,
) -> Returned {
    guard(|| {
        let granted = given(granted, "granted")?;
        let contents = array::<u8>(bytes.cast(), len, "bytes")?.into();
        let file = (text(guest, "guest")?.to_owned(), contents);
        granted.grant(|granted| granted.files.push(file))
    })
}

/// Grants a file system that the host implements, under the guest's absolute path `guest`. `look`, `list` and `read`
/// are needed. `destructor`, which may be NULL, frees `data` when this and all machines are gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_add_file_system(
    granted: Option<&mut Linux>,
    guest: *const c_char,
    functions: Option<&FileSystem>,
    data: *mut c_void,
    destructor: Option<Destructor>,
) -> Returned {
    let owned = Owned::new(data, destructor);
    guard(|| {
        let granted = given(granted, "granted")?;
        let file_system = (text(guest, "guest")?.to_owned(), Called::new(functions, owned)?);
        granted.grant(|granted| granted.file_systems.push(file_system))
    })
}

/// Lets guests connect to an address by TCP and UDP: `HOST:PORT`, such as `127.0.0.1:80`, `[::1]:80` or `example.org:443`. A
/// name is looked up now, and when a machine is made, which may take a while; the guest finds its addresses in /etc/hosts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_add_connect(granted: Option<&mut Linux>, address: *const c_char) -> Returned {
    guard(|| {
        let (granted, address) = (given(granted, "granted")?, text(address, "address")?);
        // What cannot be granted is said at once.
        riverrun_linux::Linux::builder().connect(address)?;
        granted.connect.push(address.to_owned());
        Ok(())
    })
}

/// Lets guests listen at an address by TCP and UDP: `PORT` for programs of the same host, or `ADDRESS:PORT`, such as
/// `0.0.0.0:8080`. Port 0 is one that the host chooses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_add_listen(granted: Option<&mut Linux>, address: *const c_char) -> Returned {
    guard(|| {
        let (granted, address) = (given(granted, "granted")?, text(address, "address")?);
        riverrun_linux::Linux::builder().listen(address)?;
        granted.listen.push(address.to_owned());
        Ok(())
    })
}

/// Sets the directory that guests are in when they start, an absolute path: / if this is not called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_set_current_directory(
    granted: Option<&mut Linux>,
    guest: *const c_char,
) -> Returned {
    guard(|| {
        let granted = given(granted, "granted")?;
        let before = granted.current_directory.replace(text(guest, "guest")?.to_owned());
        if let Err(error) = granted.builder() {
            granted.current_directory = before;
            return Err(error);
        }
        Ok(())
    })
}

/// Limits how many descriptors a guest may have open: 256 if this is not called, 65,536 at most. Each may take one of the
/// host's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_set_max_descriptors(granted: Option<&mut Linux>, count: usize) -> Returned {
    guard(|| {
        given(granted, "granted")?.max_descriptors = Some(count);
        Ok(())
    })
}

/// Limits the size in bytes that a guest may give a file; the process's own limit (RLIMIT_FSIZE) holds in any case.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_set_max_file_size(granted: Option<&mut Linux>, bytes: u64) -> Returned {
    guard(|| {
        given(granted, "granted")?.max_file_size = Some(bytes);
        Ok(())
    })
}

/// Limits how many threads a guest may have at a time: 1,024 if this is not called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_set_max_threads(granted: Option<&mut Linux>, count: usize) -> Returned {
    guard(|| {
        given(granted, "granted")?.max_threads = Some(count);
        Ok(())
    })
}

/// Limits what a guest's private files (/tmp, /dev/shm, memfd_create) take of the host's memory, in bytes: 64 MiB if this is
/// not called. The memory limit of the engine counts them, too. Beyond, calls fail with ENOSPC.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_set_max_private_files(granted: Option<&mut Linux>, bytes: u64) -> Returned {
    guard(|| {
        given(granted, "granted")?.max_private_files = Some(bytes);
        Ok(())
    })
}

/// Makes guests' random numbers reproducible.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_set_seed(granted: Option<&mut Linux>, seed: u64) -> Returned {
    guard(|| {
        given(granted, "granted")?.seed = Some(seed);
        Ok(())
    })
}

/// Makes guests' clocks reproducible: they go on by one nanosecond with each instruction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_set_virtual_time(granted: Option<&mut Linux>, on: bool) -> Returned {
    guard(|| {
        given(granted, "granted")?.virtual_time = on;
        Ok(())
    })
}

/// Whether a program that offers functions to its host exits once its main has returned, as others do. By default its
/// run ends there with nothing torn down, so that its functions can be called, if it was linked with the SDK's reactor.c;
/// run once more, it exits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn riverrun_linux_set_exits(granted: Option<&mut Linux>, on: bool) -> Returned {
    guard(|| {
        given(granted, "granted")?.exits = on;
        Ok(())
    })
}

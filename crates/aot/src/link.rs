//! Linking objects to a shared object, by the system's linker.

use std::path::Path;
use std::process::Command;

use riverrun_vm::{make_folder_of, write_whole};

use crate::error::CompileError;

/// Linkers: any that writes ELF for x86-64 will do. LLVM's links large programs faster, and others start faster: in 3 ms,
/// where LLVM's takes 23.
const OF_LLVM: [&str; 2] = ["ld.lld-22", "ld.lld"];
const OTHERS: [&str; 2] = ["ld", "x86_64-linux-gnu-ld"];
/// Bytes of objects from which on a program is large.
const LARGE: usize = 1 << 20;

const SHARED: &[&str] =
    &["-shared", "-nostdlib", "--hash-style=gnu", "-z", "noexecstack", "--no-undefined", "--build-id=none"];

/// Links objects to a shared object, or to one object that is linked further.
pub(crate) fn link(objects: &[Vec<u8>], relocatable: bool) -> Result<Vec<u8>, CompileError> {
    let file = |what: &Path| {
        let what = what.display().to_string();
        move |source| CompileError::File { what, source }
    };
    let folder = tempfile::tempdir().map_err(file(&std::env::temp_dir()))?;
    let output = folder.path().join("linked.so");
    let mut inputs = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        let input = folder.path().join(format!("{index}.o"));
        std::fs::write(&input, object).map_err(file(&input))?;
        inputs.push(input);
    }
    let is_large = objects.iter().map(Vec::len).sum::<usize>() >= LARGE;
    let linkers = if is_large { [OF_LLVM, OTHERS] } else { [OTHERS, OF_LLVM] }.concat();
    for linker in &linkers {
        let result = Command::new(linker)
            .args(if relocatable { &["-r"] } else { SHARED })
            .arg("-o")
            .arg(&output)
            .args(&inputs)
            .output();
        match result {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(CompileError::Link(format!("{linker}: {error}"))),
            Ok(result) if !result.status.success() => {
                let said = String::from_utf8_lossy(&result.stderr).into_owned();
                return Err(CompileError::Link(format!("{linker}: {said}")));
            }
            Ok(_) => return std::fs::read(&output).map_err(file(&output)),
        }
    }
    Err(CompileError::Link(format!("none of {} is there; install binutils or lld", linkers.join(", "))))
}

/// Writes an artifact to a file, atomically, and creates its folder; a pipe or device is written to.
///
/// # Errors
/// [`CompileError::File`].
pub fn write(path: &Path, artifact: &[u8]) -> Result<(), CompileError> {
    make_folder_of(path)
        .and_then(|()| write_whole(path, artifact))
        .map_err(|source| CompileError::File { what: path.display().to_string(), source })
}

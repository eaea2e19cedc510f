//! The name by which a guest knows its own program: its path in the guest's tree, if a grant has it there. Programs
//! find their files beside it. Used where a machine gets its arguments.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::options::RunOptions;

/// The program's path in the guest's tree, or as the command line has it where no grant reaches the program.
pub(crate) fn guest_name(options: &RunOptions) -> OsString {
    in_tree(options).map_or_else(|| options.program().as_os_str().to_owned(), PathBuf::into_os_string)
}

/// The program's path by the innermost directory of the host that is granted and has it.
pub(crate) fn in_tree(options: &RunOptions) -> Option<PathBuf> {
    let program = options.program();
    let folder = match program.parent()? {
        folder if folder.as_os_str().is_empty() => Path::new("."),
        folder => folder,
    };
    // The last name stays as it is, also where it is a link's: some programs are many, by their names.
    let (folder, name) = (folder.canonicalize().ok()?, program.file_name()?);
    let sysroot = options.sysroot.iter().map(|host| (host.as_path(), Path::new("/")));
    let dirs = options.guest.dirs.iter().map(|dir| (dir.host.as_path(), Path::new(&dir.guest)));
    let grants: Vec<(&Path, &Path)> = sysroot.chain(dirs).collect();
    let by_grant = grants.iter().filter_map(|&(host, guest)| {
        let host = host.canonicalize().ok()?;
        let path = guest.join(folder.strip_prefix(&host).ok()?).join(name);
        // Another directory may be granted in place of what this one has there.
        let covers = |other: &&Path| path.starts_with(other);
        let nearest = grants.iter().map(|&(_, guest)| guest).filter(covers).max_by_key(|at| at.components().count())?;
        (nearest == guest).then(|| (host.components().count(), path.components().collect()))
    });
    by_grant.max_by_key(|(depth, _)| *depth).map(|(_, path)| path)
}

//! How a directory is granted to a guest.

/// What a guest may do in a granted directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirAccess {
    /// Read what is there; changes fail with `EROFS`.
    ReadOnly,
    /// Everything that the host's user may.
    ReadWrite,
}

/// How a directory is granted; see [`crate::Builder::dir`].
///
/// ```
/// use riverrun_linux::{DirAccess, DirOptions, Linux};
///
/// let all = DirOptions::new(DirAccess::ReadOnly).crosses_mounts(true);
/// Linux::builder().dir("/usr", "/usr", DirAccess::ReadOnly)?.dir("/", "/host", all)?;
/// # Ok::<(), riverrun_linux::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirOptions {
    pub(crate) access: DirAccess,
    pub(crate) crosses_mounts: bool,
    pub(crate) outward_links: bool,
}

impl DirOptions {
    /// The directory as far as its own mount goes, and without new links that lead out of it.
    pub fn new(access: DirAccess) -> DirOptions {
        DirOptions { access, crosses_mounts: false, outward_links: false }
    }

    /// Whether other mounts within the directory are part of it. File systems of the kernel, such as procfs and
    /// sysfs, never are. Off by default: what lies in another mount fails with `EACCES`. A bind mount is another
    /// mount; a subvolume of the same mount is not.
    pub fn crosses_mounts(mut self, on: bool) -> DirOptions {
        self.crosses_mounts = on;
        self
    }

    /// Whether the guest may make symbolic links that lead out of the directory. The guest itself never gets out by
    /// them: it follows links in its own tree. Off by default, for the sake of others who use the directory: links
    /// whose target is absolute, has `..` but at its beginning, or has too many of them, fail with `EPERM`, whether
    /// they are made, moved or linked to.
    pub fn outward_links(mut self, on: bool) -> DirOptions {
        self.outward_links = on;
        self
    }
}

impl From<DirAccess> for DirOptions {
    fn from(access: DirAccess) -> DirOptions {
        DirOptions::new(access)
    }
}

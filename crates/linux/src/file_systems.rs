//! Distinguishes file systems that store files from views of the host's kernel (procfs, sysfs and the like). By the latter a
//! guest could read and change its host, so none is ever part of a granted directory.
//!
//! The decision is made by an open descriptor's own file system, not by a path.

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, Statx, StatxFlags, fstatfs, statx};
use rustix::io::Errno;

/// Views of the kernel, by the number that `statfs` gives.
const KERNEL: [(u32, &str); 36] = [
    (0x0000_0187, "autofs"),
    (0x0000_1cd1, "devpts"),
    (0x0000_9fa0, "procfs"),
    (0x0000_9fa1, "openpromfs"),
    (0x0000_9fa2, "usbfs"),
    (0x0027_e0eb, "cgroup"),
    (0x0765_5821, "resctrl"),
    (0x0904_1934, "anon_inodefs"),
    (0x1130_7854, "mtd_inodefs"),
    (0x1980_0202, "mqueue"),
    (0x4249_4e4d, "binfmt_misc"),
    (0x4341_5d53, "smackfs"),
    (0x444d_4142, "dma_buf"),
    (0x454d_444d, "devmem"),
    (0x5049_4446, "pidfs"),
    (0x5049_5045, "pipefs"),
    (0x5345_434d, "secretmem"),
    (0x534f_434b, "sockfs"),
    (0x5a3c_69f0, "apparmorfs"),
    (0x6165_676c, "pstore"),
    (0x6264_6576, "bdevfs"),
    (0x6265_6570, "configfs"),
    (0x6265_6572, "sysfs"),
    (0x6367_7270, "cgroup2"),
    (0x6462_6720, "debugfs"),
    (0x6573_5543, "fusectl"),
    (0x6759_6969, "rpc_pipefs"),
    (0x6c6f_6f70, "binderfs"),
    (0x6e66_7364, "nfsd"),
    (0x6e73_6673, "nsfs"),
    (0x7363_6673, "securityfs"),
    (0x7472_6163, "tracefs"),
    (0xabba_1974, "xenfs"),
    (0xcafe_4a11, "bpf"),
    (0xde5e_81e4, "efivarfs"),
    (0xf97c_ff8c, "selinuxfs"),
];

/// File systems of files that may say that they have no blocks.
const WITHOUT_BLOCKS: [u32; 6] = [
    0x0102_1994, // tmpfs without a limit
    0x8584_58f6, // ramfs
    0x6573_5546, // FUSE
    0x0102_1997, // 9p
    0x794c_7630, // overlayfs, which says what the file system below says
    0x6b41_4653, // AFS
];

/// The name of the kernel's file system that `fd` is in; `None` if it holds files.
///
/// Later kernels will have more views: a file system without blocks counts as one, unless it is known to store files.
pub(crate) fn kernel_file_system(fd: impl AsFd) -> Result<Option<&'static str>, Errno> {
    let status = fstatfs(fd)?;
    // The number has 32 bits; what it is kept in differs between machines.
    let number = status.f_type as u32;
    if let Some((_, name)) = KERNEL.into_iter().find(|&(kernel, _)| kernel == number) {
        return Ok(Some(name));
    }
    let holds_files = status.f_blocks != 0 || WITHOUT_BLOCKS.contains(&number);
    Ok((!holds_files).then_some("a file system without blocks"))
}

/// A mount as far as it can be told from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mount {
    /// The kernel's number for it. Subvolumes of one mount share it, a bind mount has its own.
    Number(u64),
    /// The device, from kernels before 5.8.
    Device(u32, u32),
}

/// Which file an inode number means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    device: (u32, u32),
    inode: u64,
}

/// What is decided by: where an open file is, which one, and what.
pub(crate) struct Place {
    pub(crate) mount: Mount,
    pub(crate) identity: Identity,
    /// The type bits of its mode.
    pub(crate) kind: u32,
}

impl Place {
    /// `fd` may be open for its path only.
    pub(crate) fn of(fd: impl AsFd) -> Result<Place, Errno> {
        let wanted = StatxFlags::TYPE | StatxFlags::INO | StatxFlags::MNT_ID;
        let status: Statx = statx(fd, c"", AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW, wanted)?;
        let device = (status.stx_dev_major, status.stx_dev_minor);
        let mount = match status.stx_mask & StatxFlags::MNT_ID.bits() {
            0 => Mount::Device(device.0, device.1),
            _ => Mount::Number(status.stx_mnt_id),
        };
        let kind = u32::from(status.stx_mode) & crate::abi::mode::TYPE;
        Ok(Place { mount, identity: Identity { device, inode: status.stx_ino }, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn views_of_the_kernel_are_told_from_files() {
        let name = |path: &str| kernel_file_system(File::open(path).unwrap()).unwrap();
        assert_eq!(name("/proc"), Some("procfs"));
        assert_eq!(name("/proc/self"), Some("procfs"));
        assert_eq!(name("/sys"), Some("sysfs"));
        assert_eq!(name("/dev/pts"), Some("devpts"));
        assert_eq!(name("/dev/shm"), None);
        assert_eq!(name(env!("CARGO_MANIFEST_DIR")), None);
        assert!(KERNEL.is_sorted() && KERNEL.iter().all(|(number, _)| !WITHOUT_BLOCKS.contains(number)));
    }

    #[test]
    fn mounts_are_told_apart() {
        let mount = |path: &str| Place::of(File::open(path).unwrap()).unwrap().mount;
        assert_ne!(mount("/"), mount("/proc"));
        assert_eq!(mount("/proc"), mount("/proc/self"));
    }
}

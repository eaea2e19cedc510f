//! Files: none without a grant, and nothing outside of what is granted.

use std::os::unix::fs::symlink;

use crate::common::{Ended, Folder, plain, riverrun};

/// A folder with `granted/inside`, `secret`, and links from the former to the latter.
struct Tree {
    folder: Folder,
    guest: std::path::PathBuf,
}

impl Tree {
    fn new() -> Tree {
        let folder = Folder::new();
        let guest = folder.guest("files.c", &[]);
        std::fs::create_dir(folder.path().join("granted")).unwrap();
        let secret = folder.file("secret", "do not read\n");
        folder.file("granted/inside", "for the guest\n");
        symlink(&secret, folder.path().join("granted/absolute-link")).unwrap();
        symlink("../secret", folder.path().join("granted/relative-link")).unwrap();
        symlink("..", folder.path().join("granted/up")).unwrap();
        symlink("inside", folder.path().join("granted/inner-link")).unwrap();
        Tree { folder, guest }
    }

    fn run(&self, access: &str, what: &str, path: &str) -> Ended {
        let grant = format!("{}/granted:/data{access}", self.folder.path().display());
        riverrun(args!["run", "--dir", grant, self.guest, what, path])
    }
}

#[test]
fn what_is_granted_can_be_used() {
    let tree = Tree::new();
    for path in ["/data/inside", "/data/inner-link", "/data/../data/./inside"] {
        let ended = tree.run("", "read", path);
        assert_eq!(ended.expect(0, &[]).stdout, "for the guest\n", "{path}");
    }
    tree.run("", "write", "/data/new").expect(0, &[]);
    assert_eq!(std::fs::read_to_string(tree.folder.path().join("granted/new")).unwrap(), "written\n");
}

#[test]
fn the_current_directory_is_given() {
    let tree = Tree::new();
    let grant = format!("{}/granted:/data", tree.folder.path().display());
    let read = |cwd: &str| riverrun(args!["run", "--dir", grant, "--cwd", cwd, tree.guest, "read", "inside"]);
    assert_eq!(read("/data").expect(0, &[]).stdout, "for the guest\n");
    read("/elsewhere").expect(1, &[]);
    read("data").expect(125, &["data"]);
}

#[test]
fn read_only_is_read_only() {
    let tree = Tree::new();
    assert_eq!(tree.run(":ro", "read", "/data/inside").expect(0, &[]).stdout, "for the guest\n");
    for path in ["/data/new", "/data/inside"] {
        let ended = tree.run(":ro", "write", path);
        assert_eq!(ended.expect(1, &[]).stdout, format!("{path}: Read-only file system\n"));
    }
    assert!(!tree.folder.path().join("granted/new").exists());
}

#[test]
fn nothing_else_can_be_reached() {
    let tree = Tree::new();
    let absolute = tree.folder.path().join("secret");
    for path in [
        "/data/../secret",
        "/data/../../../../../../../../etc/passwd",
        "/data/absolute-link",
        "/data/relative-link",
        "/data/up/secret",
        "/secret",
        "secret",
        "../secret",
        "/etc/passwd",
        "/proc/self/mem",
        "/proc/self/fd/99",
        "/proc/1/environ",
        absolute.to_str().unwrap(),
    ] {
        let read = tree.run("", "read", path);
        read.expect(1, &[]);
        assert!(read.stdout.starts_with(&format!("{path}: ")), "{read:?}");
        tree.run("", "write", path).expect(1, &[]);
    }
    assert_eq!(std::fs::read_to_string(absolute).unwrap(), "do not read\n");
}

#[test]
fn without_a_grant_there_are_no_files() {
    let tree = Tree::new();
    for path in ["/data/inside", "/etc/passwd", "inside"] {
        let ended = riverrun(args![tree.guest, "read", path]);
        assert_eq!(ended.expect(1, &[]).stdout, format!("{path}: No such file or directory\n"));
    }
}

#[test]
fn a_granted_root_has_no_view_of_the_kernel() {
    let tree = Tree::new();
    let read = |options: &str, path: &str| riverrun(args!["run", "-v", "--dir", options, tree.guest, "read", path]);
    let own = format!("/h{}", tree.folder.path().join("secret").display());
    assert_eq!(read("/:/h:ro", &own).expect(0, &[]).stdout, "do not read\n");
    for path in ["/h/proc/self/mem", "/h/proc/self/environ", "/h/proc/self/root/etc/passwd"] {
        for (options, reason) in [
            ("/:/h", "it is in another mount than the granted directory"),
            ("/:/h:ro", "it is in another mount than the granted directory"),
            ("/:/h:ro:mounts", "procfs is a file system of the kernel"),
        ] {
            let ended = read(options, path);
            ended.expect(1, &[&format!("\"/h/proc\" is refused: {reason}\n")]);
            assert_eq!(ended.stdout, format!("{path}: Permission denied\n"));
        }
    }
    let granted = riverrun(args!["run", "--dir", "/proc/self:/h", tree.guest, "read", "/h/environ"]);
    granted.expect(125, &["cannot grant the directory /proc/self: procfs is a file system of the kernel"]);
}

#[test]
fn a_read_only_directory_stays_so_within_a_writable_one() {
    let tree = Tree::new();
    let inner = tree.folder.path().join("granted/inner/most");
    std::fs::create_dir_all(&inner).unwrap();
    let outer = format!("{}/granted:/data", tree.folder.path().display());
    for (at, status) in [("/data/inner/most", "Read-only file system"), ("/data/not/there", "Read-only file system")] {
        let inner = format!("{}:{at}:ro", inner.display());
        let path = format!("{at}/new");
        let ended = riverrun(args!["run", "--dir", outer, "--dir", inner, tree.guest, "write", path]);
        assert_eq!(ended.expect(1, &[]).stdout, format!("{path}: {status}\n"));
    }
}

/// A folder with `sys`, a sysroot that has a program for which `usr/bin/alias` is another name.
fn sysroot() -> Folder {
    let folder = Folder::new();
    let guest = folder.guest("names.c", &["-dynamic"]);
    let within = |path: &str| folder.path().join("sys").join(path);
    std::fs::create_dir_all(within("usr/bin")).unwrap();
    std::fs::create_dir(within("lib")).unwrap();
    for library in ["ld-linux-riscv64-lp64d.so.1", "libc.so.6"] {
        std::fs::copy(format!("/usr/riscv64-linux-gnu/lib/{library}"), within("lib").join(library)).unwrap();
    }
    std::fs::rename(guest, within("usr/bin/names")).unwrap();
    symlink("names", within("usr/bin/alias")).unwrap();
    symlink("usr/bin", within("bin")).unwrap();
    folder
}

/// A program looks for its files beside its own, by its name and by `/proc/self/exe`: that is its path in the guest's tree.
#[test]
fn a_program_below_a_grant_has_its_path_there_as_its_name() {
    let folder = sysroot();
    let host = folder.path().canonicalize().unwrap();
    let expect = |options: &[&str], program: &str, names: &str| {
        let mut run = plain(std::iter::once(&"run").chain(options));
        let ended = Ended::from(run.current_dir(&host).arg(program).output().unwrap());
        assert_eq!(ended.expect(0, &[]).stdout, format!("{names}\n"), "{options:?} {program}");
    };
    let absolute = |path: &str| host.join(path).to_str().unwrap().to_owned();
    let (names, alias) =
        ("/usr/bin/names /usr/bin/names /usr/bin/names", "/usr/bin/alias /usr/bin/alias /usr/bin/names");
    expect(&["--sysroot", "sys"], "sys/usr/bin/names", names);
    expect(&["--sysroot", "sys"], "./sys/lib/../bin/names", names);
    expect(&["--sysroot", "sys"], "sys/usr/bin/alias", alias);
    expect(&["--sysroot", &absolute("sys")], &absolute("sys/usr/bin/alias"), alias);
    // By the innermost of what is granted, unless something else is granted in its place.
    let inner = ["--sysroot", "sys", "--dir", "sys/usr/bin:/programs/"];
    expect(&inner, "sys/usr/bin/names", "/programs/names /programs/names /programs/names");
    let hidden = ["--sysroot", "sys", "--dir", "sys/lib:/usr"];
    let as_given = "sys/usr/bin/names sys/usr/bin/names /sys/usr/bin/names";
    expect(&hidden, "sys/usr/bin/names", as_given);
    // What no grant reaches has the name that it was given.
    let outside = folder.path().join("names");
    std::fs::copy(folder.path().join("sys/usr/bin/names"), outside).unwrap();
    expect(&["--sysroot", "sys"], "./names", "./names ./names /names");
    expect(&["--sysroot", "sys"], "sys/../names", "sys/../names sys/../names /names");
}

//! Files and folders, and errors about them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

fn walk(folder: &Path, depth: usize) -> io::Result<()> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    entries.sort();
    for path in entries {
        let kind = fs::symlink_metadata(&path)?;
        println!(
            "{:depth$}{} {} {}",
            "",
            path.display(),
            kind.is_symlink(),
            if kind.is_file() { kind.len() } else { 0 }
        );
        if kind.is_dir() {
            walk(&path, depth + 1)?;
        }
    }
    Ok(())
}

fn main() -> io::Result<()> {
    fs::create_dir_all("rust-tree/a/b")?;
    let mut file = BufWriter::new(File::create("rust-tree/a/numbers")?);
    for n in 0..1000 {
        writeln!(file, "{n}")?;
    }
    file.into_inner()?.sync_all()?;
    fs::copy("rust-tree/a/numbers", "rust-tree/a/b/copy")?;
    std::os::unix::fs::symlink("a/numbers", "rust-tree/link")?;
    let mut file = OpenOptions::new().read(true).append(true).open("rust-tree/link")?;
    file.write_all(b"end")?;
    file.seek(SeekFrom::End(-8))?;
    let mut tail = String::new();
    file.read_to_string(&mut tail)?;
    println!("{tail:?}");
    file.set_len(10)?;
    walk(Path::new("rust-tree"), 0)?;

    let mut text = String::new();
    BufReader::new(File::open("rust-tree/a/b/copy")?).take(20).read_to_string(&mut text)?;
    println!("{}", text.replace('\n', ","));
    fs::rename("rust-tree/a/b/copy", "rust-tree/moved")?;
    println!("{:?}", fs::canonicalize("rust-tree/link")?.ends_with("rust-tree/a/numbers"));
    for error in [File::open("nowhere").err(), fs::remove_dir("rust-tree/a").err(), fs::create_dir("rust-tree").err()] {
        println!("{}", error.unwrap());
    }
    fs::remove_dir_all("rust-tree")?;
    println!("{}", Path::new("rust-tree").exists());
    Ok(())
}

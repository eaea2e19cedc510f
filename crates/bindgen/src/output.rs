//! Writes generated files.

use std::path::{Path, PathBuf};

use crate::description::Api;
use crate::error::{Error, Problem};
use crate::sdk;

impl Api {
    /// Writes the header and the assembler file for guests in C and C++, and gives their paths.
    ///
    /// # Errors
    /// If a file or the folder cannot be written.
    pub fn write_guest_c(&self, folder: impl AsRef<Path>) -> Result<[PathBuf; 2], Error> {
        let folder = folder.as_ref();
        let header = self.write(folder, ".h", &self.guest_c_header())?;
        Ok([header, self.write(folder, ".S", &self.guest_assembly())?])
    }

    /// Writes the module for guests in Rust, and gives its path.
    ///
    /// # Errors
    /// If the file or the folder cannot be written.
    pub fn write_guest_rust(&self, folder: impl AsRef<Path>) -> Result<PathBuf, Error> {
        self.write(folder.as_ref(), "_guest.rs", &self.guest_rust())
    }

    /// Writes the module for hosts in Rust, and gives its path.
    ///
    /// # Errors
    /// If the file or the folder cannot be written.
    pub fn write_host_rust(&self, folder: impl AsRef<Path>) -> Result<PathBuf, Error> {
        self.write(folder.as_ref(), "_host.rs", &self.host_rust())
    }

    /// Writes the header for hosts in C++, and gives its path.
    ///
    /// # Errors
    /// If the file or the folder cannot be written.
    pub fn write_host_cpp(&self, folder: impl AsRef<Path>) -> Result<PathBuf, Error> {
        self.write(folder.as_ref(), "_host.hpp", &self.host_cpp())
    }

    /// Writes a file named after the description. A file with the same contents is not touched, so that build systems do
    /// not rebuild.
    fn write(&self, folder: &Path, suffix: &str, text: &str) -> Result<PathBuf, Error> {
        let stem = self.file.file_stem().unwrap_or_else(|| "api".as_ref());
        let mut name = stem.to_owned();
        name.push(suffix);
        let path = folder.join(name);
        match sdk::replace(&path, text.as_bytes()) {
            Ok(()) => Ok(path),
            Err(error) => {
                let problem = Box::new(Problem::Io(error));
                Err(Error { file: path, place: None, subject: None, problem })
            }
        }
    }
}

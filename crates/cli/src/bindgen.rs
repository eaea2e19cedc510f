//! `riverrun bindgen`: makes the two sides of an API from its description.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use lexopt::Arg::{Long, Short, Value};
use lexopt::Parser;
use riverrun_bindgen::Api;

use crate::Result;

const HELP: &str = "\
riverrun bindgen [OPTIONS] API.json

Makes stubs and registrations from a description of an API, in folders that may be the same.

  --guest-c FOLDER     for guests in C and C++: API.h, and API.S to link with
  --guest-rust FOLDER  for guests in Rust: API_guest.rs
  --host-rust FOLDER   for hosts in Rust: API_host.rs
  --host-cpp FOLDER    for hosts in C++: API_host.hpp
";

/// `riverrun bindgen ARGUMENTS`.
pub(crate) fn bindgen(arguments: &[OsString]) -> Result<ExitCode> {
    let mut parser = Parser::from_args(arguments);
    let mut description = None;
    let (mut guest_c, mut guest_rust, mut host_rust, mut host_cpp) = (None, None, None, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("guest-c") => guest_c = Some(PathBuf::from(parser.value()?)),
            Long("guest-rust") => guest_rust = Some(PathBuf::from(parser.value()?)),
            Long("host-rust") => host_rust = Some(PathBuf::from(parser.value()?)),
            Long("host-cpp") => host_cpp = Some(PathBuf::from(parser.value()?)),
            Long("help") | Short('h') => return crate::print(HELP),
            Value(file) if description.is_none() => description = Some(PathBuf::from(file)),
            Value(file) => return Err(format!("{}: bindgen takes one description", file.display()).into()),
            other => return Err(format!("{}; riverrun bindgen --help lists the options", other.unexpected()).into()),
        }
    }
    let description = description.ok_or("no description given; say riverrun bindgen [OPTIONS] API.json")?;
    if [&guest_c, &guest_rust, &host_rust, &host_cpp].iter().all(|folder| folder.is_none()) {
        return Err("say what to make, and where; riverrun bindgen --help lists the options".into());
    }
    let api = Api::read(description)?;
    if let Some(folder) = &guest_c {
        api.write_guest_c(folder)?;
    }
    if let Some(folder) = &guest_rust {
        api.write_guest_rust(folder)?;
    }
    if let Some(folder) = &host_rust {
        api.write_host_rust(folder)?;
    }
    if let Some(folder) = &host_cpp {
        api.write_host_cpp(folder)?;
    }
    Ok(ExitCode::SUCCESS)
}

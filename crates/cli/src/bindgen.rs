//! `riverrun bindgen`: generates both sides of an API from its description.

use std::path::PathBuf;
use std::process::ExitCode;

use riverrun_bindgen::Api;

use crate::Result;

/// Make stubs and registrations from a description of an API, in folders that may be the same.
#[derive(Debug, clap::Args)]
#[command(args_override_self = true)]
pub(crate) struct BindgenOptions {
    /// The description.
    #[arg(value_name = "API.json")]
    description: PathBuf,
    #[command(flatten)]
    folders: Folders,
}

/// What to make, and where.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true)]
struct Folders {
    /// For guests in C and C++: API.h, and API.S to link with.
    #[arg(long, value_name = "FOLDER")]
    guest_c: Option<PathBuf>,
    /// For guests in Rust: API_guest.rs.
    #[arg(long, value_name = "FOLDER")]
    guest_rust: Option<PathBuf>,
    /// For hosts in Rust: API_host.rs.
    #[arg(long, value_name = "FOLDER")]
    host_rust: Option<PathBuf>,
    /// For hosts in C++: API_host.hpp.
    #[arg(long, value_name = "FOLDER")]
    host_cpp: Option<PathBuf>,
}

/// `riverrun bindgen`.
pub(crate) fn bindgen(options: &BindgenOptions) -> Result<ExitCode> {
    let api = Api::read(&options.description)?;
    let folders = &options.folders;
    if let Some(folder) = &folders.guest_c {
        api.write_guest_c(folder)?;
    }
    if let Some(folder) = &folders.guest_rust {
        api.write_guest_rust(folder)?;
    }
    if let Some(folder) = &folders.host_rust {
        api.write_host_rust(folder)?;
    }
    if let Some(folder) = &folders.host_cpp {
        api.write_host_cpp(folder)?;
    }
    Ok(ExitCode::SUCCESS)
}

use std::process::{Command, exit};

/// Makes the guest in OUT_DIR.
fn main() {
    println!("cargo::rerun-if-changed=guest");
    let mut go = Command::new("go");
    go.current_dir("guest").args(["build", "-o"]).arg(format!("{}/guest", std::env::var("OUT_DIR").expect("Cargo sets it")));
    match go.envs([("GOOS", "linux"), ("GOARCH", "riscv64"), ("CGO_ENABLED", "0")]).status() {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!("go build failed ({status})")),
        Err(error) => fail(&format!("cannot run go ({error}): install Go 1.22 or newer, https://go.dev/dl")),
    }
}

fn fail(what: &str) -> ! {
    eprintln!("{what}");
    exit(1)
}

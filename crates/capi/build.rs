//! Gives the shared library the name that programs linked with it ask for, and keeps to itself what the linker
//! makes of the interpreter's section.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libriverrun.so.0,-z,start-stop-visibility=hidden");
}

//! Compiles the rows in C and C++.

use std::env;

use cc::Build;

fn main() {
    let include = "../../../crates/capi/include";
    println!("cargo::rerun-if-changed=c");
    println!("cargo::rerun-if-changed={include}");
    rows("c/rows.c").include(include).std("c11").compile("rows_c");
    rows("c/rows.cpp").cpp(true).include(include).std("c++17").compile("rows_cpp");
    if env::var_os("CARGO_FEATURE_WASMTIME_C").is_some() {
        let include =
            env::var_os("DEP_WASMTIME_C_API_INCLUDE").expect("wasmtime-c-api-impl says where its headers are");
        rows("c/wasmtime.c").include(include).std("c11").compile("rows_wasmtime");
    }
}

/// How all rows are compiled: what calls, and what is called, begin with a line of the cache, lest it be chance what one
/// of them gains by that.
fn rows(file: &str) -> Build {
    let mut build = Build::new();
    build.file(file).opt_level(2).flag("-falign-functions=64").flag("-falign-loops=64");
    build
}

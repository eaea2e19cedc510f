//! Compiles the rows in C and C++.

use std::env;

fn main() {
    let include = "../../../crates/capi/include";
    println!("cargo::rerun-if-changed=c");
    println!("cargo::rerun-if-changed={include}");
    cc::Build::new().file("c/rows.c").include(include).std("c11").opt_level(2).compile("rows_c");
    cc::Build::new().cpp(true).file("c/rows.cpp").include(include).std("c++17").opt_level(2).compile("rows_cpp");
    if env::var_os("CARGO_FEATURE_WASMTIME_C").is_some() {
        let include =
            env::var_os("DEP_WASMTIME_C_API_INCLUDE").expect("wasmtime-c-api-impl says where its headers are");
        cc::Build::new().file("c/wasmtime.c").include(include).std("c11").opt_level(2).compile("rows_wasmtime");
    }
}

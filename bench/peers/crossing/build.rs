//! Compiles the rows in C and C++.

fn main() {
    let include = "../../../crates/capi/include";
    println!("cargo::rerun-if-changed=c");
    println!("cargo::rerun-if-changed={include}");
    cc::Build::new().file("c/rows.c").include(include).std("c11").opt_level(2).compile("rows_c");
    cc::Build::new().cpp(true).file("c/rows.cpp").include(include).std("c++17").opt_level(2).compile("rows_cpp");
}

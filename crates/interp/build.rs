//! Chooses how handlers go on: by tail calls, which LLVM makes of calls in tail position wherever
//! it optimises, or else by returning to a trampoline.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(trampoline)");
    let debug = std::env::var_os("CARGO_CFG_DEBUG_ASSERTIONS").is_some();
    let unoptimised = std::env::var("OPT_LEVEL").is_ok_and(|level| level == "0");
    if debug || unoptimised {
        println!("cargo::rustc-cfg=trampoline");
    }
}

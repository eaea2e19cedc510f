//! Chooses how handlers go on: by tail calls, which LLVM makes of calls in tail position wherever
//! it optimises, or else by returning to a trampoline (`trampoline`); and whether those that are
//! written by hand, which count and make tail calls, are there (`by_hand`).

fn main() {
    println!("cargo::rustc-check-cfg=cfg(trampoline, by_hand)");
    let debug = std::env::var_os("CARGO_CFG_DEBUG_ASSERTIONS").is_some();
    let unoptimised = std::env::var("OPT_LEVEL").is_ok_and(|level| level == "0");
    if debug || unoptimised {
        println!("cargo::rustc-cfg=trampoline");
        return;
    }
    let is_x86_64 = std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "x86_64");
    let is_unix = std::env::var_os("CARGO_CFG_UNIX").is_some();
    let counts = std::env::var_os("CARGO_FEATURE_UNCOUNTED").is_none();
    if is_x86_64 && is_unix && counts {
        println!("cargo::rustc-cfg=by_hand");
    }
}

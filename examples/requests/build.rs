//! Compiles the plugin twice: as a guest, and for the host, to compare with.

use riverrun_bindgen::Guest;

const SOURCE: &str = "guest/plugin.cpp";

fn main() {
    Guest::new("plugin").source(SOURCE).build_or_exit();
    // As guests are optimised.
    cc::Build::new().cpp(true).std("c++17").opt_level(2).file(SOURCE).compile("plugin");
}

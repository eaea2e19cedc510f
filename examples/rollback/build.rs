//! Compiles the rules.

use riverrun_bindgen::{Guest, Library};

fn main() {
    Guest::new("paint").library(Library::None).source("guest/paint.cpp").build_or_exit();
}

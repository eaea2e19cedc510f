//! Makes the renderer and, from the description of its API, the bindings of both sides.

use riverrun_bindgen::{Guest, Library};

fn main() {
    Guest::new("console").library(Library::None).api("api.json").source("guest/console.c").build_or_exit();
}

//! Makes the script and, from the description of the API, the bindings of both sides.

use riverrun_bindgen::{Guest, Library};

fn main() {
    Guest::new("script").library(Library::None).api("api.json").source("guest/main.cpp").build_or_exit();
}

use riverrun_bindgen::{Guest, Library};

fn main() {
    // Makes the guest and, from the description of the API, the bindings of both sides in OUT_DIR.
    Guest::new("guest").library(Library::None).api("api.json").source("guest/main.cpp").build_or_exit(); // @bare
    Guest::new("guest").library(Library::Libc).api("api.json").source("guest/main.cpp").build_or_exit(); // @libc
}

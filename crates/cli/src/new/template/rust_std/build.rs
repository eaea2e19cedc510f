use riverrun_bindgen::Guest;

fn main() {
    // Makes the guest and, from the description of the API, the bindings of both sides in OUT_DIR.
    Guest::new("guest").api("api.json").std_package("guest").build_or_exit();
}

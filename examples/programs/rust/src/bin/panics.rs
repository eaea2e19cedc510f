//! Panics that are caught, with their messages, and a program that ends by one.

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

struct Guard<'a>(&'a str);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        println!("dropped {}, panicking {}", self.0, std::thread::panicking());
    }
}

fn main() -> ExitCode {
    panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let text = payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied());
        println!("hook: {text:?} line {}", info.location().map_or(0, |place| place.line()));
    }));
    let (none, zero, values) = (None::<u8>, std::hint::black_box(0), vec![1, 2]);
    let attempts: [(&str, Box<dyn Fn() -> i32>); 6] = [
        ("index", Box::new(|| values[zero as usize + 2])),
        ("divide", Box::new(|| 1 / zero)),
        ("unwrap", Box::new(|| none.unwrap().into())),
        ("slice", Box::new(|| i32::from("é".split_at(zero as usize + 1).0.len() == 1))),
        ("overflow", Box::new(|| (i32::MAX - zero).checked_add(1).expect("too large"))),
        ("fine", Box::new(|| 7)),
    ];
    for (name, attempt) in &attempts {
        let _guard = Guard(name);
        match panic::catch_unwind(AssertUnwindSafe(attempt)) {
            Ok(value) => println!("{name}: {value}"),
            Err(_) => println!("{name}: caught"),
        }
    }
    let again = panic::catch_unwind(|| {
        let _guard = Guard("outer");
        panic::resume_unwind(Box::new(5u8))
    });
    println!("{:?}", again.unwrap_err().downcast_ref::<u8>());
    let _guard = Guard("last");
    ExitCode::from(zero as u8 + 4)
}

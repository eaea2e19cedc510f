//! Mangled names to readable ones.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// The name as its author wrote it: C++ (Itanium ABI) and Rust names are demangled, all others
/// come back as they are.
///
/// A few bytes of a hostile name can stand for gigabytes of text; names whose readable form is
/// longer than 4 KiB stay mangled.
///
/// ```
/// use riverrun_program::demangle;
///
/// assert_eq!(demangle("_ZN4game6Player4moveEff"), "game::Player::move(float, float)");
/// assert_eq!(demangle("_RNvC6_123foo3bar"), "123foo::bar");
/// assert_eq!(demangle("main"), "main");
/// ```
pub fn demangle(name: &str) -> Cow<'_, str> {
    const MANGLED_BYTES_MAX: usize = 16 << 10;

    if !name.starts_with('_') || name.len() > MANGLED_BYTES_MAX {
        return Cow::Borrowed(name);
    }
    let mut readable = Bounded::default();
    let written = if let Ok(rust) = rustc_demangle::try_demangle(name) {
        write!(readable, "{rust:#}")
    } else if let Ok(cpp) = cpp_demangle::Symbol::new(name) {
        cpp.structured_demangle(&mut readable, &cpp_demangle::DemangleOptions::new())
    } else {
        Err(fmt::Error)
    };
    written.map_or(Cow::Borrowed(name), |()| Cow::Owned(readable.text))
}

/// Characters of a name that are shown at most.
const SHOWN: usize = 16 << 10;

/// Text of a guest's on a line of ours: control characters, which begin lines or command a terminal, are escaped. A tab
/// stays. Of a very long text, the beginning is shown.
///
/// ```
/// use riverrun_program::Printable;
///
/// assert_eq!(Printable("main\n\u{1b}[2J").to_string(), r"main\n\u{1b}[2J");
/// assert_eq!(Printable(&"x".repeat(1 << 20)).to_string().len(), (16 << 10) + 2);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Printable<'a>(pub &'a str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, rest) = match self.0.char_indices().nth(SHOWN) {
            Some((end, _)) => (&self.0[..end], ".."),
            None => (self.0, ""),
        };
        shown.chars().try_for_each(|c| match c.is_control() && c != '\t' {
            true => write!(f, "{}", c.escape_default()),
            false => f.write_char(c),
        })?;
        f.write_str(rest)
    }
}

/// A string that refuses to grow beyond all measure.
#[derive(Default)]
struct Bounded {
    text: String,
}

impl Write for Bounded {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        const READABLE_BYTES_MAX: usize = 4 << 10;

        if self.text.len() + more.len() > READABLE_BYTES_MAX {
            return Err(fmt::Error);
        }
        self.text.push_str(more);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // `cpp_demangle` compares trait objects by address, which is not one for each type under Miri: it drops parameters.
    #[test]
    #[cfg_attr(miri, ignore = "depends on the addresses of vtables, which Miri makes many")]
    fn hostile_names_stay_mangled() {
        // Every parameter is a pair of the one before: 2^n names.
        let name = |parameters: u32| {
            let mut name = String::from("_Z1f1S1PIS_S_E");
            for last in 0..parameters {
                let _ = write!(name, "S0_IS{0}_S{0}_E", last + 1);
            }
            name
        };
        assert_eq!(demangle(&name(0)), "f(S, P<S, S>)");
        assert_eq!(demangle(&name(1)), "f(S, P<S, S>, P<P<S, S>, P<S, S> >)");
        assert!(demangle(&name(6)).len() > 1000);
        assert_eq!(demangle(&name(30)), name(30));
        let long = format!("_Z{}{}v", 20_000, "x".repeat(20_000));
        assert_eq!(demangle(&long), long);
    }

    #[test]
    fn rust_names_lose_their_hash() {
        let name = "_ZN4core9panicking9panic_fmt17h0123456789abcdefE";
        assert_eq!(demangle(name), "core::panicking::panic_fmt");
    }
}

//! Enums have the types, and their constants the values, that compilers of C and C++ give them.

use std::fmt::Write;
use std::fs;
use std::process::Command;

use crate::common::{folder, run};
use riverrun_bindgen::Api;

/// The Rust type of an enum with these constants, and the length of an array that has the low bits of the last.
fn read(constants: &str, last: &str) -> Result<(String, String), String> {
    let text = format!(
        "{{ \"typedef\": \"typedef enum {{ {constants} }} E\", \"a\": \"void sys_a (E e, char v[{}])\" }}",
        bits(last)
    );
    let host = Api::parse("api.json", &text).map_err(|error| error.to_string())?.host_rust();
    let (_, arguments) = host.split_once("'_, Self>, e: ").unwrap();
    let (ty, rest) = arguments.split_once(", v: riverrun::Ptr<[u8; ").unwrap();
    Ok((ty.to_owned(), rest.split_once(']').unwrap().0.to_owned()))
}

fn bits(constant: &str) -> String {
    format!("({constant} & 0xfffffff) | 0x10000000")
}

/// Adds to a source that an enum is what it was read as. The constants end in `number`.
fn asserted(constants: &str, last: &str, number: usize, source: &mut String) -> Result<(), String> {
    let (ty, length) = read(constants, last)?;
    let c = match &*ty {
        "i32" => "int",
        "u32" => "unsigned",
        "i64" => "long",
        "u64" => "unsigned long",
        _ => panic!("{constants}: {ty}"),
    };
    let value = bits(last);
    writeln!(
        source,
        "typedef enum {{ {constants} }} E{number};\nIS(E{number}, {c});\nstatic_assert(({value}) == {length}, \"\");"
    )
    .unwrap();
    Ok(())
}

/// Compiles the source in both languages by both compilers.
fn compile(source: &str) {
    let folder = folder();
    let file = folder.path().join("enums.c");
    let prelude = "#ifdef __cplusplus\n\
                   #define IS(e, t) static_assert(__is_same(__underlying_type(e), t), \"\")\n#else\n\
                   #define static_assert _Static_assert\n\
                   #define IS(e, t) _Static_assert(_Generic((e)0, t: 1, default: 0), \"\")\n#endif\n";
    fs::write(&file, format!("{prelude}{source}")).unwrap();
    for (compiler, flags) in [
        ("riscv64-linux-gnu-gcc", &["-std=gnu11"][..]),
        ("riscv64-linux-gnu-gcc", &["-std=gnu2x"]),
        ("riscv64-linux-gnu-g++", &["-std=gnu++17", "-xc++"]),
        ("clang-22", &["--target=riscv64-linux-gnu", "-std=gnu11"]),
        ("clang-22", &["--target=riscv64-linux-gnu", "-std=gnu23", "-Dstatic_assert=_Static_assert"]),
        ("clang++-22", &["--target=riscv64-linux-gnu", "-std=gnu++17", "-xc++"]),
    ] {
        run(Command::new(compiler).args(flags).args(["-w", "-fsyntax-only"]).arg(&file));
    }
}

#[test]
fn enums_have_the_types_that_compilers_give_them() {
    let mut source = String::new();
    for (number, (constants, expected)) in [
        ("LAST#", "u32"),
        ("A# = -1, LAST#", "i32"),
        ("LAST# = ~0", "i32"),
        ("LAST# = 1 - 2", "i32"),
        ("LAST# = (-1)", "i32"),
        ("A# = 3, LAST# = A# - 4", "i32"),
        ("LAST# = -0", "u32"),
        ("LAST# = 1 << 31", "i32"),
        ("LAST# = 1u << 31", "u32"),
        ("LAST# = 0xffffffff", "u32"),
        ("A# = -1, LAST# = 0xffffffff", "i64"),
        ("SMALL# = 1, LAST# = 0x100000000", "u64"),
        ("LAST# = -2147483648", "i32"),
        ("LAST# = -2147483649", "i64"),
        ("LAST# = 1ull << 63", "u64"),
        ("LAST# = 1l << 63", "i64"),
        ("A# = 0x80000000, LAST#", "u32"),
        ("A# = 0x100000000, LAST#", "u64"),
        ("A# = -0x100000000, LAST#", "i64"),
        ("LAST# = ~0u", "u32"),
        ("LAST# = ~0ul", "u64"),
        ("LAST# = -1 < 0u", "u32"),
        ("LAST# = -1 < 0", "u32"),
        ("A# = 'a', LAST# = '\\\\n' - A#", "i32"),
        ("LAST# = (int)0x80000000", "i32"),
        ("LAST# = (signed char)0xff", "i32"),
        ("LAST# = (uint8_t)0x1ff", "u32"),
        ("LAST# = sizeof(long) - 9", "u64"),
        ("LAST# = sizeof(void *) * 8 == 64 ? -1 : 1", "i32"),
        ("LAST# = 0777777777777", "u64"),
        ("LAST# = 0b11 ^ 07 | 1 % 2 && !0", "u32"),
        ("LAST# = -7 / 2 * 2 + -7 % 2", "i32"),
        ("LAST# = -1 >> 1", "i32"),
        ("LAST# = 0xffffffffffffffff * 0xffffffffffffffff", "u32"),
    ]
    .into_iter()
    .enumerate()
    {
        let [numbered, last] = [constants, "LAST#"].map(|text| text.replace('#', &number.to_string()));
        assert_eq!(read(&numbered, &last).as_ref().map(|(ty, _)| &**ty), Ok(expected), "{constants}");
        asserted(&numbered, &last, number, &mut source).unwrap();
    }
    compile(&source.replace("\\\\n", "\\n").replace("uint8_t", "unsigned char"));
}

/// The values are those of compilers, or refused.
#[test]
fn random_enums_have_the_types_that_compilers_give_them() {
    let mut random = Random(1);
    let (mut source, mut taken) = (String::new(), 0);
    for number in 0..3000 {
        let mut constants = String::new();
        let mut names: Vec<String> = Vec::new();
        for letter in ["a", "b", "c"] {
            let name = format!("{letter}{number}");
            match random.below(4) {
                0 => write!(constants, "{name}, ").unwrap(),
                _ => write!(constants, "{name} = {}, ", random.expression(&names, 3)).unwrap(),
            }
            names.push(name);
        }
        match asserted(&constants, &names[2], number, &mut source) {
            Ok(()) => taken += 1,
            Err(error) => assert!(error.contains("unsupported: "), "{error}"),
        }
    }
    assert!(taken > 1000, "{taken}");
    compile(&source);
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }

    fn expression(&mut self, names: &[String], depth: u32) -> String {
        const NUMBERS: [&str; 14] = [
            "0",
            "1",
            "2u",
            "3l",
            "4ul",
            "5ll",
            "0x7fffffff",
            "0x80000000",
            "2147483648",
            "0xffffffff",
            "1u",
            "077",
            "30",
            "0x7fffffffffffffff",
        ];
        const OPERATORS: [&str; 18] =
            ["+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "<", ">", "<=", ">=", "==", "!=", "&&", "||"];
        match self.below(if depth == 0 { 2 } else { 8 }) {
            0 => self.one(&NUMBERS).to_owned(),
            1 if names.is_empty() => self.one(&NUMBERS).to_owned(),
            1 => names[self.below(names.len() as u64) as usize].clone(),
            2 => format!("{}({})", self.one(&["-", "~", "!", "+"]), self.expression(names, depth - 1)),
            3 => {
                let ty = self.one(&["char", "signed char", "short", "unsigned", "int", "long", "unsigned long"]);
                format!("({ty})({})", self.expression(names, depth - 1))
            }
            4 => {
                let [a, b, c] = [0; 3].map(|_| self.expression(names, depth - 1));
                format!("({a} ? {b} : {c})")
            }
            _ => {
                let [a, b] = [0; 2].map(|_| self.expression(names, depth - 1));
                format!("({a} {} {b})", self.one(&OPERATORS))
            }
        }
    }
}

#[test]
fn constants_of_earlier_enums_have_their_types() {
    let wide = "enum { NEAR = 1, FAR = 0x100000000 }";
    let typed = |second: &str| {
        let text =
            format!("{{ \"typedef\": [\"{wide}\", \"typedef enum {{ {second} }} E\"], \"a\": \"void sys_a (E e)\" }}");
        Api::parse("api.json", &text).map(|api| api.host_rust().contains("e: u64")).map_err(|error| error.to_string())
    };
    assert_eq!(typed("LAST = FAR + NEAR"), Ok(true));
    assert_eq!(typed("LAST = NEAR + 1"), Ok(false));
    // GCC takes NEAR for an int, clang does not.
    let error = typed("LAST = NEAR - 2").unwrap_err();
    assert!(error.contains("is not the same in all versions of C and C++"), "{error}");
}

#[test]
fn enums_without_one_meaning_are_refused() {
    for (constants, said) in [
        ("A = 1u, LAST = A - 2", "is not the same in all versions of C and C++"),
        ("A = -1, LAST = 0xffffffffffffffff", "no type of integers has all the values"),
        ("A = 0x7fffffff, LAST", "the value of `LAST` in"),
        ("LAST = 0x7fffffff + 1", "overflows its type"),
        ("LAST = -1 << 3", "a shift in"),
        ("LAST = 1 << 32", "a shift in"),
        ("LAST = 1 / 0", "a division by zero in"),
        ("LAST = 18446744073709551616", "the number 18446744073709551616"),
        ("LAST = OTHER", "`OTHER` in"),
        ("LAST = 1.5", "an expression in"),
        ("LAST = 'ab'", "an expression in"),
        ("LAST = sizeof LAST", "an expression in"),
    ] {
        let error = read(constants, "LAST").unwrap_err();
        assert!(error.starts_with("api.json:1:14: typedef: unsupported: ") && error.contains(said), "{error}");
        assert!(error.contains("\n  help: "), "{error}");
    }
}

/// What changes the type is not read over, and what is too deep for the parser does not end the process.
#[test]
fn odd_enums_are_refused() {
    for typedef in [
        "typedef enum __attribute__((packed)) { A } E".to_owned(),
        "typedef enum { A } __attribute__((packed)) E".to_owned(),
        "typedef enum E : long { A } E".to_owned(),
        format!("typedef enum {{ A = {}1 }} E", "~".repeat(16_000)),
        format!("typedef enum {{ A = {}1 }} E", "- ".repeat(8_000)),
    ] {
        let text = format!("{{ \"typedef\": \"{typedef}\", \"a\": \"void sys_a (E e)\" }}");
        let error = Api::parse("api.json", &text).map(|api| api.host_rust()).unwrap_err().to_string();
        assert!(error.starts_with("api.json:1:14: typedef: "), "{error}");
    }
    let sum = |count: usize| format!("LAST = {}", vec!["1"; count].join("+"));
    assert_eq!(read(&sum(300), "LAST").unwrap().1, (300 | 0x1000_0000).to_string());
    let error = read(&sum(5_000), "LAST").unwrap_err();
    assert!(error.contains("it is too long, or too deeply nested"), "{error}");
    let long: String = (0..1000).map(|number| format!("A{number} = -1, ")).collect();
    assert_eq!(read(&format!("{long}LAST"), "LAST").unwrap().0, "i32");
}

#[test]
fn constants_are_lengths_of_arrays() {
    let text = r#"{ "typedef": ["enum { SIDE = 4 }", "typedef struct { int at[SIDE * SIDE]; } Board"],
                    "a": "void sys_a (Board *board, float m[SIDE][SIDE])" }"#;
    let api = Api::parse("api.json", text).unwrap();
    let host = api.host_rust();
    assert!(host.contains("pub at: [i32; 16],") && host.contains("m: riverrun::Ptr<[[f32; 4]; 4]>"), "{host}");
    assert!(api.guest_c_header().contains("float (*m)[4]"));
}

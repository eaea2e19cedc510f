//! Many arguments cross in both directions: integers, floats and small structs in every order, of each kind more than
//! there are registers for. Compilers, generated bindings and hosts agree on the place of each.

use std::fmt::Write;
use std::fs;

use crate::common::{Build, COMPILERS, folder};
use riverrun::bytemuck::{Pod, Zeroable};
use riverrun::{Config, Func, Linker, Machine};
use riverrun_bindgen::Api;
use riverrun_testkit::suite::SuiteEngine;

/// A type of arguments.
trait Sample: Copy {
    /// In C.
    const C: &str;
    /// The fields of a struct.
    const FIELDS: &[&str] = &[];

    /// The argument with this number.
    fn sample(number: u32) -> Self;

    /// Its fields, or itself.
    fn numbers(self) -> Vec<f64>;
}

macro_rules! numbers {
    ($($type:ident $c:literal)*) => {
        $(impl Sample for $type {
            const C: &str = $c;

            fn sample(number: u32) -> $type {
                number as $type
            }

            fn numbers(self) -> Vec<f64> {
                vec![self as f64]
            }
        })*
    };
}

numbers! { i8 "signed char" i32 "int" i64 "long" u32 "unsigned" f32 "float" f64 "double" }

macro_rules! structs {
    ($($name:ident { $($field:ident: $type:ident $times:literal),* })*) => {
        $(
            #[repr(C)]
            #[derive(Clone, Copy, Pod, Zeroable)]
            #[bytemuck(crate = "riverrun::bytemuck")]
            struct $name {
                $($field: $type,)*
            }
            riverrun::by_value!($name { $($field: $type),* });

            impl Sample for $name {
                const C: &str = stringify!($name);
                const FIELDS: &[&str] = &[$(stringify!($field)),*];

                fn sample(number: u32) -> $name {
                    $name { $($field: (number * $times) as $type),* }
                }

                fn numbers(self) -> Vec<f64> {
                    vec![$(self.$field as f64),*]
                }
            }
        )*

        const TYPEDEFS: &[(&str, &[(&str, &str)])] =
            &[$((stringify!($name), &[$((<$type as Sample>::C, stringify!($field))),*])),*];
    };
}

structs! {
    F { x: f32 1 }
    D { x: f64 1 }
    FF { x: f32 1, y: f32 3 }
    DD { x: f64 1, y: f64 3 }
    FI { x: f32 1, y: i32 3 }
    IF { x: i32 1, y: f32 3 }
    LD { x: i64 1, y: f64 3 }
}

/// A function, whose text in C has the sum of its arguments.
struct Crowd {
    name: &'static str,
    /// The types of its parameters, and the fields of those that are structs.
    types: Vec<(&'static str, &'static [&'static str])>,
    link: fn(&mut Linker<()>),
    /// The signature that hosts have, and what the guest's function returns.
    signature: fn() -> String,
    call: fn(&mut Machine<()>) -> f64,
    expected: f64,
}

/// Each number counts otherwise.
fn weighed(numbers: Vec<f64>) -> f64 {
    numbers.iter().zip(1..).map(|(number, weight)| number * f64::from(weight)).sum()
}

macro_rules! crowds {
    ($($name:ident: $($type:ident)*;)*) => {
        vec![$(crowd!($name [] [$($type)*] [a b c d e f g h i j k l m n o p])),*]
    };
}

/// Names the parameters.
macro_rules! crowd {
    ($name:ident [$($done:tt)*] [$type:ident $($types:ident)*] [$argument:ident $($arguments:ident)*]) => {
        crowd!($name [$($done)* ($argument $type)] [$($types)*] [$($arguments)*])
    };
    ($name:ident [$(($argument:ident $type:ident))*] [] [$($rest:ident)*]) => {{
        fn samples() -> ($($type,)*) {
            let mut number = 0;
            $(
                number += 1;
                let $argument = $type::sample(number);
            )*
            ($($argument,)*)
        }
        fn sum(($($argument,)*): ($($type,)*)) -> f64 {
            weighed([$($argument.numbers()),*].concat())
        }
        Crowd {
            name: stringify!($name),
            types: vec![$(($type::C, $type::FIELDS)),*],
            link: |linker| {
                linker.func(stringify!($name), |$($argument: $type),*| sum(($($argument,)*))).unwrap();
            },
            signature: || Func::<($($type,)*), f64>::signature().to_string(),
            call: |machine| {
                let function = machine.func::<($($type,)*), f64>(stringify!($name)).unwrap();
                function.call(machine, samples()).unwrap()
            },
            expected: sum(samples()),
        }
    }};
}

/// Nine integers and each struct, nine floats and each struct, each struct where the last registers are, and random
/// ones.
fn crowds() -> Vec<Crowd> {
    crowds! {
        c0: i64 i64 i64 i64 i64 i64 i64 i64 i64 F f32;
        c1: i64 i64 i64 i64 i64 i64 i64 i64 i64 D f32;
        c2: i64 i64 i64 i64 i64 i64 i64 i64 i64 FF f32;
        c3: i64 i64 i64 i64 i64 i64 i64 i64 i64 FI f32;
        c4: i64 i64 i64 i64 i64 i64 i64 i64 i64 IF f32;
        c5: i64 i64 i64 i64 i64 i64 i64 i64 i64 LD f32;
        c6: i64 i64 i64 i64 i64 i64 i64 i64 i64 DD f32;
        c7: f64 f64 f64 f64 f64 f64 f64 f64 f64 F i32;
        c8: f64 f64 f64 f64 f64 f64 f64 f64 f64 D i32;
        c9: f64 f64 f64 f64 f64 f64 f64 f64 f64 FF i32;
        c10: f64 f64 f64 f64 f64 f64 f64 f64 f64 FI i32;
        c11: f64 f64 f64 f64 f64 f64 f64 f64 f64 IF i32;
        c12: f64 f64 f64 f64 f64 f64 f64 f64 f64 LD i32;
        c13: f64 f64 f64 f64 f64 f64 f64 f64 f64 DD i32;
        c14: i64 i64 i64 i64 i64 i64 i64 F u32 F;
        c15: i64 i64 i64 i64 i64 i64 i64 D u32 D;
        c16: i64 i64 i64 i64 i64 i64 i64 FF u32 FF;
        c17: i64 i64 i64 i64 i64 i64 i64 FI u32 FI;
        c18: i64 i64 i64 i64 i64 i64 i64 IF u32 IF;
        c19: i64 i64 i64 i64 i64 i64 i64 LD u32 LD;
        c20: i64 i64 i64 i64 i64 i64 i64 DD u32 DD;
        c21: f32 f32 f32 f32 f32 f32 f32 F i8 F;
        c22: f32 f32 f32 f32 f32 f32 f32 D i8 D;
        c23: f32 f32 f32 f32 f32 f32 f32 FF i8 FF;
        c24: f32 f32 f32 f32 f32 f32 f32 FI i8 FI;
        c25: f32 f32 f32 f32 f32 f32 f32 IF i8 IF;
        c26: f32 f32 f32 f32 f32 f32 f32 LD i8 LD;
        c27: f32 f32 f32 f32 f32 f32 f32 DD i8 DD;
        c28: DD i8 i32 LD i32 f32 i32 DD f64 f64 f32 i64 f64;
        c29: i8 i32 f64 u32 u32 i64 i64 i32 i8 u32 i64 i8 i32 LD i8;
        c30: f32 f64 i32 f32 i32 f32 F D f32 f32 f64 f32 f32 f64 f32 i64;
        c31: D F f32 i64 i8 u32 i64 f64 i64 DD FF IF F;
        c32: f64 FF i8 i32 i8;
        c33: u32 u32 i32 u32 u32 i8 DD i32 F i64 u32 LD f64 F;
        c34: FI f32 IF IF i64 DD IF FI F i8;
        c35: f64 f64 FI f32 i32 f64 f64 f64;
        c36: FI F FF f64 FF FI f32 LD u32 i64 i64;
        c37: FI D i8 FF DD LD i64 u32 FF F f32;
        c38: IF i32 D IF IF i32 i32 FI F LD i64;
        c39: F FI f64 F FI F DD LD u32 DD i32;
        c40: u32 F u32 IF FF i64 F i32 i32 i64 DD F i32;
        c41: f64 i8 f64 i32 FF i32 i8 f32 f64 FI i64 f64 i32 D;
        c42: u32;
        c43: IF LD LD f32 DD i32 u32 i64 i64 u32 u32 i64;
    }
}

fn description(crowds: &[Crowd]) -> Api {
    let typedefs: Vec<String> = TYPEDEFS
        .iter()
        .map(|(name, fields)| {
            let fields: String = fields.iter().map(|(ty, field)| format!("{ty} {field}; ")).collect();
            format!("\"typedef struct {{ {fields}}} {name}\"")
        })
        .collect();
    let calls: String = crowds
        .iter()
        .map(|Crowd { name, types, .. }| {
            let types: Vec<&str> = types.iter().map(|(ty, _)| *ty).collect();
            format!(",\n\"{name}\": \"double sys_{name} ({})\"", types.join(", "))
        })
        .collect();
    Api::parse("crowds.json", &format!("{{ \"typedef\": [{}]{calls} }}", typedefs.join(", "))).unwrap()
}

/// A function for each call: it returns what the host makes of its arguments, or -1 if that is not what it makes of
/// them itself. C has no signatures of structs, so they are given there.
fn guest(crowds: &[Crowd]) -> String {
    let mut source = "#include \"crowds.h\"\n#include <riverrun.h>\nint main(void) { return 0; }\n".to_owned();
    for Crowd { name, types, signature, .. } in crowds {
        let (mut parameters, mut arguments, mut sum) = (Vec::new(), Vec::new(), Vec::new());
        for (number, (ty, fields)) in types.iter().enumerate() {
            parameters.push(format!("{ty} a{number}"));
            arguments.push(format!("a{number}"));
            let plain: &[&str] = if fields.is_empty() { &[""] } else { fields };
            for field in plain {
                let dot = if field.is_empty() { "" } else { "." };
                sum.push(format!("(double)a{number}{dot}{field} * {}", sum.len() + 1));
            }
        }
        let (parameters, arguments, sum) = (parameters.join(", "), arguments.join(", "), sum.join(" + "));
        let signature = signature();
        writeln!(
            source,
            "#ifdef __cplusplus\nextern \"C\"\n#endif\ndouble {name}({parameters});\n\
             double {name}({parameters})\n{{\n    double sum = dsys_{name}({arguments});\n\
             return sum == {sum} ? sum : -1;\n}}\n\
             #ifdef __cplusplus\nRIVERRUN_EXPORT({name});\n#else\n\
             RIVERRUN_EXPORT_SIGNATURE(\"{signature}\", {name});\n#endif"
        )
        .unwrap();
    }
    source
}

#[test]
fn crowds_of_arguments_have_their_places() {
    let crowds = crowds();
    let folder = folder();
    let source = folder.path().join("guest.c");
    fs::write(&source, guest(&crowds)).unwrap();
    let [_, assembly] = description(&crowds).write_guest_c(folder.path()).unwrap();
    for compiler in COMPILERS {
        for cxx in [false, true] {
            let build = Build { compiler, cxx, flags: &["-O2"] };
            let bytes = fs::read(build.guest(folder.path(), &[source.clone(), assembly.clone()], &[])).unwrap();
            for &engine in SuiteEngine::ALL {
                let program = engine.load(&Config::new(), &*bytes);
                let mut linker = Linker::new(program.engine());
                crowds.iter().for_each(|crowd| (crowd.link)(&mut linker));
                let mut machine = linker.instantiate(&program, ()).unwrap_or_else(|error| panic!("{build:?}: {error}"));
                assert_eq!(machine.run().unwrap(), 0);
                for Crowd { name, call, expected, signature, .. } in &crowds {
                    assert_eq!(call(&mut machine), *expected, "{name}: {}, {build:?}, {engine:?}", signature());
                }
            }
        }
    }
}

//! What is wrong with a description is said: where, what, and what to do.

use riverrun_bindgen::{Api, Error, hash};

fn refused(text: &str) -> Error {
    match Api::parse("api.json", text) {
        Ok(api) => panic!("{text} was taken for {api:?}"),
        Err(error) => error,
    }
}

/// The whole message of what is wrong with `text`.
#[track_caller]
fn says(text: &str, message: &str) {
    assert_eq!(refused(text).to_string(), message);
}

/// The same, for a call that is the only one of its description, its first line without the place.
#[track_caller]
fn call_says(prototype: &str, message: &str) {
    let text = format!("{{ \"typedef\": \"typedef struct {{ long a, b, c; }} Big\", \"Call\": \"{prototype}\" }}");
    let error = refused(&text).to_string();
    let line = error.lines().next().unwrap_or_default();
    let (place, said) = line.split_once(": Call: ").unwrap_or_else(|| panic!("{error}"));
    assert_eq!(said, message);
    assert!(place.starts_with("api.json:1:"), "{error}");
    assert!(error.contains("\n  help: "), "{error}");
}

#[test]
fn two_names_of_one_hash() {
    let [first, second] = ["GUI::stop_door", "Timer::remove_color_label_now"];
    assert_eq!(hash(first), hash(second));
    says(
        &format!("{{\n  \"{first}\": \"void sys_a ()\",\n  \"{second}\": \"void sys_b ()\"\n}}"),
        "api.json:3:36: Timer::remove_color_label_now: the name has the same hash, 0x7fbeae00, as `GUI::stop_door`\n  \
         help: rename one of the two; what they are called in C can stay",
    );
}

#[test]
fn a_hash_that_is_a_system_call() {
    assert_eq!(hash("Game::find_enemy_weapon"), 1877);
    says(
        r#"{ "Game::find_enemy_weapon": "void sys_a ()" }"#,
        "api.json:1:30: Game::find_enemy_weapon: the name's hash is 1877, which is among the numbers of system calls \
         (below 100000)\n  help: rename the call; what it is called in C can stay",
    );
}

#[test]
fn no_json() {
    says("{\n  \"a\": \"void sys_a ()\"\n  \"b\"", "api.json:3:3: expected `,` or `}`");
    says("", "api.json:1:1: EOF while parsing a value");
    let error = refused("[1]").to_string();
    assert!(error.starts_with("api.json:1:1: invalid type: sequence, expected an object of names"), "{error}");
    says("{ \"a\": 7 }", "api.json:1:8: a: expected a string, found a number");
    says("{\n\"clientside\": \"a\" }", "api.json:2:15: clientside: expected a list of strings, found a string");
    says("{ \"typedef\": [null] }", "api.json:1:15: typedef: expected a string, found null");
}

#[test]
fn a_byte_order_mark_is_skipped() {
    assert!(Api::parse("api.json", "\u{feff}{ \"a\": \"void sys_a ()\" }").is_ok());
    says("\u{feff}{ \"a\": 7 }", "api.json:1:8: a: expected a string, found a number");
}

#[test]
fn one_name_twice() {
    says(
        "{ \"a\": \"void sys_a ()\",\n  \"b\": \"void sys_b ()\",\n  \"a\": \"void sys_c ()\" }",
        "api.json:3:8: a: the name is there twice, first on line 1",
    );
    says("{ \"typedef\": [],\n\"typedef\": [] }", "api.json:2:12: typedef: the name is there twice, first on line 1");
}

#[test]
fn one_c_name_twice() {
    let message = |symbol: &str| {
        format!(
            "api.json:1:31: b: the C name `{symbol}` is that of `a` already\n  \
             help: every call needs a C name of its own, also with `i` or `d` in front"
        )
    };
    says(r#"{ "a": "void sys_a ()", "b": "void sys_a ()" }"#, &message("sys_a").replace(":31", ":30"));
    says(r#"{ "a": "void sys_a ()",  "b": "int isys_a ()" }"#, &message("isys_a"));
    says(r#"{ "a": "void  x (int)",  "b": "int  dx (int)" }"#, &message("dx"));
    says(r#"{ "a": "void  x (int)",  "b": "void sys_x ()" }"#, &message("x"));
}

#[test]
fn names_that_cannot_be() {
    says(r#"{ "": "void sys_a ()" }"#, "api.json:1:7: : a call needs a name");
    let error = refused("{ \"a\\nb\": \"void sys_a ()\" }").to_string();
    assert!(error.contains("the name has the character '\\n'"), "{error}");
    for name in ["a\\\"b", "a\\\\b", "ä"] {
        let error = refused(&format!("{{ \"{name}\": \"void sys_a ()\" }}")).to_string();
        assert!(error.contains("names are of printable ASCII"), "{error}");
    }
}

#[test]
fn no_declaration() {
    call_says(
        "int sys_a (int",
        "`int sys_a (int` is no declaration in C: at its end, expected `(`, `)`, `*`, `,`, `[` or identifier",
    );
    call_says(
        "int sys a ()",
        "`int sys a ()` is no declaration in C: at `a` (character 9), expected `(`, `,`, `;`, `=`, `[`, `asm` or `{`",
    );
    call_says("", "`` is no declaration in C: it is empty");
    call_says("int sys_a () { return 1; }", "`int sys_a () { return 1; }` is no declaration in C: it has a body");
    call_says("int sys_a", "unsupported: `int sys_a` does not declare one function");
    call_says("int sys_a (), sys_b ()", "unsupported: `int sys_a (), sys_b ()` does not declare one function");
    call_says("int sys_a (); int sys_b ()", "unsupported: `int sys_a (); int sys_b ()` does not declare one function");
    call_says("int (*sys_a) (int)", "unsupported: `int (*sys_a) (int)` does not declare one function");
    let deep = format!("int sys_a (int {}x)", "*".repeat(10_000));
    call_says(&deep, &format!("`{deep}` is no declaration in C: it is too long, or too deeply nested"));
}

#[test]
fn unknown_types() {
    for prototype in ["void sys_a (Vec3)", "void sys_a (Vec3 v)", "void sys_a (int n, const Vec3 *v)", "Vec3 *sys_a ()"]
    {
        call_says(prototype, &format!("unknown type `Vec3` in `{prototype}`"));
    }
    call_says("void sys_a (struct vec *v)", "unknown type `struct vec` in `void sys_a (struct vec *v)`");
    call_says("Foo sys_a (Bar b)", "unknown type `Foo` in `Foo sys_a (Bar b)`");
    says(
        r#"{ "a": "void sys_a (uint32 n)" }"#,
        "api.json:1:8: a: unknown type `uint32` in `void sys_a (uint32 n)`\n  help: did you mean `uint32_t`?",
    );
    says(
        r#"{ "a": "void sys_a (Vec3 v)" }"#,
        "api.json:1:8: a: unknown type `Vec3` in `void sys_a (Vec3 v)`\n  \
         help: declare it under \"typedef\", before it is used: \"typedef struct { int x; } Vec3\"",
    );
    for (typedef, ty, help) in [
        ("struct Vec2 { int x; }", "Vec2", "did you mean `struct Vec2`?"),
        ("typedef struct { int x; } Vec2", "struct Vec2", "did you mean `Vec2`?"),
        (
            "struct Other { int x; }",
            "struct Vec2",
            "declare it under \"typedef\", before it is used: \"struct Vec2 { int x; }\"",
        ),
        (
            "struct Other { int x; }",
            "enum Kind",
            "declare it under \"typedef\", before it is used: \"enum Kind { ONE }\"",
        ),
    ] {
        let description = format!(r#"{{ "typedef": "{typedef}", "a": "void sys_a ({ty} v)" }}"#);
        let error = refused(&description).to_string();
        assert!(
            error.contains(&format!("unknown type `{ty}`")) && error.ends_with(&format!("help: {help}")),
            "{error}"
        );
        // What the help proposes is accepted.
        if let Some((_, proposed)) = help.split_once(": ") {
            let description = format!(r#"{{ "typedef": {proposed}, "a": "void sys_a ({ty} v)" }}"#);
            Api::parse("api.json", &description).unwrap();
        }
    }
}

#[test]
fn what_no_call_can_have() {
    call_says(
        "int sys_printf (const char *, ...)",
        "`int sys_printf (const char *, ...)` is variadic, and calls have fixed parameters",
    );
    call_says("void sys_a (Big b)", "`Big` has 24 bytes; a struct by value can have 16 at most");
    call_says("Big sys_a ()", "`Big` has 24 bytes; a struct by value can have 16 at most");
    call_says("void sys_a (long double)", "unsupported: a type of numbers in `void sys_a (long double)`");
    call_says("void sys_a (float _Complex)", "unsupported: a type of numbers in `void sys_a (float _Complex)`");
    call_says("void sys_a (volatile int *p)", "unsupported: `volatile` or `_Atomic` in `void sys_a (volatile int *p)`");
    call_says("static void sys_a ()", "unsupported: storage class in `static void sys_a ()`");
    call_says(
        "void sys_a (struct { int x; } s)",
        "unsupported: a struct is defined in `void sys_a (struct { int x; } s)`",
    );
    call_says("void sys_a (int a[0])", "unsupported: the length of an array in `void sys_a (int a[0])`");
    call_says("void sys_a (void v)", "unsupported: a parameter of type `void` in `void sys_a (void v)`");
    call_says(
        "void sys_a (int x) __attribute__((noreturn))",
        "unsupported: an attribute in `void sys_a (int x) __attribute__((noreturn))`",
    );
}

#[test]
fn typedefs_that_are_none() {
    let says = |text: &str, message: &str| {
        let error = refused(&format!("{{ \"typedef\": [\"{text}\"] }}")).to_string();
        assert!(error.starts_with(&format!("api.json:1:15: typedef: {message}")), "{error}");
    };
    says("int x", "unsupported: `int x` declares no type");
    says("typedef int", "unsupported: `typedef int` gives no name");
    says("typedef struct { Foo x; } T", "unknown type `Foo`");
    says("typedef struct { int x; } __attribute__((packed)) T", "unsupported: an attribute");
    says("typedef int size_t", "the type `size_t` is declared already");
}

#[test]
fn lists_of_calls_that_are_not_there() {
    says(
        "{\n  \"initialization\": [\"Debug::is_debag\"],\n  \"Debug::is_debug\": \"int sys_is_debug ()\"\n}",
        "api.json:2:22: initialization: there is no call `Debug::is_debag`\n  help: did you mean `Debug::is_debug`?",
    );
    says(
        "{\"clientside\":[\"a\"],\"serverside\":[\"a\"],\"a\":\"void sys_a ()\"}",
        "api.json:1:35: a: the call is in \"clientside\" and in \"serverside\"\n  help: a call that both have is in neither list",
    );
}

#[test]
fn leaves_say_what_they_touch() {
    for parameter in ["const char *text", "void *text", "char **text", "char *text[4]", "const float text[]"] {
        let error = refused(&format!("{{\"leaf\":[\"a\"],\"a\":\"void sys_a ({parameter})\"}}")).to_string();
        assert!(error.contains("how much memory `text` leads to is not declared"), "{error}");
    }
    assert!(Api::parse("api.json", r#"{"leaf":["a"],"a":"void sys_a (int n, float m[4][4])"}"#).is_ok());
}

#[test]
fn a_file_that_is_not_there() {
    let error = Api::read("no/such/api.json").unwrap_err().to_string();
    assert!(error.starts_with("no/such/api.json: No such file"), "{error}");
}

/// The same, for types, without the place and the help.
#[track_caller]
fn types_say(typedefs: &[&str], message: &str) {
    let error = refused(&format!("{{ \"typedef\": {typedefs:?} }}")).to_string();
    let said =
        error.lines().next().and_then(|line| line.split_once(": typedef: ")).unwrap_or_else(|| panic!("{error}"));
    assert_eq!(said.1, message);
}

#[test]
fn one_name_for_two_in_a_prototype() {
    call_says("int sys_a (int a, int a)", "the parameter `a` is there twice");
    call_says("int sys_a (int new, int new_)", "the parameters `new` and `new_` are both `new_` in generated code");
    call_says(
        "int sys_a (int self_, int self)",
        "the parameters `self_` and `self` are both `self_` in generated code",
    );
    call_says(
        "int sys_a (int caller_, int caller)",
        "the parameters `caller_` and `caller` are both `caller_` in generated code",
    );
    call_says("Big *sys_a (int Big)", "the name `Big` is a type's, which the parameter would hide");
    for fine in ["int sys_a (int arg1, int)", "int sys_a (int class, int type)", "void sys_a (int b, int B)"] {
        assert!(Api::parse("api.json", &format!("{{ \"a\": \"{fine}\" }}")).is_ok(), "{fine}");
    }
}

#[test]
fn one_name_for_two_types() {
    types_say(&["struct S { int a; float a; }"], "the field `a` is there twice");
    types_say(
        &["struct S { int class_, class; }"],
        "the fields `class_` and `class` are both `class_` in generated code",
    );
    types_say(
        &["struct S { int self; int self_; }"],
        "the fields `self` and `self_` are both `self_` in generated code",
    );
    types_say(&["enum E { A, B, A }"], "the enum constant `A` is there twice");
    types_say(&["enum E { A, B }", "typedef enum { C, B } F"], "the enum constant `B` is there twice");
    types_say(
        &["typedef struct { int x; } T", "struct T_ { int x; }"],
        "the types `T` and `T_` are both `T_` in generated code",
    );
    for second in ["struct S { int y; }", "union S { int y; }", "enum S { A }", "typedef int S", "enum E { S }"] {
        let error = refused(&format!("{{ \"typedef\": {:?} }}", ["typedef struct S { int x; } S", second])).to_string();
        let said = error.contains("S` is declared") || error.contains("the type `S` is there twice");
        assert!(said, "{second}: {error}");
    }
    for fine in [
        &["struct S", "typedef struct S S", "struct S { S *next; }"][..],
        &["typedef struct S { struct S *next; } S, *Link"],
        &["typedef enum Size { SMALL } Size", "typedef Size Other"],
        &["union Any { int a; float b; }", "typedef union Any Any"],
    ] {
        Api::parse("api.json", &format!("{{ \"typedef\": {fine:?} }}")).unwrap();
    }
}

#[test]
fn names_that_are_taken() {
    for name in ["riverrun", "riverrun_a0", "RIVERRUN_ASM"] {
        let message = format!("the name `{name}` begins with `riverrun`, as names of generated code do");
        call_says(&format!("void {name} (void)"), &message);
        call_says(&format!("void sys_a (int {name})"), &message);
        types_say(&[&format!("struct {name} {{ int x; }}")], &message);
        types_say(&[&format!("struct S {{ int {name}; }}")], &message);
    }
    for (name, why) in [
        ("std", "is the standard library's in C++"),
        ("main", "is that of each program's first function in C and C++"),
        ("class", "is a keyword of C++"),
        ("requires", "is a keyword of C++"),
        ("typeof_unqual", "is a keyword of C23"),
        ("linux", "is a macro of C"),
    ] {
        let message = format!("the name `{name}` {why}");
        call_says(&format!("void {name} (void)"), &message);
        types_say(&[&format!("typedef struct {{ int x; }} {name}")], &message);
        types_say(&[&format!("struct {name} {{ int x; }}")], &message);
        types_say(&[&format!("enum {{ {name} }}")], &message);
    }
    types_say(&["struct S { int unix; }"], "the name `unix` is a macro of C");
    types_say(&["struct uint32_t { int x; }"], "the type `uint32_t` is declared already");
    call_says("void f (void)", "the name `f` makes `if` the name of a function, which is a keyword");
    call_says("void elete (void)", "the name `elete` makes `delete` the name of a function, which is a keyword");
    call_says("void self (void)", "the name `self` makes `self` the name of a function, which is a keyword");
    let text = |other| format!("{{ \"typedef\": [\"enum {{ A, isys_a }}\"], \"{other}\": \"void sys_a ()\" }}");
    let error = refused(&text("a")).to_string();
    assert!(error.contains("the C name `isys_a` is that of `enum constant isys_a` already"), "{error}");
    let error = refused(r#"{ "a": "void sys_new ()", "b": "void new_ ()" }"#).to_string();
    assert!(error.contains("the C name `new_` is that of `a` already"), "{error}");
}

#[test]
fn types_that_contain_themselves_or_nothing() {
    let says = |typedefs: &[&str], message: &str| {
        let error = refused(&format!("{{ \"typedef\": {typedefs:?} }}")).to_string();
        assert!(error.contains(&format!(": typedef: unsupported: {message}")), "{typedefs:?}: {error}");
        assert!(error.contains("\n  help: "), "{error}");
    };
    says(&["struct a { struct a x; }"], "`struct a`, which is inside itself, as a field or element");
    says(&["typedef struct a { int n; struct a x[2]; } a"], "`struct a`, which is inside itself,");
    says(&["union a { union a x; }"], "`union a`, which is inside itself,");
    says(&["struct a { union b { struct a x; } y; }"], "`struct a`, which is inside itself,");
    says(&["typedef struct a { struct b x; } a", "struct b { struct a y; }"], "`struct b`, which has no fields yet,");
    says(&["struct b", "struct a { struct b x; }"], "`struct b`, which has no fields yet,");
    says(&["typedef struct b B", "struct a { B x[3]; }"], "`struct b`, which has no fields yet,");
    says(&["struct b", "typedef struct b Row[3]"], "`struct b`, which has no fields yet,");
    says(&["struct a { void x; }"], "`void` as a field or element");
    says(&["typedef void Row[3]"], "`void` as a field or element");
    says(&["struct a { int f(int); }"], "a function as a field or element");
    says(&["typedef int Row(int)[3]"], "a function that returns an array or a function");
    for fine in [
        &["struct b", "struct a { struct b *x; struct a *(*next)[3]; }", "struct b { struct a y; }"][..],
        &["typedef struct node node", "struct node { node *next; }", "typedef struct { node first; } list"],
        &["union u { int a; float b; }", "typedef struct { union u any; struct bits { int a : 3; } bits; } both"],
        &["struct text { int size; char bytes[]; }"],
    ] {
        Api::parse("api.json", &format!("{{ \"typedef\": {fine:?} }}")).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn types_that_are_larger_than_memory() {
    for typedef in [
        "struct a { char x[0xffffffff][0xffffffff]; }",
        "struct a { char x[0xffffffff][0xffffffff][0xffffffff]; }",
        "struct a { char x[0xffffffff]; char y[0xffffffff]; }",
        "typedef double a[0x20000000]",
        "union a { char x[0x10000][0x10000]; }",
    ] {
        let error = refused(&format!("{{ \"typedef\": [\"{typedef}\"] }}")).to_string();
        assert!(error.contains("that is larger than a guest's memory"), "{error}");
    }
    call_says(
        "void sys_a (char x[0xffffffff][0xffffffff])",
        "unsupported: a type in `void sys_a (char x[0xffffffff][0xffffffff])` that is larger than a guest's memory",
    );
}

#[test]
fn arrays_without_a_number_are_parameters_only() {
    let inside = |declaration: &str| {
        format!("unsupported: an array without a number as its length, inside another type, in `{declaration}`")
    };
    for parameters in ["float (*m)[n], size_t n", "float m[4][n], size_t n", "float (*m[4])[]", "float m[][n]"] {
        let prototype = format!("void sys_a ({parameters})");
        call_says(&prototype, &inside(&prototype));
    }
    for text in ["struct a { int x[]; int y; }", "typedef float (*a)[]", "union a { int x[]; int y; }"] {
        types_say(&[text], &inside(text));
    }
    for text in ["struct a { int x[n]; }", "typedef float a[n]"] {
        let error = refused(&format!("{{ \"typedef\": [\"{text}\"] }}")).to_string();
        assert!(error.contains("the length `n` of an array in `"), "{error}");
    }
}

/// The name in brackets counts the elements of the parameter, whatever they are.
#[test]
fn arrays_are_counted() {
    for (parameters, rust, cpp) in [
        ("const float m[n], size_t n", "Slice<f32>", "Slice<const float>"),
        ("const float m[n][4], size_t n", "Slice<[f32; 4]>", "Slice<const float[4]>"),
        ("const char *m[n], size_t n", "Slice<u64>", "Slice<std::uint64_t>"),
        ("float (*m[n])[4], size_t n", "Slice<u64>", "Slice<std::uint64_t>"),
        ("float (m)[n], size_t n", "Slice<f32>", "Slice<float>"),
        ("float (*m)[4], size_t n", "Ptr<[f32; 4]>", "Ptr<float[4]>"),
        ("float *(*m)(int x[n]), size_t n", "Ptr<()>", "Ptr<void>"),
    ] {
        let text = format!("{{ \"a\": \"void sys_a ({parameters})\" }}");
        let api = Api::parse("api.json", &text).unwrap_or_else(|error| panic!("{error}"));
        assert!(api.host_rust().contains(&format!("m: riverrun::{rust}")), "{parameters}: {}", api.host_rust());
        assert!(api.host_cpp().contains(&format!("riverrun::{cpp}")), "{parameters}: {}", api.host_cpp());
    }
}

//! The list of real programs, and what each is given to run.

/// One program, and one way to run it.
pub(super) struct Case {
    /// The row's name; `SOURCE/WHAT`, for people.
    pub(super) name: &'static str,
    pub(super) origin: Origin,
    /// In them `{repository}` stands for the repository's folder.
    pub(super) args: &'static [&'static str],
    /// A file of the repository that is its standard input; empty if there is none.
    pub(super) input: &'static str,
    /// A file of the repository that lies in its current directory; empty if there is none.
    pub(super) file: &'static str,
    /// Whether its handlers take faults at loads and stores, so that it is to be compiled precisely.
    pub(super) handles_faults: bool,
    /// Whether compiling it as a whole takes too long for a test: then only what has run of it is compiled.
    pub(super) is_large: bool,
}

/// Where a program comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// A source in `examples/programs/c`, compiled by GCC and linked with glibc.
    C(&'static str),
    /// A source in `examples/programs/cpp`.
    Cxx(&'static str),
    /// A package in `examples/programs/go`, or one that its module requires, by the executable's name.
    Go(&'static str),
    /// An executable of `examples/programs/rust`, with the standard library.
    Rust(&'static str),
    /// A source in `examples/programs/c`, compiled by Zig and linked with musl.
    Zig(&'static str),
    /// A program of `programs.rs`, from the C sources of a crate.
    Crate(&'static str),
    /// A statically linked executable of a Debian package for riscv64.
    Debian { package: &'static str, path: &'static str },
    /// A dynamically linked one of [`SYSROOT`], by its path there.
    Sysroot(&'static str),
}

impl Origin {
    /// What the table calls it.
    pub(super) fn shown(self) -> String {
        match self {
            Origin::C(_) => "C, glibc".to_owned(),
            Origin::Cxx(_) => "C++, glibc".to_owned(),
            Origin::Go(_) => "Go".to_owned(),
            Origin::Rust(_) => "Rust, std".to_owned(),
            Origin::Zig(_) => "C, musl, by Zig".to_owned(),
            Origin::Crate(_) => "C of a crate".to_owned(),
            Origin::Debian { package, .. } => format!("Debian {package}"),
            Origin::Sysroot(_) => "Debian, dynamic".to_owned(),
        }
    }
}

const fn case(name: &'static str, origin: Origin) -> Case {
    Case { name, origin, args: &[], input: "", file: "", handles_faults: false, is_large: false }
}

const fn large(case: Case) -> Case {
    Case { is_large: true, ..case }
}

const fn with_args(args: &'static [&'static str], case: Case) -> Case {
    Case { args, ..case }
}

/// With a text as its input.
const fn reading(case: Case) -> Case {
    Case { input: "ARCHITECTURE.md", ..case }
}

const BASH: Origin = Origin::Debian { package: "bash-static", path: "usr/bin/bash-static" };
const BUSYBOX: Origin = Origin::Debian { package: "busybox-static", path: "usr/bin/busybox" };

/// The packages that dynamically linked programs and their libraries are in.
pub(super) static SYSROOT: &[&str] = &[
    "coreutils",
    "libacl1",
    "libattr1",
    "libc6",
    "libcap2",
    "libexpat1",
    "libgcc-s1",
    "libgmp10",
    "libpcre2-8-0",
    "libpython3.13-minimal",
    "libpython3.13-stdlib",
    "libselinux1",
    "libssl3t64",
    "libsystemd0",
    "libzstd1",
    "openssl",
    "python3.13-minimal",
    "quickjs",
    "zlib1g",
];

const PYTHON: Origin = Origin::Sysroot("usr/bin/python3.13");

/// All of them. What they print must not depend on time, chance or the order of threads.
pub(super) static CASES: &[Case] = &[
    case("c/alarms", Origin::C("alarms")),
    case("c/barrier", Origin::C("barrier")),
    case("c/cancel", Origin::C("cancel")),
    case("c/formats", Origin::C("formats")),
    case("c/jumps", Origin::C("jumps")),
    case("c/keys", Origin::C("keys")),
    case("c/pipes", Origin::C("pipes")),
    case("c/rwlock", Origin::C("rwlock")),
    Case { handles_faults: true, ..case("c/signals", Origin::C("signals")) },
    case("cpp/async", Origin::Cxx("async")),
    case("cpp/condition_variable", Origin::Cxx("condition_variable")),
    reading(case("cpp/containers", Origin::Cxx("containers"))),
    case("cpp/exceptions", Origin::Cxx("exceptions")),
    case("cpp/mutex", Origin::Cxx("mutex")),
    case("cpp/openmp", Origin::Cxx("openmp")),
    case("cpp/thread", Origin::Cxx("thread")),
    case("cpp/thread_local", Origin::Cxx("thread_local")),
    case("crate/secp256k1", Origin::Crate("secp256k1")),
    with_args(&["."], case("crate/sqlite", Origin::Crate("sqlite"))),
    with_args(&["demo.lua"], Case { file: "examples/demo/demo.lua", ..case("crate/lua", Origin::Crate("lua")) }),
    case("go/bignum", Origin::Go("bignum")),
    case("go/channels", Origin::Go("channels")),
    case("go/files", Origin::Go("files")),
    reading(case("go/gzip", Origin::Go("gzip"))),
    reading(case("go/hashes", Origin::Go("hashes"))),
    case("go/hello", Origin::Go("hello")),
    case("go/json", Origin::Go("json")),
    case("go/panics", Origin::Go("panics")),
    reading(case("go/regexp", Origin::Go("regexp"))),
    case("go/sort", Origin::Go("sort")),
    large(case("go/template", Origin::Go("template"))),
    case("go/timers", Origin::Go("timers")),
    with_args(
        &["-n", "-c", "[range(2000) | {n: ., s: (. * . | tostring)}] | group_by(.n % 3) | map(length, .[-1])"],
        large(case("go/gojq", Origin::Go("gojq"))),
    ),
    reading(case("rust/collections", Origin::Rust("collections"))),
    case("rust/files", Origin::Rust("files")),
    case("rust/panics", Origin::Rust("panics")),
    case("rust/threads", Origin::Rust("threads")),
    case("musl/barrier", Origin::Zig("barrier")),
    case("musl/cancel", Origin::Zig("cancel")),
    case("musl/pipes", Origin::Zig("pipes")),
    case("musl/rwlock", Origin::Zig("rwlock")),
    with_args(
        &[
            "-c",
            r#"declare -A n; while read -ra words; do for w in "${words[@]}"; do n[$w]=$((n[$w] + 1)); done; done
            for w in "${!n[@]}"; do [[ $w =~ ^[a-z]{5,}$ && ${n[$w]} -gt 5 ]] && printf '%s %d\n' "$w" "${n[$w]}"; done
            a=(3 1 2); echo "${a[@]/1/x} ${#a[@]} ${BASH_VERSINFO[0]}"; printf -v text '%08.3f|%q' 3.14159 "a b"; echo "$text"
            trap 'echo trapped' USR1; kill -USR1 $$; read -r line <<< "a here string"; echo "${line^^}"; exit 7"#,
        ],
        reading(case("bash/script", BASH)),
    ),
    with_args(
        &[
            "awk",
            "{ for (i = 1; i <= NF; i++) n[length($i)]++ } END { for (i = 1; i < 30; i++) print i, n[i] + 0, sin(i) }",
        ],
        reading(case("busybox/awk", BUSYBOX)),
    ),
    with_args(&["bc", "-l"], Case { input: "examples/programs/input.bc", ..case("busybox/bc", BUSYBOX) }),
    with_args(&["bzip2", "-c"], reading(case("busybox/bzip2", BUSYBOX))),
    with_args(
        &["diff", "-u", "{repository}/LICENSE-MIT", "{repository}/LICENSE-APACHE"],
        case("busybox/diff", BUSYBOX),
    ),
    with_args(&["grep", "-n", "-i", "fuel.*exact"], reading(case("busybox/grep", BUSYBOX))),
    with_args(&["gzip", "-n", "-c"], reading(case("busybox/gzip", BUSYBOX))),
    with_args(&["hexdump", "-C"], reading(case("busybox/hexdump", BUSYBOX))),
    with_args(&["sed", "-n", "s/`\\([^`]*\\)`/<\\1>/gp"], reading(case("busybox/sed", BUSYBOX))),
    with_args(
        &[
            "sh",
            "-c",
            "f() { [ $1 -lt 2 ] && r=$1 && return; f $(($1 - 1)); local a=$r; f $(($1 - 2)); r=$((a + r)); }; \
             f 12; echo $r; echo text > file; for x in f*; do read -r l < $x; printf '%s-%05d\\n' $x:${l%xt} $((r << 2)); done",
        ],
        case("busybox/sh", BUSYBOX),
    ),
    with_args(&["sha512sum"], reading(case("busybox/sha512sum", BUSYBOX))),
    with_args(&["sort", "-k2", "-u"], reading(case("busybox/sort", BUSYBOX))),
    // The second is the highest number, the third a prime.
    with_args(
        &["factor", "1234567890123456789", "18446744073709551615", "99999999999973"],
        case("busybox/factor", BUSYBOX),
    ),
    reading(case("coreutils/sort", Origin::Sysroot("usr/bin/sort"))),
    reading(case("coreutils/wc", Origin::Sysroot("usr/bin/wc"))),
    reading(large(case("coreutils/sha256sum", Origin::Sysroot("usr/bin/sha256sum")))),
    with_args(&["-t", "x1z2", "-A", "d"], reading(case("coreutils/od", Origin::Sysroot("usr/bin/od")))),
    with_args(&["dgst", "-sha3-256"], reading(large(case("openssl/dgst", Origin::Sysroot("usr/bin/openssl"))))),
    with_args(
        &["enc", "-aes-256-cbc", "-base64", "-K", "00112233445566778899", "-iv", "0123456789abcdef"],
        reading(large(case("openssl/enc", Origin::Sysroot("usr/bin/openssl")))),
    ),
    with_args(
        &[
            "-e",
            "const m = new Map(); for (let i = 0; i < 20000; i++) m.set(i % 997, (m.get(i % 997) ?? 0n) + BigInt(i)); \
             console.log(JSON.stringify([...m].slice(0, 3).map(([k, v]) => [k, `${v}`])), 2n ** 200n, /(?<y>\\d+)-/u.exec('1999-12').groups.y);",
        ],
        case("quickjs/qjs", Origin::Sysroot("usr/bin/qjs")),
    ),
    with_args(
        &[
            "-c",
            "import sys, re, json, collections, itertools, threading, zlib, struct\n\
             text = sys.stdin.read(); words = collections.Counter(re.findall(r'[a-z]{5,}', text))\n\
             print(json.dumps(words.most_common(5)), len(zlib.compress(text.encode(), 9)), struct.pack('<dq', 0.1, -5).hex())\n\
             out = []; ts = [threading.Thread(target=lambda n=n: out.append(sum(range(n * 1000)))) for n in range(8)]\n\
             [t.start() for t in ts]; [t.join() for t in ts]; print(sorted(out), 7 ** 300 % 10 ** 40, f'{1 / 3:.20f}')\n\
             print(sum(1 for p in itertools.permutations(range(7)) if all(abs(p[i] - p[j]) != j - i for i in range(7) for j in range(i))))",
        ],
        reading(large(case("python/script", PYTHON))),
    ),
    with_args(
        &[
            "-c",
            "class E(Exception): pass\ndef f(n):\n    if n == 0: raise E('deep')\n    return f(n - 1)\n\
             try: f(500)\nexcept E as e: print(repr(e))\nopen('file', 'w').write('text' * 1000)\n\
             import os; print(os.stat('file').st_size, os.listdir('.')); os.remove('file'); raise SystemExit(3)",
        ],
        large(case("python/files", PYTHON)),
    ),
];

/// What CI runs: quickly built, and one of each kind that it has the compilers for.
pub(super) static SHORT: &[&str] = &[
    "c/alarms",
    "c/cancel",
    "c/pipes",
    "c/rwlock",
    "c/signals",
    "cpp/condition_variable",
    "cpp/exceptions",
    "cpp/openmp",
    "cpp/thread_local",
    "crate/lua",
    "go/files",
    "go/hello",
    "go/panics",
    "go/timers",
];

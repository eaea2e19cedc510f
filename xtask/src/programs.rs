//! The guest programs: which sources, which flags. How they are built is in `guests.rs`.

/// One program, built for the guest and for the host under the same name.
pub(crate) struct Program {
    /// The executable's name in `target/guests/` and `target/native/`.
    pub name: &'static str,
    /// Its own source, relative to the repository; C, or C++ by the extension `.cpp`.
    pub source: &'static str,
    /// A C library that it is linked with.
    pub library: Option<&'static Library>,
    /// The guest's instruction set, in the compiler's terms.
    pub march: &'static str,
}

/// A C library whose sources a crate carries; `examples/sources/Cargo.lock` pins the crate.
///
/// Paths are relative to the crate's root. In `defines`, `{links}` stands for the crate's `links`
/// value, which some crates use as a prefix of every symbol.
pub(crate) struct Library {
    /// The crate.
    pub package: &'static str,
    /// The files to compile; `DIR/*.c` means all of a folder.
    pub files: &'static [&'static str],
    /// Folders of headers, for the library and for the program.
    pub includes: &'static [&'static str],
    /// Macros, for the library and for the program.
    pub defines: &'static [&'static str],
}

const BASE: &str = "rv64gc";
const WITH_BIT_MANIPULATION: &str = "rv64gc_zba_zbb_zbs";

pub(crate) static LUA: Library = Library {
    package: "lua-src",
    files: &["lua-5.4.9/*.c"],
    includes: &["lua-5.4.9"],
    // The seed of string hashes is random by default, and with it the order of `pairs`.
    defines: &["LUA_USE_POSIX", "luai_makeseed(state)=0x5eed"],
};

static SECP256K1: Library = Library {
    package: "secp256k1-sys",
    files: &[
        "depend/secp256k1/src/secp256k1.c",
        "depend/secp256k1/src/precomputed_ecmult.c",
        "depend/secp256k1/src/precomputed_ecmult_gen.c",
    ],
    includes: &["depend/secp256k1", "depend/secp256k1/include"],
    // The library's own default sizes of its tables. The crate's copy has no default handlers.
    defines: &[
        "SECP_PREFIX={links}_",
        "ECMULT_WINDOW_SIZE=15",
        "COMB_BLOCKS=43",
        "COMB_TEETH=6",
        "USE_EXTERNAL_DEFAULT_CALLBACKS",
    ],
};

pub(crate) static QUICKJS: Library = Library {
    package: "rquickjs-sys",
    files: &["quickjs/quickjs.c", "quickjs/libregexp.c", "quickjs/libunicode.c", "quickjs/dtoa.c"],
    includes: &["quickjs"],
    defines: &["_GNU_SOURCE", "NDEBUG"],
};

pub(crate) static SQLITE: Library = Library {
    package: "libsqlite3-sys",
    files: &["sqlite3/sqlite3.c"],
    includes: &["sqlite3"],
    defines: &["SQLITE_OMIT_LOAD_EXTENSION"],
};

/// All programs.
pub(crate) static PROGRAMS: &[Program] = &[
    Program { name: "hello", source: "examples/demo/hello.c", library: None, march: BASE },
    Program { name: "lua", source: "examples/demo/lua.c", library: Some(&LUA), march: BASE },
    Program { name: "secp256k1", source: "examples/demo/secp256k1.c", library: Some(&SECP256K1), march: BASE },
    Program {
        name: "secp256k1-zb",
        source: "examples/demo/secp256k1.c",
        library: Some(&SECP256K1),
        march: WITH_BIT_MANIPULATION,
    },
    Program { name: "sqlite", source: "examples/demo/sqlite.c", library: Some(&SQLITE), march: BASE },
    Program { name: "cxx", source: "examples/demo/cxx.cpp", library: None, march: BASE },
    Program { name: "mandelbrot", source: "examples/demo/mandelbrot.c", library: None, march: BASE },
];

/// The program of this name.
pub(crate) fn find(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.name == name)
}

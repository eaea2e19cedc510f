//! Host functions behind the code that `riverrun bindgen` makes.

use std::sync::OnceLock;

use riverrun::image::crc32;
use riverrun::{Config, Engine, Linker, Program};
use riverrun_testkit::Random;

use crate::hostile;
use crate::memory_api::{Host, link};

/// The names by which guests call them.
const NAMES: [&str; 14] = [
    "Memory::sum",
    "Memory::fill",
    "Memory::increment",
    "Memory::length",
    "Memory::item",
    "Memory::watch",
    "Memory::poke",
    "Memory::peek",
    "Memory::call",
    "Leaf::sum",
    "Leaf::fill",
    "Leaf::scale",
    "Leaf::negate",
    "Leaf::items",
];

fn host() -> &'static (Linker<Host>, Program) {
    static HOST: OnceLock<(Linker<Host>, Program)> = OnceLock::new();
    HOST.get_or_init(|| {
        let mut config = Config::new();
        config.memory_limit(hostile::MEMORY_LIMIT).stack_size(64 << 10).call_depth(8);
        let engine = Engine::new(&config).expect("the configuration is in range");
        let mut linker = Linker::new(&engine);
        link(&mut linker).expect("the names are different");
        (linker, Program::new(&engine, hostile::program()).expect("it is a program"))
    })
}

pub fn attack(random: &mut Random) {
    let (linker, program) = host();
    let mut machine = linker.instantiate(program, Host::default()).expect("there is room");
    hostile::prepare(&mut machine, random);
    for _ in 0..1 + random.below(8) {
        let name = random.pick(&NAMES);
        hostile::call(&mut machine, random, crc32(name).into());
    }
}

//! The engines that tests of each run on.

use riverrun::Config;

/// Each engine that these tests were built with, as it is configured; compiled code of every kind.
pub(crate) fn configurations() -> Vec<(&'static str, Config)> {
    let mut single_step = Config::new();
    single_step.single_step(true);
    #[cfg_attr(not(feature = "compile"), expect(unused_mut))]
    let mut all = vec![("interpreter", Config::new()), ("single steps", single_step)];
    #[cfg(feature = "compile")]
    for (name, fuel, fidelity) in [
        ("compiled", false, riverrun::Fidelity::AbiAssuming),
        ("compiled with fuel", true, riverrun::Fidelity::AbiAssuming),
        ("compiled precisely", false, riverrun::Fidelity::Precise),
    ] {
        let mut config = Config::new();
        config.compile(riverrun::CompileOptions { fuel, fidelity, ..Default::default() });
        all.push((name, config));
    }
    all
}

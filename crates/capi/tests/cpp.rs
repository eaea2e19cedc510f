//! Hosts in C++, with exceptions and RTTI and without.

mod common;

use common::{COMPILERS, folder, guests, here, host, run_host};

/// Of these, each compiler takes one half with exceptions, the other half without.
const FLAGS: [[&str; 2]; 2] = [["-std=c++17", "-O0"], ["-std=c++20", "-O2"]];
const WITHOUT: [&str; 2] = ["-fno-exceptions", "-fno-rtti"];

#[test]
fn the_interface_does_what_it_says() {
    let folder = folder();
    for ([_, cxx], [with, without]) in COMPILERS.into_iter().zip([FLAGS, [FLAGS[1], FLAGS[0]]]) {
        for flags in [with.to_vec(), [without, WITHOUT].concat()] {
            let host = host(cxx, &flags, &here().join("tests/cpp/api.cpp"), folder.path());
            guests().iter().for_each(|guest| drop(run_host(&host, &[guest.as_os_str()])));
        }
    }
}

//! Guest addresses count modulo the size of the machine's address space, in every engine alike.

use riverrun::{AddressSpace, TrapCause};
use riverrun_isa::{Inst, Op};
use riverrun_testkit::generate::blank;
use riverrun_testkit::{Case, Engine, Loaded, Random, Stop, amount, check_of_size, elf, generate, run};

/// The sizes, the smallest first.
fn sizes() -> impl Iterator<Item = AddressSpace> {
    (AddressSpace::MIN_BITS..=AddressSpace::MAX_BITS).filter_map(AddressSpace::new)
}

/// As where all sizes are tested alike: compiling takes a hundred times as long as running.
fn engines(seed: u64) -> &'static [Engine] {
    if seed.is_multiple_of(10) { Engine::ALL } else { Engine::INTERPRETERS }
}

#[test]
fn engines_agree_in_every_size() {
    for seed in 0..amount(700, 50_000) {
        let bits = AddressSpace::MIN_BITS + (seed % 7) as u32;
        check_of_size(bits, engines(seed / 7), &generate::case(&mut Random::seeded(seed ^ 0xadd5)));
    }
}

/// Linux's call 93.
const EXIT: [Inst; 2] = [Inst { rd: 17, imm: 93, ..blank(Op::addi) }, blank(Op::ecall)];
/// The register with the address, and those with values.
const BASE: usize = 10;
const VALUE: u8 = 11;

/// An access with a distance, behind one with none: the interpreter executes them as one superinstruction.
fn program(op: Op, distance: i32) -> Vec<u8> {
    let is_store = matches!(op, Op::sb | Op::sh | Op::sw | Op::sd);
    let access = |imm, register| match is_store {
        true => Inst { rs1: BASE as u8, rs2: register, imm, ..blank(op) },
        false => Inst { rs1: BASE as u8, rd: register, imm, ..blank(op) },
    };
    let first = access(distance, VALUE);
    let program = [first, access(distance, VALUE + 1), EXIT[0], EXIT[1]];
    let text: Vec<u8> = program.iter().flat_map(|inst| inst.encode().to_le_bytes()).collect();
    elf::executable(&text, &[0x5a; 4096], 0)
}

/// What compiled code of all kinds gives, too, if there is no trap.
#[cfg(feature = "compile")]
const UNCOUNTED: &[Engine] = &[Engine::Uncounted, Engine::Default];
#[cfg(not(feature = "compile"))]
const UNCOUNTED: &[Engine] = &[];

/// Runs accesses at these addresses on every engine, in machines of this size; `check` gets each address with its outcome.
fn each_access(
    space: AddressSpace,
    op: Op,
    distance: i32,
    addresses: &[u64],
    check: impl Fn(u64, &riverrun_testkit::Outcome),
) {
    let elf = program(op, distance);
    let engines: Vec<_> = Engine::ALL.iter().chain(UNCOUNTED).collect();
    let loaded: Vec<_> = engines.iter().map(|&&engine| Loaded::of_size(space.bits(), engine, &elf)).collect();
    for &address in addresses {
        let mut x = [0; 32];
        x[BASE] = address.wrapping_sub(distance as u64);
        x[usize::from(VALUE)] = 0x1122_3344_5566_7788;
        x[usize::from(VALUE) + 1] = 0x99aa_bbcc_ddee_ff00;
        let case = Case { elf: elf.clone(), x, f: [0; 32], fcsr: 0, fuel: 100 };
        let mut expected = None;
        for (engine, loaded) in engines.iter().zip(&loaded) {
            let mut machine = loaded.machine(&case);
            let counts = Engine::ALL.contains(engine);
            if !counts {
                machine.set_fuel(None);
            }
            let outcome = run(&mut machine);
            let expected = expected.get_or_insert_with(|| outcome.clone());
            let place = format!("{op:?} {distance} at {address:#x} of {} bits on {engine:?}", space.bits());
            match counts || matches!(expected.stop, Stop::Exit(_)) {
                true => assert_eq!((&outcome.stop, outcome.x), (&expected.stop, expected.x), "{place}"),
                false => assert_eq!(causes(&outcome.stop), causes(&expected.stop), "{place}"),
            }
            assert_eq!(outcome.memory, expected.memory, "{place}");
            if counts {
                check(address, &outcome);
            }
        }
    }
}

fn causes(stop: &Stop) -> Option<TrapCause> {
    if let Stop::Trap(cause, _) = stop { Some(*cause) } else { None }
}

const ACCESSES: [Op; 8] = [Op::ld, Op::lbu, Op::sd, Op::sb, Op::lw, Op::sw, Op::lhu, Op::sh];

/// How many accesses each size is tried with: compiling takes the most time.
fn accesses(space: AddressSpace) -> impl Iterator<Item = (Op, i32)> {
    const DISTANCES: [i32; 4] = [0, -2048, 2047, 16];
    let of_size = space.bits() as usize;
    let few = (0..4).map(move |n| (ACCESSES[(2 * of_size + n) % 8], DISTANCES[(of_size + n) % 4]));
    let all = ACCESSES.iter().flat_map(|&op| DISTANCES.map(|distance| (op, distance)));
    let is_all = riverrun_testkit::thorough();
    few.filter(move |_| !is_all).chain(all.filter(move |_| is_all))
}

#[test]
fn addresses_count_modulo_the_size() {
    for space in sizes() {
        let place = elf::DATA + 64;
        let size = space.size();
        let aliases =
            [place, place + size, place + 5 * size, place.wrapping_sub(size), place | 1 << 63, place | !space.mask()];
        for (op, distance) in accesses(space) {
            each_access(space, op, distance, &aliases, |address, outcome| {
                assert_eq!(outcome.stop, Stop::Exit(outcome.x[10] as i32), "{address:#x}");
            });
        }
    }
}

#[test]
fn what_crosses_an_end_faults_inside_the_space() {
    for space in sizes() {
        let (size, end) = (space.size(), space.end());
        let ends = [0, 1, 7, 8, 0xffff, end - 4, end, end + 8, size - 1, size - 4, size - 8]
            .map(|place| [place, place + size, place.wrapping_sub(size)]);
        for (op, distance) in accesses(space) {
            each_access(space, op, distance, ends.as_flattened(), |address, outcome| match causes(&outcome.stop) {
                Some(TrapCause::LoadFault { address: at } | TrapCause::StoreFault { address: at }) => {
                    // An access may begin in one page and fault in the next, which is behind the window at the most.
                    assert!(at <= size, "{address:#x}: {at:#x}");
                    assert!(at.wrapping_sub(space.wrap(address)) < 8, "{address:#x}: {at:#x}");
                }
                _ => panic!("{op:?} {distance} at {address:#x}: {:?}", outcome.stop),
            });
        }
    }
}

/// A reservation is one of an address modulo the size.
#[test]
fn reservations_are_of_addresses_modulo_the_size() {
    for space in sizes() {
        let (load, other, result) = (10, 11, 12);
        let program = [
            Inst { rd: 13, rs1: load, ..blank(Op::lr_d) },
            Inst { rd: result, rs1: other, rs2: 14, ..blank(Op::sc_d) },
            Inst { rd: 10, rs1: result, ..blank(Op::addi) },
            EXIT[0],
            EXIT[1],
        ];
        let text: Vec<u8> = program.iter().flat_map(|inst| inst.encode().to_le_bytes()).collect();
        let elf = elf::executable(&text, &[0; 4096], 0);
        for (distance, status) in [(0, 0), (space.size(), 0), (8, 1), (1 << 40, 0)] {
            let mut x = [0; 32];
            x[usize::from(load)] = elf::DATA;
            x[usize::from(other)] = elf::DATA + distance;
            let case = Case { elf: elf.clone(), x, f: [0; 32], fcsr: 0, fuel: 100 };
            assert_eq!(
                check_of_size(space.bits(), Engine::ALL, &case).stop,
                Stop::Exit(status),
                "{space:?} {distance:#x}"
            );
        }
    }
}

//! Whatever a guest hands over, its host gets a view or an error, and never panics.
#![forbid(unsafe_code)]

use std::fmt::Debug;

use riverrun::bytemuck::{AnyBitPattern, NoUninit};
use riverrun::image::crc32;
use riverrun::{
    Caller, Config, CxxLibrary, CxxString, CxxVector, Engine, Error, GuestBox, GuestCxxString, GuestCxxVector,
    GuestString, GuestVec, Linker, Machine, Perm, PointerError, Program, Ptr, STRING_MAX, Slice, Str, TrapCause,
};
use riverrun_testkit::elf;

/// Calls a host function as its registers say, and stops.
const CALL: [u32; 2] = [0x0000_0073, 0x0010_0073]; // ecall; ebreak

const READ_WRITE: u64 = 0x20_0000;
const READ_ONLY: u64 = 0x30_0000;
const INACCESSIBLE: u64 = 0x40_0000;
const LEN: u64 = 0x2000;

fn machine(linker: &Linker<()>, engine: &Engine) -> Machine<()> {
    let text: Vec<u8> = CALL.iter().flat_map(|word| word.to_le_bytes()).collect();
    let program = Program::new(engine, elf::executable(&text, &[], 0)).unwrap();
    let mut machine = linker.instantiate(&program, ()).unwrap();
    let memory = machine.memory_mut();
    memory.map(READ_WRITE, LEN, Perm::READ | Perm::WRITE).unwrap();
    memory.map(READ_ONLY, LEN, Perm::READ).unwrap();
    memory.map(INACCESSIBLE, LEN, Perm::NONE).unwrap();
    let bytes: Vec<u8> = (0..LEN).map(|n| (n % 251) as u8 | 1).collect();
    memory.write(READ_WRITE, &bytes).unwrap();
    machine
}

/// A machine on which nothing calls.
fn bare() -> Machine<()> {
    let engine = Engine::new(&Config::new()).unwrap();
    machine(&Linker::new(&engine), &engine)
}

/// Addresses at every edge, aligned and not.
fn addresses() -> impl Iterator<Item = u64> {
    let edges = [0, READ_WRITE, READ_WRITE + LEN, READ_ONLY, READ_ONLY + LEN, INACCESSIBLE, 1 << 31, 1 << 32, 1 << 63];
    let near = [-4096_i64, -16, -8, -7, -1, 0, 1, 2, 4, 8, 4095, 4096];
    edges.into_iter().flat_map(move |edge| near.map(|near| edge.wrapping_add_signed(near)))
}

/// Numbers of elements, those whose bytes overflow among them.
fn lengths() -> impl Iterator<Item = u64> {
    let edges = [0, LEN, LEN / 8, 1 << 32, u64::MAX / 8, u64::MAX / 3, 1 << 61, 1 << 63, u64::MAX];
    edges.into_iter().flat_map(|edge| [edge.wrapping_sub(1), edge, edge.wrapping_add(1)])
}

/// What is readable of `len` bytes at an address, as the map above says.
fn is_mapped(address: u64, len: u64, writable: bool) -> bool {
    let regions = if writable { &[READ_WRITE][..] } else { &[READ_WRITE, READ_ONLY] };
    let end = address.checked_add(len);
    regions.iter().any(|&start| start <= address && end.is_some_and(|end| end <= start + LEN))
}

fn each_view_of<T: AnyBitPattern + NoUninit + Debug + PartialEq>() {
    let mut machine = bare();
    let (size, alignment) = (size_of::<T>() as u64, align_of::<T>() as u64);
    for address in addresses() {
        let aligned = address.is_multiple_of(alignment);
        let pointer = Ptr::<T>::new(address);
        assert_eq!(pointer.get(machine.memory()).is_ok(), aligned && is_mapped(address, size, false), "{pointer:?}");
        assert_eq!(pointer.get_mut(machine.memory_mut()).is_ok(), aligned && is_mapped(address, size, true));
        for len in lengths() {
            let slice = pointer.slice(len);
            let fits = |writable| match len.checked_mul(size) {
                Some(bytes) => len == 0 || aligned && is_mapped(address, bytes, writable),
                None => false,
            };
            let seen = slice.get(machine.memory()).map(<[T]>::len);
            assert_eq!(seen.ok(), fits(false).then_some(len as usize), "{slice:?}");
            let seen = slice.get_mut(machine.memory_mut()).map(|elements| elements.len());
            assert_eq!(seen.ok(), fits(true).then_some(len as usize), "{slice:?}");
        }
    }
}

#[test]
fn pointers_and_arrays_of_all_alignments() {
    each_view_of::<u8>();
    each_view_of::<[u8; 3]>();
    each_view_of::<u16>();
    each_view_of::<[f32; 3]>();
    each_view_of::<f64>();
    each_view_of::<u128>();
}

/// Alignments beyond what the heap's blocks have: `C` to a page's.
#[test]
fn types_of_a_pages_alignment() {
    #[repr(C, align(4096))]
    #[derive(Clone, Copy, Debug, PartialEq, riverrun::bytemuck::AnyBitPattern)]
    struct Page([u8; 4096]);
    let machine = bare();
    for address in addresses() {
        let expected = address.is_multiple_of(4096) && is_mapped(address, 4096, false);
        assert_eq!(Ptr::<Page>::new(address).get(machine.memory()).is_ok(), expected, "{address:#x}");
    }
}

#[test]
fn texts_of_all_kinds() {
    let machine = bare();
    for address in addresses() {
        let text = Str::new(address);
        // Nothing that is mapped there ends.
        let _ = text.bytes(machine.memory());
        assert!(text.get(machine.memory()).is_err() || is_mapped(address, 1, false), "{text:?}");
        for len in lengths() {
            let text = Ptr::<u8>::new(address).slice(len).text(machine.memory());
            assert!(text.is_err() || len == 0 || is_mapped(address, len, false), "{address:#x} {len:#x}");
        }
        let limits = [0, 1, STRING_MAX, u64::MAX];
        let _ = limits.map(|limit| machine.memory().c_string(address, limit).map(<[u8]>::len));
        for library in [CxxLibrary::Libstdcxx, CxxLibrary::Libcxx] {
            let _ = CxxString::at(library, address).get(machine.memory());
        }
    }
}

/// A pointer and a length, or two pointers, of the guest's choice where a C++ object should be.
#[test]
fn objects_of_cxx_with_any_words() {
    let mut machine = bare();
    let at = READ_WRITE + 0x100;
    let words: Vec<u64> = addresses().chain(lengths()).collect();
    for &first in &words {
        for &second in &words {
            let object = [first, second, first ^ second, 0].map(u64::to_le_bytes);
            machine.memory_mut().write(at, object.as_flattened()).unwrap();
            for library in [CxxLibrary::Libstdcxx, CxxLibrary::Libcxx] {
                let _ = CxxString::at(library, at).get(machine.memory());
            }
            let _ = CxxVector::<u8>::at(at).get(machine.memory());
            let _ = CxxVector::<[u8; 3]>::at(at).get_mut(machine.memory_mut());
            let elements = CxxVector::<f64>::at(at).get(machine.memory()).map(<[f64]>::len);
            let len = second.checked_sub(first).filter(|bytes| bytes % 8 == 0 && first % 8 == 0);
            let expected = len.filter(|&bytes| bytes == 0 || is_mapped(first, bytes, false));
            assert_eq!(elements.ok(), expected.map(|bytes| bytes as usize / 8), "{first:#x}..{second:#x}");
        }
    }
}

/// What the host owns is of any size, none among them, and is looked at when the guest has changed what it could.
#[test]
fn empty_objects_of_the_hosts() {
    let mut machine = bare();
    let mut list = GuestVec::<u64>::new(&mut machine.heap(), &[]).unwrap();
    assert_eq!(list.get(machine.memory()).unwrap(), []);
    assert_eq!(list.get_mut(machine.memory_mut()).unwrap(), []);
    list.extend(&mut machine.heap(), &[]).unwrap();
    list.push(&mut machine.heap(), 7).unwrap();
    list.truncate(0);
    assert_eq!(list.get(machine.memory()).unwrap(), []);
    assert!(GuestVec::<u64>::with_capacity(&mut machine.heap(), usize::MAX).is_err());
    assert!(GuestVec::<u64>::with_capacity(&mut machine.heap(), usize::MAX / 8).is_err());
    let text = GuestString::new(&mut machine.heap(), "").unwrap();
    assert_eq!(text.get(machine.memory()).unwrap(), "");
    let vector = GuestCxxVector::<f64>::new(&mut machine.heap(), &[]).unwrap();
    assert_eq!(vector.view().get(machine.memory()).unwrap(), []);
    assert_eq!(vector.view().get_mut(machine.memory_mut()).unwrap(), []);
    for library in [CxxLibrary::Libstdcxx, CxxLibrary::Libcxx] {
        let string = GuestCxxString::new(&mut machine.heap(), library, "").unwrap();
        assert_eq!(string.view().get(machine.memory()).unwrap(), "");
    }
}

/// A heap is asked for blocks, and about blocks, at addresses of the guest's choice.
#[test]
fn blocks_anywhere() {
    let mut machine = bare();
    let block = machine.heap().allocate(100).unwrap();
    for address in addresses().chain([block - 16, block + 1, block + 16, block + 4096]) {
        let heap = &mut machine.heap();
        assert_eq!(heap.size(address), None);
        assert!(heap.reallocate(address, 8).is_err() && heap.give_to_guest(address).is_err(), "{address:#x}");
        assert!(heap.take_from_guest(address).is_err(), "{address:#x}");
        assert!(GuestBox::<u32>::from_guest(heap, address).is_err(), "{address:#x}");
        assert!(address == 0 || heap.free(address).is_err(), "{address:#x}");
    }
    for size in lengths() {
        for alignment in lengths() {
            if let Ok(block) = machine.heap().allocate_aligned(size, alignment) {
                machine.heap().free(block).unwrap();
            }
        }
    }
    machine.heap().free(block).unwrap();
    assert_eq!(machine.heap().statistics().blocks, 0);
}

/// Calls the host function `take`, with these in its registers.
fn call<M>(function: impl riverrun::IntoHostFunction<(), M>, a: [u64; 2]) -> String {
    let engine = Engine::new(&Config::new()).unwrap();
    let mut linker = Linker::new(&engine);
    linker.func("take", function).unwrap();
    let mut machine = machine(&linker, &engine);
    machine.set_x(17, crc32("take").into());
    (0..).zip(a).for_each(|(n, value)| machine.set_x(10 + n, value));
    match machine.run() {
        Err(Error::Trap(trap)) if trap.cause == TrapCause::Breakpoint => format!("gives {}", machine.x(10)),
        Err(error) => error.to_string().lines().next().unwrap_or_default().to_owned(),
        Ok(status) => format!("exits with {status}"),
    }
}

/// The arguments of host functions: an array of none is one wherever it is, and what is wrong is said of the function
/// and the argument.
#[test]
fn arguments_that_lead_nowhere_are_named() {
    fn sum(caller: Caller<'_, ()>, values: Slice<f64>) -> Result<u64, PointerError> {
        Ok(values.get(caller.memory())?.len() as u64)
    }
    fn second(caller: Caller<'_, ()>, _: u64, value: Ptr<u64>) -> Result<u64, PointerError> {
        value.get(caller.memory()).map(|_| 1)
    }
    for address in addresses() {
        assert_eq!(call(sum, [address, 0]), "gives 0", "{address:#x}");
    }
    assert_eq!(call(sum, [READ_WRITE, 3]), "gives 3");
    let wrong = |what: String, argument: u32, address: u64, why: &str| {
        assert_eq!(
            what,
            format!(
                "the host function take failed: argument {argument}, the pointer {address:#x}: {why}; called at pc 0x10000"
            )
        );
    };
    wrong(call(sum, [READ_WRITE + 1, 1]), 1, READ_WRITE + 1, "it is not a multiple of 8");
    wrong(call(sum, [8, u64::MAX / 4]), 1, 8, &format!("{} elements of 8 bytes exceed all memory", u64::MAX / 4));
    wrong(call(sum, [8, 1]), 1, 8, "guest address 0x8 is not mapped for this access");
    wrong(call(second, [0, READ_WRITE + 4]), 2, READ_WRITE + 4, "it is not a multiple of 8");
}

/// So do those that every host has.
#[test]
fn the_hosts_own_functions_name_their_arguments() {
    let engine = Engine::new(&Config::new()).unwrap();
    let mut linker = Linker::<()>::new(&engine);
    linker.heap(&riverrun::HeapOptions::new()).unwrap();
    let failure = |name: &str, a: [u64; 3]| {
        let mut machine = machine(&linker, &engine);
        machine.set_x(17, crc32(name).into());
        (0..).zip(a).for_each(|(n, value)| machine.set_x(10 + n, value));
        machine.run().unwrap_err().to_string().lines().next().unwrap_or_default().to_owned()
    };
    let (good, bad) = (READ_WRITE, INACCESSIBLE);
    for (name, argument, a) in [
        ("riverrun::memset", 1, [bad, 0, 8]),
        ("riverrun::memset", 1, [READ_ONLY, 0, 8]),
        ("riverrun::memmove", 1, [bad, good, 8]),
        ("riverrun::memmove", 1, [READ_ONLY, good, 8]),
        ("riverrun::memmove", 2, [good, bad, 8]),
        ("riverrun::strlen", 1, [bad, 0, 0]),
        ("riverrun::panic", 1, [bad, 8, 0]),
    ] {
        let text = failure(name, a);
        let wrong = a[argument - 1];
        let expected = format!(
            "the host function {name} failed: argument {argument}, the pointer {wrong:#x}: guest address {wrong:#x} is \
             not mapped for this access; called at pc 0x10000"
        );
        assert_eq!(text, expected);
    }
}

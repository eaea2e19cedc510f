//! The same by the C interface: its functions with guest addresses, and host functions by values and by slots.

use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

use riverrun::image::crc32;
use riverrun_capi::Error;
use riverrun_capi::call::riverrun_func_call;
use riverrun_capi::config::{Engine, riverrun_engine_new};
use riverrun_capi::diagnosis::{riverrun_error_delete, riverrun_error_message};
use riverrun_capi::func::{riverrun_func_at, riverrun_func_delete};
use riverrun_capi::heap::{
    HeapStatistics, riverrun_heap_allocate, riverrun_heap_free, riverrun_heap_give_to_guest, riverrun_heap_reallocate,
    riverrun_heap_size, riverrun_heap_statistics, riverrun_heap_take_from_guest,
};
use riverrun_capi::linker::{
    Linker, riverrun_linker_add_heap, riverrun_linker_func, riverrun_linker_func_raw, riverrun_linker_new,
    riverrun_machine_new,
};
use riverrun_capi::machine::{
    Machine, riverrun_machine_delete, riverrun_machine_run, riverrun_machine_set_fuel, riverrun_machine_set_pc,
    riverrun_machine_set_timeout,
};
use riverrun_capi::memory::{
    riverrun_memory_map, riverrun_memory_protect, riverrun_memory_read, riverrun_memory_string, riverrun_memory_unmap,
    riverrun_memory_used, riverrun_memory_view, riverrun_memory_view_mut, riverrun_memory_write,
};
use riverrun_capi::program::{Program, riverrun_program_new};
use riverrun_capi::value::{Value, ValueOf};
use riverrun_isa::{Inst, Op, Rounding};
use riverrun_testkit::{Random, elf};

use crate::hostile::{self, LEN};

/// Functions by values, and the same by slots.
const TYPES: [[&CStr; 2]; 7] = [
    [c"v.few", c"u64 (ptr, u64, i32)"],
    [c"v.narrow", c"i8 (bool, i8, u8, i16, u16)"],
    [c"v.none", c"void ()"],
    [c"v.floats", c"f32 (f32, f64, f32, f64, f32, f64, f32, f64, f32, f64)"],
    [c"v.many", c"u32 (i64, f32, ptr, bool, u32, u16, i8, f64, i32, u64, ptr, i64, u8, f32, i16, bool)"],
    [c"v.pair", c"{i32, f64} (i32, f64)"],
    [c"v.bool", c"bool (u64)"],
];

/// Where the guest loads its registers from.
const REGISTERS: u64 = elf::DATA;
/// Registers that it loads: t0 to t2, sp, a0 to a7, and fa0 to fa7.
const INTEGERS: [u8; 12] = [5, 6, 7, 2, 10, 11, 12, 13, 14, 15, 16, 17];
const FLOATS: [u8; 8] = [10, 11, 12, 13, 14, 15, 16, 17];
const A7: usize = 11;

/// Loads its registers, and calls.
fn program() -> Vec<u8> {
    const BASE: u8 = 31;
    const ECALL: u32 = 0x0000_0073;
    const EBREAK: u32 = 0x0010_0073;
    let inst = |op, rd, rs1, imm| Inst { op, rd, rs1, rs2: 0, rs3: 0, rm: Rounding::Rne, len: 4, imm }.encode();
    let mut words = vec![inst(Op::addi, BASE, 0, 1), inst(Op::slli, BASE, BASE, REGISTERS.trailing_zeros() as i32)];
    words.extend((0..).zip(INTEGERS).map(|(n, register)| inst(Op::ld, register, BASE, 8 * n)));
    let floats = 8 * INTEGERS.len() as i32;
    words.extend((0..).zip(FLOATS).map(|(n, register)| inst(Op::fld, register, BASE, floats + 8 * n)));
    words.extend([ECALL, ECALL, EBREAK]);
    let text: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    elf::executable(&text, &[0; LEN as usize], 0)
}

/// Whether it worked; an error says something, and is freed.
fn worked(error: Option<Box<Error>>) -> bool {
    let Some(error) = error else { return true };
    // SAFETY: an error of the library's, given back to it.
    unsafe {
        assert!(!CStr::from_ptr(riverrun_error_message(Some(&error))).is_empty());
        riverrun_error_delete(Some(error));
    }
    false
}

fn made<T>(make: impl FnOnce(&mut MaybeUninit<T>) -> Option<Box<Error>>) -> T {
    let mut place = MaybeUninit::uninit();
    assert!(worked(make(&mut place)), "it can be made");
    // SAFETY: without an error it was written.
    unsafe { place.assume_init() }
}

/// Looks at what its arguments lead to, and gives results of their kinds.
unsafe extern "C" fn by_values(
    _: *mut c_void,
    caller: Machine,
    arguments: *const Value,
    arguments_len: usize,
    results: *mut Value,
    results_len: usize,
) -> Option<Box<Error>> {
    // SAFETY: as many as the library says.
    let arguments =
        unsafe { std::slice::from_raw_parts(arguments, if arguments.is_null() { 0 } else { arguments_len }) };
    // SAFETY: values of slots are wholly there.
    let words: Vec<u64> = arguments.iter().map(|argument| unsafe { argument.of.u64 }).collect();
    look(caller, words.first().copied().unwrap_or(0), words.get(1).copied().unwrap_or(0));
    for n in 0..results_len {
        // SAFETY: as above.
        unsafe { (*results.add(n)).of = ValueOf { u64: words.get(n).copied().unwrap_or(7) } };
    }
    None
}

unsafe extern "C" fn by_slots(_: *mut c_void, caller: Machine, slots: *mut u64) -> Option<Box<Error>> {
    // SAFETY: there is one at least, but for the function without any.
    let first = if slots.is_null() { 0 } else { unsafe { slots.read() } };
    look(caller, first, first >> 7);
    None
}

/// Everything that takes an address.
fn look(machine: Machine, address: u64, len: u64) {
    let here = Some(machine);
    let mut buffer = [0_u8; 64];
    let bytes = buffer.as_mut_ptr().cast::<c_void>();
    let (mut view, mut view_mut, mut text, mut size, mut block) = (
        MaybeUninit::uninit(),
        MaybeUninit::uninit(),
        MaybeUninit::uninit(),
        MaybeUninit::uninit(),
        MaybeUninit::uninit(),
    );
    let mut moved = address;
    let mut statistics = MaybeUninit::<HeapStatistics>::uninit();
    // SAFETY: the machine is alive; all else lives as long as the calls.
    unsafe {
        worked(riverrun_memory_read(here, address, bytes, len as usize % 65));
        worked(riverrun_memory_write(here, address, bytes, len as usize % 65));
        worked(riverrun_memory_string(here, address, len, Some(&mut text), Some(&mut size)));
        worked(riverrun_heap_take_from_guest(here, address));
        worked(riverrun_heap_give_to_guest(here, address));
        worked(riverrun_heap_reallocate(here, Some(&mut moved), len));
        if worked(riverrun_heap_allocate(here, len, address, Some(&mut block))) {
            assert!(riverrun_heap_size(here, block.assume_init()) == len);
            assert!(worked(riverrun_heap_free(here, block.assume_init())));
        }
        worked(riverrun_heap_free(here, address));
        worked(riverrun_heap_statistics(here, Some(&mut statistics)));
        if worked(riverrun_memory_view(here, address, len, Some(&mut view))) && len != 0 {
            view.assume_init().add(len as usize - 1).read_volatile();
        }
        if worked(riverrun_memory_view_mut(here, address, len, Some(&mut view_mut))) && len != 0 {
            view_mut.assume_init().write_volatile(1);
        }
        if address & 15 == 7 {
            let mut func = MaybeUninit::uninit();
            if worked(riverrun_func_at(here, address & !1, c"u64 (u64)".as_ptr(), Some(&mut func))) {
                let func = func.assume_init();
                let argument = Value { kind: 8, of: ValueOf { u64: len } };
                let mut result = Value { kind: 8, of: ValueOf { u64: 0 } };
                worked(riverrun_func_call(Some(&func), here, &argument, 1, &mut result, 1));
                riverrun_func_delete(Some(func));
            }
        }
        match address % 32 {
            29 => worked(riverrun_memory_map(here, address & !0xfff, len, 3)),
            30 => worked(riverrun_memory_protect(here, address & !0xfff, len & !0xfff, (len & 3) as u32)),
            31 => worked(riverrun_memory_unmap(here, address & !0xfff, len & !0xfff)),
            _ => true,
        };
        riverrun_memory_used(here);
    }
}

struct Host {
    linker: Box<Linker>,
    program: Box<Program>,
    hashes: Vec<u64>,
}

fn host() -> &'static Host {
    static HOST: OnceLock<Host> = OnceLock::new();
    HOST.get_or_init(|| {
        let elf = program();
        // SAFETY: what is handed over lives as long as the calls, or is static.
        unsafe {
            let engine: Box<Engine> = made(|engine| riverrun_engine_new(None, Some(engine)));
            let program =
                made(|program| riverrun_program_new(Some(&engine), elf.as_ptr().cast(), elf.len(), Some(program)));
            let mut linker: Box<Linker> = made(|linker| riverrun_linker_new(Some(&engine), Some(linker)));
            assert!(worked(riverrun_linker_add_heap(Some(&mut linker), 16 << 20)));
            let mut hashes = vec![crc32("riverrun::malloc").into(), crc32("riverrun::free").into()];
            for (n, [name, types]) in TYPES.into_iter().enumerate() {
                let names = [name.to_owned(), std::ffi::CString::new(format!("s.{n}")).expect("it has no zero")];
                let (data, types) = (ptr::null_mut(), types.as_ptr());
                let linker = &mut *linker;
                assert!(worked(riverrun_linker_func(
                    Some(linker),
                    names[0].as_ptr(),
                    types,
                    Some(by_values),
                    data,
                    None
                )));
                assert!(worked(riverrun_linker_func_raw(
                    Some(linker),
                    names[1].as_ptr(),
                    types,
                    Some(by_slots),
                    data,
                    None
                )));
                hashes.extend(names.map(|name| u64::from(crc32(name.to_str().expect("it is ASCII")))));
            }
            Host { linker, program, hashes }
        }
    })
}

pub fn attack(random: &mut Random) {
    let Host { linker, program, hashes } = host();
    // SAFETY: handles are alive, and this thread alone uses the machine.
    unsafe {
        let machine = made(|machine| riverrun_machine_new(Some(linker), Some(program), None, Some(machine)));
        let here = Some(machine);
        for _ in 0..1 + random.below(8) {
            let mut words: Vec<u64> = (0..INTEGERS.len() + FLOATS.len()).map(|_| hostile::value(random)).collect();
            if !random.one_in(4) {
                words[3] = elf::DATA + LEN - 256;
            }
            words[A7] = random.pick(hashes);
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            // The guest may have no memory there any more.
            worked(riverrun_memory_write(here, REGISTERS, bytes.as_ptr().cast(), bytes.len()));
            assert!(worked(riverrun_machine_set_pc(here, elf::TEXT)));
            assert!(worked(riverrun_machine_set_fuel(here, 1000)));
            assert!(worked(riverrun_machine_set_timeout(here, 5_000_000)));
            worked(riverrun_machine_run(here, None));
            look(machine, hostile::value(random), hostile::value(random));
        }
        riverrun_machine_delete(here);
    }
}

//! Host functions of every type of parameter and result, what they do with what they get, and the guest's heap.

use std::sync::OnceLock;

use riverrun::bytemuck::{self, AnyBitPattern, NoUninit, Pod, Zeroable};
use riverrun::image::crc32;
use riverrun::{
    Caller, Config, CxxLibrary, CxxString, CxxVector, Engine, Error, GuestBox, GuestString, GuestVec, HeapOptions,
    HostError, Linker, Perm, PointerError, Program, Ptr, Slice, Str,
};
use riverrun_testkit::Random;

use crate::hostile;

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
struct Point {
    x: f32,
    y: f32,
}
riverrun::by_value!(Point { x: f32, y: f32 });

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[bytemuck(crate = "riverrun::bytemuck")]
struct Handle {
    id: i64,
    kinds: [i32; 2],
}
riverrun::by_value!(Handle = [(0, riverrun::Scalar::I64), (8, riverrun::Scalar::I32), (12, riverrun::Scalar::I32)]);

#[repr(C, align(64))]
#[derive(Clone, Copy, Debug, AnyBitPattern)]
#[bytemuck(crate = "riverrun::bytemuck")]
struct Line([u8; 64]);

/// What hosts keep of what guests hand over.
#[derive(Default)]
struct Kept {
    boxes: Vec<GuestBox<u64>>,
    lists: Vec<GuestVec<u64>>,
    texts: Vec<GuestString>,
}

type Call<'a> = Caller<'a, Kept>;

fn look<T: AnyBitPattern + NoUninit>(caller: &mut Call<'_>, at: Ptr<T>, len: u64) -> Result<u64, PointerError> {
    let len = at.slice(len).get(caller.memory())?.len() as u64;
    let first: Vec<u8> = bytemuck::bytes_of(at.get(caller.memory())?).to_vec();
    let place = at.slice(len.min(1)).get_mut(caller.memory_mut())?;
    if let Some(place) = place.first_mut() {
        bytemuck::bytes_of_mut(place).copy_from_slice(&first);
    }
    at.get_mut(caller.memory_mut())?;
    Ok(len)
}

/// Adds the functions; gives their names. `records` has the heap record what happens to blocks.
fn add(linker: &mut Linker<Kept>, records: bool) -> Result<Vec<&'static str>, Error> {
    let mut names = Vec::new();
    macro_rules! function {
        ($name:literal, $function:expr) => {
            linker.func($name, $function)?;
            names.push($name);
        };
    }
    function!("integers", |a: bool, b: i8, c: u8, d: i16, e: u16, f: i32, g: u32, h: i64, i: u64, j: bool| {
        u64::from(a ^ j) ^ b as u64 ^ u64::from(c) ^ d as u64 ^ u64::from(e) ^ f as u64 ^ u64::from(g) ^ h as u64 ^ i
    });
    function!("floats", |a: f32, b: f64, c: f32, d: f64, e: f32, f: f64, g: f32, h: f64, i: f32, j: f64| {
        f64::from(a + c + e + g + i) + b + d + f + h + j
    });
    function!("mixed", |a: u8,
                        b: f32,
                        c: Point,
                        d: f64,
                        e: Handle,
                        f: i16,
                        g: Point,
                        h: Slice<u8>,
                        i: Handle,
                        j: f32| {
        let handles = e.id ^ i.id ^ i64::from(e.kinds[0] ^ i.kinds[1]);
        f64::from(a) + f64::from(b + c.x + g.y + j) + d + f64::from(f) + h.len() as f64 + handles as f64
    });
    function!("bool", |x: u64| x & 1 != 0);
    function!("i8", |x: i64| x as i8);
    function!("u16", |x: i64| x as u16);
    function!("u32", |x: i64| x as u32);
    function!("f32", |x: f64| x as f32);
    function!("pointer", |x: u64| Ptr::<u8>::new(x));
    function!("text", |x: u64| Str::new(x));
    function!("pair", |x: u64, y: i8| (y, x as u16));
    function!("pair of floats", |x: f32, y: u64| (y, x));
    function!("point", |x: f32| Point { x, y: -x });
    function!("handle", |x: Handle| Handle { id: !x.id, ..x });
    function!("fails", |x: u32| -> Result<(), HostError> { Err(format!("{x}").into()) });
    function!("bytes", |mut caller: Call<'_>, at: Ptr<u8>, len: u64| look(&mut caller, at, len));
    function!("words", |mut caller: Call<'_>, at: Ptr<u64>, len: u64| look(&mut caller, at, len));
    function!("triples", |mut caller: Call<'_>, at: Ptr<[u16; 3]>, len: u64| look(&mut caller, at, len));
    function!("points", |mut caller: Call<'_>, at: Ptr<Point>, len: u64| look(&mut caller, at, len));
    function!("lines", |caller: Call<'_>, at: Slice<Line>| {
        at.start().get(caller.memory()).map(|line| u64::from(line.0[63]))?;
        at.get(caller.memory()).map(|lines| lines.len() as u64)
    });
    function!("array", |mut caller: Call<'_>, array: Slice<f64>, with: f64| {
        array.get(caller.memory()).map(|elements| elements.len())?;
        array.get_mut(caller.memory_mut()).map(|elements| elements.fill(with))
    });
    function!("texts", |caller: Call<'_>, bytes: Slice<u8>, text: Str| {
        let len = bytes.text(caller.memory()).map(str::len);
        text.bytes(caller.memory())?;
        text.get(caller.memory()).map(|text| text.len() as u64 + len.unwrap_or(0) as u64)
    });
    function!("objects", |mut caller: Call<'_>, at: u64, libcxx: bool, text: Slice<u8>| -> Result<(), Error> {
        let library = if libcxx { CxxLibrary::Libcxx } else { CxxLibrary::Libstdcxx };
        let string = CxxString::at(library, at);
        let _ = string.get(caller.memory());
        let _ = CxxVector::<f64>::at(at).get(caller.memory());
        let _ = CxxVector::<[u8; 3]>::at(at).get_mut(caller.memory_mut());
        let text = text.text(caller.memory()).unwrap_or("").to_owned();
        let elements: Vec<u16> = text.bytes().map(u16::from).collect();
        CxxVector::<u16>::at(at).construct(&mut caller.heap(), &elements)?;
        Ok(string.construct(&mut caller.heap(), &text)?)
    });
    function!("keep", |mut caller: Call<'_>, at: u64, len: u64| -> Result<u64, Error> {
        let heap = &mut caller.heap();
        let number = GuestBox::<u64>::from_guest(heap, at);
        let list = GuestVec::<u64>::with_capacity(heap, len as usize)?;
        let text = GuestString::new(heap, &format!("{at:x}"))?;
        let address = text.address();
        let (kept, memory) = caller.split();
        if let Ok(number) = number {
            let _ = number.get_mut(memory);
            kept.boxes.push(number);
        }
        kept.lists.push(list);
        kept.texts.push(text);
        Ok(address)
    });
    function!("kept", |mut caller: Call<'_>, value: u64| -> Result<u64, Error> {
        let mut kept = std::mem::take(caller.data_mut());
        for list in &mut kept.lists {
            list.push(&mut caller.heap(), value)?;
            let _ = list.get(caller.memory());
        }
        for text in &mut kept.texts {
            text.push_str(&mut caller.heap(), "!")?;
            let _ = text.get(caller.memory());
        }
        kept.boxes.truncate(value as usize % 4);
        kept.lists.truncate(value as usize % 3);
        *caller.data_mut() = kept;
        Ok(caller.heap().statistics().blocks)
    });
    function!("blocks", |mut caller: Call<'_>, what: u8, at: u64, size: u64| -> Result<u64, Error> {
        let heap = &mut caller.heap();
        match what % 6 {
            0 => Ok(heap.allocate_aligned(at, size)?),
            1 => Ok(heap.reallocate(at, size)?),
            2 => heap.free(at).map(|()| 0).map_err(Error::from),
            3 => heap.give_to_guest(at).map(|()| 0).map_err(Error::from),
            4 => heap.take_from_guest(at).map(|()| 0).map_err(Error::from),
            _ => Ok(heap.size(at).unwrap_or(0)),
        }
    });
    function!("memory", |mut caller: Call<'_>, what: u8, at: u64, len: u64, to: u64| -> Result<u64, Error> {
        let memory = caller.memory_mut();
        let perm = [Perm::NONE, Perm::READ, Perm::READ | Perm::WRITE, Perm::EXECUTE][to as usize % 4];
        match what % 8 {
            0 => Ok(memory.slice(at, len)?.len() as u64),
            1 => Ok(memory.slice_mut(at, len)?.len() as u64),
            2 => memory.copy_within(at, to, len).map(|()| len).map_err(Error::from),
            3 => Ok(memory.c_string(at, len)?.len() as u64),
            4 => memory.map(at, len, perm).map(|()| 0).map_err(Error::from),
            5 => memory.protect(at, len, perm).map(|()| 0).map_err(Error::from),
            6 => memory.unmap(at, len).map(|()| 0).map_err(Error::from),
            _ => Ok(u64::from(memory.read_u32(at)?) ^ memory.read_u64(to)?),
        }
    });
    function!("call back", |mut caller: Call<'_>, at: u64, with: u64| -> Result<f64, Error> {
        let function = caller.func_at::<(u64, f32, Point), f64>(at)?;
        function.call(&mut caller, (with, with as f32, Point { x: 1.0, y: 2.0 }))
    });
    function!("registers", |mut caller: Call<'_>, number: u8, value: u64| {
        caller.set_x(number % 32, value);
        caller.set_f(number % 32, value);
        caller.set_fcsr(value as u32);
        caller.x(2) ^ caller.pc() ^ caller.instructions()
    });
    let signature = "{i32, f64} (i8, f32, u64, bool, f64, ptr, i16, u32, i64, u8, u16, f32)";
    linker.dyn_func("dynamic", &signature.parse().expect("it is a signature"), |_, slots| {
        slots.swap(0, 1);
        Ok(())
    })?;
    names.push("dynamic");
    linker.heap(HeapOptions::new().limit(16 << 20).record_sites(records))?;
    names.extend([
        "riverrun::malloc",
        "riverrun::calloc",
        "riverrun::aligned_alloc",
        "riverrun::realloc",
        "riverrun::free",
        "riverrun::free_sized",
        "riverrun::malloc_usable_size",
        "riverrun::memmove",
        "riverrun::memset",
        "riverrun::strlen",
        "riverrun::panic",
    ]);
    Ok(names)
}

struct Host {
    linker: Linker<Kept>,
    program: Program,
    /// What a7 is for each function.
    hashes: Vec<u32>,
}

/// For the interpreter and for the reference interpreter, with all addresses and with few.
fn hosts() -> &'static [Host; 4] {
    static HOSTS: OnceLock<[Host; 4]> = OnceLock::new();
    HOSTS.get_or_init(|| {
        [(false, 32), (true, 32), (false, 26), (true, 26)].map(|(single_step, bits)| {
            let mut config = Config::new();
            config.address_bits(bits).memory_limit(hostile::MEMORY_LIMIT);
            config.stack_size(64 << 10).call_depth(8).single_step(single_step);
            let engine = Engine::new(&config).expect("the configuration is in range");
            let mut linker = Linker::new(&engine);
            let names = add(&mut linker, single_step).expect("the names are different");
            let program = Program::new(&engine, hostile::program()).expect("it is a program");
            Host { linker, program, hashes: names.into_iter().map(crc32).collect() }
        })
    })
}

pub fn attack(random: &mut Random) {
    let Host { linker, program, hashes } = &hosts()[random.below(4)];
    let mut machine = linker.instantiate(program, Kept::default()).expect("there is room");
    hostile::prepare(&mut machine, random);
    for _ in 0..1 + random.below(8) {
        let hash = random.pick(hashes);
        hostile::call(&mut machine, random, hash.into());
    }
    drop(std::mem::take(machine.data_mut()));
    machine.heap().statistics();
}

//! Strings and vectors of the guest's C++ library in guest memory. The host can read them without copying, and make them to
//! pass to functions that take `std::string&` or `std::vector<T>&`.
//!
//! The layouts are those of riscv64 and of the libraries' default ABIs: libstdc++'s C++11 strings, libc++'s
//! ABI version 1. Objects that the host makes own memory of the guest heap, as the guest's objects do. The guest may change
//! them if its `operator new` and `delete` use that heap.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::{AnyBitPattern, NoUninit};

use super::deferred::GivenUp;
use super::owned::{Block, bytes_of};
use super::slab::Owner;
use super::view::Heap;
use crate::heap_error::{HeapError, HeapProblem as Problem};
use crate::memory::Memory;

/// A C++ standard library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CxxLibrary {
    /// GCC's.
    Libstdcxx,
    /// LLVM's.
    Libcxx,
}

impl CxxLibrary {
    /// Bytes of a `std::string` of this library.
    pub const fn string_size(self) -> u64 {
        match self {
            CxxLibrary::Libstdcxx => 32,
            CxxLibrary::Libcxx => 24,
        }
    }

    /// The longest string that is within the object, in bytes.
    const fn short_max(self) -> usize {
        match self {
            CxxLibrary::Libstdcxx => 15,
            CxxLibrary::Libcxx => 22,
        }
    }
}

/// Where the bytes of a string are.
struct Bytes {
    address: u64,
    len: u64,
    /// Whether they are in a block of their own.
    apart: bool,
}

/// A `std::string` in a guest's memory, wherever it comes from.
///
/// ```
/// # use riverrun::{Config, Engine, Linker, Program};
/// use riverrun::{CxxLibrary, CxxString};
/// # let engine = Engine::new(&Config::new())?;
/// # let program = Program::new(&engine, riverrun::doc::TINY)?;
/// # let mut machine = Linker::new(&engine).instantiate(&program, ())?;
/// // A structure of the guest's has a string, which the guest has not constructed yet.
/// let field = machine.heap().allocate(32)?;
/// let name = CxxString::at(CxxLibrary::Libstdcxx, field);
/// name.construct(&mut machine.heap(), "too long to be within the object itself")?;
/// assert_eq!(name.get(machine.memory())?, "too long to be within the object itself");
/// # Ok::<(), riverrun::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CxxString {
    library: CxxLibrary,
    address: u64,
}

impl CxxString {
    /// The string object at this guest address.
    pub const fn at(library: CxxLibrary, address: u64) -> CxxString {
        CxxString { library, address }
    }

    /// The guest address of the object.
    pub const fn address(self) -> u64 {
        self.address
    }

    fn find(self, memory: &Memory) -> Result<Bytes, HeapError> {
        let at = self.address;
        let word = |n: u64| memory.read_u64(at.wrapping_add(8 * n));
        match self.library {
            CxxLibrary::Libstdcxx => {
                let (address, len) = (word(0)?, word(1)?);
                Ok(Bytes { address, len, apart: address != at.wrapping_add(16) })
            }
            CxxLibrary::Libcxx if word(0)? & 1 != 0 => Ok(Bytes { address: word(2)?, len: word(1)?, apart: true }),
            CxxLibrary::Libcxx => Ok(Bytes { address: at.wrapping_add(1), len: word(0)? >> 1 & 0x7f, apart: false }),
        }
    }

    /// The bytes.
    ///
    /// # Errors
    /// If the object, or what it points to, is not readable.
    pub fn bytes(self, memory: &Memory) -> Result<&[u8], HeapError> {
        let Bytes { address, len, apart } = self.find(memory)?;
        if !apart && len > self.library.short_max() as u64 {
            return Err(Problem::Malformed { address: self.address }.into());
        }
        Ok(memory.slice(address, len)?)
    }

    /// The text.
    ///
    /// # Errors
    /// As [`CxxString::bytes`], and if it is not UTF-8.
    pub fn get(self, memory: &Memory) -> Result<&str, HeapError> {
        let address = self.address;
        str::from_utf8(self.bytes(memory)?).map_err(|_| Problem::NotUtf8 { address }.into())
    }

    /// Makes a string of `text` where there is none yet; the guest destroys it.
    ///
    /// # Errors
    /// If the memory is not writable, or there is no room in the heap.
    pub fn construct(self, heap: &mut Heap<'_>, text: &str) -> Result<(), HeapError> {
        let at = self.address;
        let size = self.library.string_size() as usize;
        let len = text.len() as u64;
        if text.len() <= self.library.short_max() {
            let (words, start) = match self.library {
                CxxLibrary::Libstdcxx => ([at.wrapping_add(16), len], 16),
                CxxLibrary::Libcxx => ([len << 1, 0], 1),
            };
            let mut object = [0; 32];
            object[..16].copy_from_slice(words.map(u64::to_le_bytes).as_flattened());
            object[start..start + text.len()].copy_from_slice(text.as_bytes());
            return Ok(heap.memory.write(at, &object[..size])?);
        }
        // Checked first: a block that nothing points to would be lost.
        heap.memory.slice_mut(at, size as u64)?;
        // What the guest's library will say that it has when it frees it.
        let capacity = match self.library {
            CxxLibrary::Libstdcxx => len + 1,
            CxxLibrary::Libcxx => (len + 1).next_multiple_of(16),
        };
        let data = heap.allocate_as(capacity, 1, false, Owner::Guest)?;
        let words = match self.library {
            CxxLibrary::Libstdcxx => [data, len, len, 0],
            CxxLibrary::Libcxx => [capacity | 1, len, data, 0],
        };
        let bytes = heap.memory.slice_mut(data, len + 1)?;
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        bytes[text.len()] = 0;
        Ok(heap.memory.write(at, &words.map(u64::to_le_bytes).as_flattened()[..size])?)
    }
}

fn owned_by_string<const LIBCXX: bool>(memory: &Memory, address: u64) -> Option<u64> {
    let library = if LIBCXX { CxxLibrary::Libcxx } else { CxxLibrary::Libstdcxx };
    let bytes = CxxString::at(library, address).find(memory).ok()?;
    bytes.apart.then_some(bytes.address)
}

fn owned_by_vector(memory: &Memory, address: u64) -> Option<u64> {
    memory.read_u64(address).ok()
}

/// A block for an object that is freed with what it owns then.
fn object(heap: &mut Heap<'_>, size: u64, owns: fn(&Memory, u64) -> Option<u64>) -> Result<Block, HeapError> {
    let mut block = Block::new(heap, size, 16)?;
    heap.memory.slice_mut(block.address(), size)?.fill(0);
    block.given_up = GivenUp::Object { address: block.address(), owns };
    Ok(block)
}

/// A `std::string` that the host has made and owns: dropped, it is destroyed and freed. The guest may change
/// it, by reference.
///
/// ```
/// # use riverrun::{Config, Engine, Linker, Program};
/// use riverrun::{CxxLibrary, GuestCxxString};
/// # let engine = Engine::new(&Config::new())?;
/// # let program = Program::new(&engine, riverrun::doc::TINY)?;
/// # let mut machine = Linker::new(&engine).instantiate(&program, ())?;
/// let text = "a text that does not fit into the object itself";
/// let string = GuestCxxString::new(&mut machine.heap(), CxxLibrary::Libcxx, text)?;
/// // Guest functions that take a `std::string&` get its address.
/// assert_eq!(string.view().get(machine.memory())?, text);
/// assert_eq!(machine.heap().statistics().blocks, 2);
/// drop(string);
/// assert_eq!(machine.heap().statistics().blocks, 0);
/// # Ok::<(), riverrun::Error>(())
/// ```
#[derive(Debug)]
pub struct GuestCxxString {
    block: Block,
    library: CxxLibrary,
}

impl GuestCxxString {
    /// Makes a string in a guest's memory.
    ///
    /// # Errors
    /// If there is no room.
    pub fn new(heap: &mut Heap<'_>, library: CxxLibrary, text: &str) -> Result<GuestCxxString, HeapError> {
        let owns = match library {
            CxxLibrary::Libstdcxx => owned_by_string::<false>,
            CxxLibrary::Libcxx => owned_by_string::<true>,
        };
        let block = object(heap, library.string_size(), owns)?;
        CxxString::at(library, block.address()).construct(heap, text)?;
        Ok(GuestCxxString { block, library })
    }

    /// The guest address of the object.
    pub fn address(&self) -> u64 {
        self.block.address()
    }

    /// The string, to be read.
    pub fn view(&self) -> CxxString {
        CxxString::at(self.library, self.address())
    }
}

/// A `std::vector<T>` in a guest's memory, wherever it comes from; both libraries lay it out alike. `T` is a
/// type of plain bytes (not `bool`).
///
/// ```
/// # use riverrun::{Config, Engine, Linker, Program};
/// use riverrun::CxxVector;
/// # let engine = Engine::new(&Config::new())?;
/// # let program = Program::new(&engine, riverrun::doc::TINY)?;
/// # let mut machine = Linker::new(&engine).instantiate(&program, ())?;
/// let field = machine.heap().allocate(24)?;
/// let scores = CxxVector::<u32>::at(field);
/// scores.construct(&mut machine.heap(), &[1, 2, 3])?;
/// scores.get_mut(machine.memory_mut())?[0] = 10;
/// assert_eq!(scores.get(machine.memory())?, [10, 2, 3]);
/// # Ok::<(), riverrun::Error>(())
/// ```
pub struct CxxVector<T> {
    address: u64,
    elements: PhantomData<fn() -> T>,
}

impl<T> Clone for CxxVector<T> {
    fn clone(&self) -> CxxVector<T> {
        *self
    }
}

impl<T> Copy for CxxVector<T> {}

impl<T> fmt::Debug for CxxVector<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CxxVector({:#x})", self.address)
    }
}

/// Bytes of a `std::vector`.
const VECTOR_SIZE: u64 = 24;

impl<T> CxxVector<T> {
    /// The vector object at this guest address.
    pub const fn at(address: u64) -> CxxVector<T> {
        CxxVector { address, elements: PhantomData }
    }

    /// The guest address of the object.
    pub const fn address(self) -> u64 {
        self.address
    }
}

impl<T: AnyBitPattern + NoUninit> CxxVector<T> {
    /// The address and number of the elements.
    fn find(self, memory: &Memory) -> Result<(u64, u64), HeapError> {
        let malformed = || Problem::Malformed { address: self.address };
        let start = memory.read_u64(self.address)?;
        let end = memory.read_u64(self.address.wrapping_add(8))?;
        let bytes = end.checked_sub(start).ok_or_else(malformed)?;
        let size = bytes_of::<T>(1)?;
        if !bytes.is_multiple_of(size) || !start.is_multiple_of(align_of::<T>() as u64) {
            return Err(malformed().into());
        }
        Ok((start, bytes / size))
    }

    /// The elements.
    ///
    /// # Errors
    /// If the object, or what it points to, is not readable, or does not hold `T`s.
    pub fn get(self, memory: &Memory) -> Result<&[T], HeapError> {
        let (start, len) = self.find(memory)?;
        Ok(memory.values(start, len)?)
    }

    /// The elements.
    ///
    /// # Errors
    /// As [`CxxVector::get`], and if they are not writable.
    pub fn get_mut(self, memory: &mut Memory) -> Result<&mut [T], HeapError> {
        let (start, len) = self.find(memory)?;
        Ok(memory.values_mut(start, len)?)
    }

    /// Makes a vector of these elements where there is none yet; the guest destroys it.
    ///
    /// # Errors
    /// If the memory is not writable, or there is no room in the heap.
    pub fn construct(self, heap: &mut Heap<'_>, elements: &[T]) -> Result<(), HeapError> {
        heap.memory.slice_mut(self.address, VECTOR_SIZE)?;
        let bytes = bytes_of::<T>(elements.len())?;
        let start = match bytes {
            0 => 0,
            _ => heap.allocate_as(bytes, align_of::<T>() as u64, false, Owner::Guest)?,
        };
        heap.memory.write(start, bytemuck::cast_slice(elements))?;
        let object = [start, start + bytes, start + bytes].map(u64::to_le_bytes);
        Ok(heap.memory.write(self.address, object.as_flattened())?)
    }
}

/// A `std::vector<T>` that the host has made and owns: dropped, it is destroyed and freed. The guest may
/// change it, by reference.
///
/// ```
/// # use riverrun::{Config, Engine, Linker, Program};
/// use riverrun::GuestCxxVector;
/// # let engine = Engine::new(&Config::new())?;
/// # let program = Program::new(&engine, riverrun::doc::TINY)?;
/// # let mut machine = Linker::new(&engine).instantiate(&program, ())?;
/// let path = GuestCxxVector::new(&mut machine.heap(), &[[0.0_f32, 1.0], [2.0, 3.0]])?;
/// // Guest functions that take a `std::vector<Point>&` get its address.
/// assert_eq!(path.view().get(machine.memory())?.len(), 2);
/// # Ok::<(), riverrun::Error>(())
/// ```
pub struct GuestCxxVector<T> {
    block: Block,
    elements: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for GuestCxxVector<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GuestCxxVector({:#x})", self.block.address())
    }
}

impl<T: AnyBitPattern + NoUninit> GuestCxxVector<T> {
    /// Makes a vector in a guest's memory.
    ///
    /// # Errors
    /// If there is no room.
    pub fn new(heap: &mut Heap<'_>, elements: &[T]) -> Result<GuestCxxVector<T>, HeapError> {
        let block = object(heap, VECTOR_SIZE, owned_by_vector)?;
        CxxVector::at(block.address()).construct(heap, elements)?;
        Ok(GuestCxxVector { block, elements: PhantomData })
    }

    /// The guest address of the object.
    pub fn address(&self) -> u64 {
        self.block.address()
    }

    /// The vector, to be read and written.
    pub fn view(&self) -> CxxVector<T> {
        CxxVector::at(self.address())
    }
}

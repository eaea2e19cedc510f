//! Objects in a guest's memory that the host owns. Dropping one puts its block on the heap's list ([`super::deferred`]),
//! which frees it before its next operation.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::{AnyBitPattern, NoUninit};

use super::deferred::{Deferred, GivenUp};
use super::slab::Owner;
use super::view::Heap;
use crate::heap_error::{HeapError, HeapProblem as Problem};
use crate::memory::Memory;

/// A block that frees itself.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) given_up: GivenUp,
    deferred: Deferred,
    /// The number of the memory that it is in.
    memory: u64,
}

impl Drop for Block {
    fn drop(&mut self) {
        if !matches!(self.given_up, GivenUp::Nothing) {
            self.deferred.push(self.given_up);
        }
    }
}

impl Block {
    pub(super) fn new(heap: &mut Heap<'_>, size: u64, alignment: usize) -> Result<Block, HeapError> {
        let address = heap.allocate_as(size, alignment as u64, false, Owner::Host)?;
        Ok(Block::at(heap, address))
    }

    fn at(heap: &Heap<'_>, address: u64) -> Block {
        Block { given_up: GivenUp::Block(address), deferred: heap.deferred().clone(), memory: heap.memory.id() }
    }

    pub(super) fn address(&self) -> u64 {
        match self.given_up {
            GivenUp::Nothing => 0,
            GivenUp::Block(address) | GivenUp::Object { address, .. } => address,
        }
    }

    /// The address of its contents, if it is in this memory.
    fn address_in(&self, memory: &Memory) -> Result<u64, HeapError> {
        match self.memory == memory.id() {
            true => Ok(self.address()),
            false => Err(Problem::OtherMachine.into()),
        }
    }

    fn resize(&mut self, heap: &mut Heap<'_>, size: u64, alignment: usize) -> Result<(), HeapError> {
        let old = self.address_in(heap.memory)?;
        if alignment <= 16 {
            self.given_up = GivenUp::Block(heap.reallocate(old, size)?);
            return Ok(());
        }
        let new = Block::new(heap, size, alignment)?;
        let kept = heap.size(old).unwrap_or(0).min(size);
        heap.memory.copy_within(old, new.address(), kept)?;
        *self = new;
        Ok(())
    }

    fn into_guest(mut self, heap: &mut Heap<'_>) -> Result<u64, HeapError> {
        let address = self.address_in(heap.memory)?;
        heap.give_to_guest(address)?;
        self.given_up = GivenUp::Nothing;
        Ok(address)
    }

    /// Transfers a block of the guest with at least `size` bytes to the host.
    fn from_guest(heap: &mut Heap<'_>, address: u64, size: u64) -> Result<Block, HeapError> {
        let Some(allocated) = heap.size(address) else { return Err(heap.error(Problem::Foreign { address })) };
        if allocated < size {
            return Err(heap.error(Problem::WrongSize { address, size, allocated }));
        }
        // Only one object may own a block, or it would be freed twice.
        if heap.is_owned_by_host(address) {
            return Err(heap.error(Problem::HostOwned { address }));
        }
        heap.take_from_guest(address)?;
        Ok(Block::at(heap, address))
    }
}

/// Bytes of so many elements.
pub(super) fn bytes_of<T>(len: usize) -> Result<u64, HeapError> {
    const { assert!(size_of::<T>() != 0, "nothing in a guest's memory has no size") };
    let (count, size) = (len as u64, size_of::<T>() as u64);
    count.checked_mul(size).ok_or_else(|| Problem::TooLarge { count, size }.into())
}

/// A value in a guest's memory that the host owns. It frees itself when it is dropped; the guest can read and
/// write it, and not free it.
///
/// `T` is a type of plain bytes with C's layout, such as a `#[repr(C)]` struct that derives bytemuck's `Pod`.
///
/// ```
/// # use riverrun::{Config, Engine, Linker, Program};
/// use riverrun::GuestBox;
/// # let engine = Engine::new(&Config::new())?;
/// # let program = Program::new(&engine, riverrun::doc::TINY)?;
/// # let mut machine = Linker::new(&engine).instantiate(&program, ())?;
/// let position = GuestBox::new(&mut machine.heap(), [1.0_f32, 2.0, 3.0])?;
/// // Guest functions get its address.
/// assert!(machine.heap().arena().contains(&position.address()));
/// position.get_mut(machine.memory_mut())?[0] = 10.0;
/// assert_eq!(*position.get(machine.memory())?, [10.0, 2.0, 3.0]);
/// drop(position);
/// assert_eq!(machine.heap().statistics().blocks, 0);
/// # Ok::<(), riverrun::Error>(())
/// ```
pub struct GuestBox<T> {
    block: Block,
    value: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for GuestBox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GuestBox({:#x})", self.address())
    }
}

impl<T> GuestBox<T> {
    /// The guest address of the value.
    pub fn address(&self) -> u64 {
        self.block.address()
    }

    /// Makes the value the guest's, which has to free it.
    ///
    /// # Errors
    /// If it is of another machine; it is freed then.
    pub fn into_guest(self, heap: &mut Heap<'_>) -> Result<u64, HeapError> {
        self.block.into_guest(heap)
    }
}

impl<T: AnyBitPattern + NoUninit> GuestBox<T> {
    /// Puts a value into a guest's memory.
    ///
    /// # Errors
    /// If there is no room.
    pub fn new(heap: &mut Heap<'_>, value: T) -> Result<GuestBox<T>, HeapError> {
        let block = Block::new(heap, bytes_of::<T>(1)?, align_of::<T>())?;
        heap.memory.write(block.address(), bytemuck::bytes_of(&value))?;
        Ok(GuestBox { block, value: PhantomData })
    }

    /// Makes a block of the guest's the host's.
    ///
    /// ```
    /// # use riverrun::{Config, Engine, GuestBox, Linker, Program};
    /// # let engine = Engine::new(&Config::new())?;
    /// # let program = Program::new(&engine, riverrun::doc::TINY)?;
    /// # let mut machine = Linker::new(&engine).instantiate(&program, ())?;
    /// let address = GuestBox::new(&mut machine.heap(), 7_u32)?.into_guest(&mut machine.heap())?;
    /// let again: GuestBox<u32> = GuestBox::from_guest(&mut machine.heap(), address)?;
    /// assert_eq!(*again.get(machine.memory())?, 7);
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    ///
    /// # Errors
    /// If no block of the guest's starts at `address`, or it is too small or misaligned for a `T`.
    pub fn from_guest(heap: &mut Heap<'_>, address: u64) -> Result<GuestBox<T>, HeapError> {
        if !address.is_multiple_of(align_of::<T>() as u64) {
            return Err(Problem::Misaligned { alignment: align_of::<T>() as u64 }.into());
        }
        Ok(GuestBox { block: Block::from_guest(heap, address, bytes_of::<T>(1)?)?, value: PhantomData })
    }

    /// The value, in its machine's memory.
    ///
    /// # Errors
    /// If the guest has unmapped it, or the memory is another machine's.
    pub fn get<'a>(&self, memory: &'a Memory) -> Result<&'a T, HeapError> {
        Ok(memory.value(self.block.address_in(memory)?)?)
    }

    /// The value, in its machine's memory.
    ///
    /// # Errors
    /// If the guest has unmapped it, or the memory is another machine's.
    pub fn get_mut<'a>(&self, memory: &'a mut Memory) -> Result<&'a mut T, HeapError> {
        Ok(memory.value_mut(self.block.address_in(memory)?)?)
    }
}

/// A growing array in a guest's memory that the host owns: as [`GuestBox`], of any number of values.
///
/// ```
/// # use riverrun::{Config, Engine, Linker, Program};
/// use riverrun::GuestVec;
/// # let engine = Engine::new(&Config::new())?;
/// # let program = Program::new(&engine, riverrun::doc::TINY)?;
/// # let mut machine = Linker::new(&engine).instantiate(&program, ())?;
/// let mut scores = GuestVec::new(&mut machine.heap(), &[10_u32, 20])?;
/// scores.extend(&mut machine.heap(), &[30, 40])?;
/// scores.get_mut(machine.memory_mut())?[0] += 1;
/// assert_eq!(scores.get(machine.memory())?, [11, 20, 30, 40]);
/// # Ok::<(), riverrun::Error>(())
/// ```
pub struct GuestVec<T> {
    block: Block,
    len: usize,
    capacity: usize,
    elements: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for GuestVec<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GuestVec({:#x}, {})", self.address(), self.len)
    }
}

impl<T> GuestVec<T> {
    /// The guest address of the first element; another after the array has grown.
    pub fn address(&self) -> u64 {
        self.block.address()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Elements that it can have where it is.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Forgets all elements from `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Makes the array the guest's, which has to free it.
    ///
    /// # Errors
    /// If it is of another machine; it is freed then.
    pub fn into_guest(self, heap: &mut Heap<'_>) -> Result<u64, HeapError> {
        self.block.into_guest(heap)
    }
}

impl<T: AnyBitPattern + NoUninit> GuestVec<T> {
    /// Puts elements into a guest's memory.
    ///
    /// # Errors
    /// If there is no room.
    pub fn new(heap: &mut Heap<'_>, elements: &[T]) -> Result<GuestVec<T>, HeapError> {
        let mut vec = GuestVec::with_capacity(heap, elements.len())?;
        vec.extend(heap, elements)?;
        Ok(vec)
    }

    /// An empty array with room for so many elements.
    ///
    /// # Errors
    /// If there is no room.
    pub fn with_capacity(heap: &mut Heap<'_>, capacity: usize) -> Result<GuestVec<T>, HeapError> {
        let block = Block::new(heap, bytes_of::<T>(capacity)?, align_of::<T>())?;
        Ok(GuestVec { block, len: 0, capacity, elements: PhantomData })
    }

    /// Adds elements at the end.
    ///
    /// # Errors
    /// If there is no room, or the array is of another machine: then nothing has changed.
    pub fn extend(&mut self, heap: &mut Heap<'_>, elements: &[T]) -> Result<(), HeapError> {
        self.block.address_in(heap.memory)?;
        // Both are in memory, and elements have a size.
        let len = self.len.saturating_add(elements.len());
        if len > self.capacity {
            let capacity = len.max(self.capacity.saturating_mul(2));
            self.block.resize(heap, bytes_of::<T>(capacity)?, align_of::<T>())?;
            self.capacity = capacity;
        }
        let at = self.address() + bytes_of::<T>(self.len)?;
        heap.memory.write(at, bytemuck::cast_slice(elements))?;
        self.len = len;
        Ok(())
    }

    /// Adds an element at the end.
    ///
    /// # Errors
    /// As [`GuestVec::extend`].
    pub fn push(&mut self, heap: &mut Heap<'_>, element: T) -> Result<(), HeapError> {
        self.extend(heap, &[element])
    }

    /// The elements, in their machine's memory.
    ///
    /// # Errors
    /// If the guest has unmapped them, or the memory is another machine's.
    pub fn get<'a>(&self, memory: &'a Memory) -> Result<&'a [T], HeapError> {
        Ok(memory.values(self.block.address_in(memory)?, self.len as u64)?)
    }

    /// The elements, in their machine's memory.
    ///
    /// # Errors
    /// If the guest has unmapped them, or the memory is another machine's.
    pub fn get_mut<'a>(&self, memory: &'a mut Memory) -> Result<&'a mut [T], HeapError> {
        Ok(memory.values_mut(self.block.address_in(memory)?, self.len as u64)?)
    }
}

/// A string in a guest's memory that the host owns, with a zero behind it, as C has them.
///
/// ```
/// # use riverrun::{Config, Engine, Linker, Program};
/// use riverrun::GuestString;
/// # let engine = Engine::new(&Config::new())?;
/// # let program = Program::new(&engine, riverrun::doc::TINY)?;
/// # let mut machine = Linker::new(&engine).instantiate(&program, ())?;
/// let mut name = GuestString::new(&mut machine.heap(), "Ada")?;
/// name.push_str(&mut machine.heap(), " Lovelace")?;
/// // Guest functions that take a `const char*` get its address.
/// assert_eq!(machine.memory().c_string(name.address(), 100)?, b"Ada Lovelace");
/// assert_eq!(name.get(machine.memory())?, "Ada Lovelace");
/// # Ok::<(), riverrun::Error>(())
/// ```
#[derive(Debug)]
pub struct GuestString(GuestVec<u8>);

impl GuestString {
    /// Puts a string into a guest's memory.
    ///
    /// # Errors
    /// If there is no room.
    pub fn new(heap: &mut Heap<'_>, text: &str) -> Result<GuestString, HeapError> {
        let mut bytes = GuestVec::with_capacity(heap, text.len() + 1)?;
        bytes.extend(heap, text.as_bytes())?;
        bytes.push(heap, 0)?;
        Ok(GuestString(bytes))
    }

    /// Adds to the end.
    ///
    /// # Errors
    /// If there is no room, or the string is of another machine: then nothing has changed.
    pub fn push_str(&mut self, heap: &mut Heap<'_>, text: &str) -> Result<(), HeapError> {
        let len = self.len();
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        self.0.truncate(len);
        let result = self.0.extend(heap, &bytes);
        if result.is_err() {
            // The zero still stands there.
            self.0.len = len + 1;
        }
        result
    }

    /// The guest address of the first byte; another after the string has grown.
    pub fn address(&self) -> u64 {
        self.0.address()
    }

    /// Bytes without the zero behind them.
    pub fn len(&self) -> usize {
        self.0.len() - 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes without the zero behind them, in their machine's memory: the guest may have written others.
    ///
    /// # Errors
    /// If the guest has unmapped them, or the memory is another machine's.
    pub fn bytes<'a>(&self, memory: &'a Memory) -> Result<&'a [u8], HeapError> {
        Ok(memory.values(self.0.block.address_in(memory)?, self.len() as u64)?)
    }

    /// The text, in its machine's memory.
    ///
    /// # Errors
    /// As [`GuestString::bytes`], and if the guest has written what is not UTF-8.
    pub fn get<'a>(&self, memory: &'a Memory) -> Result<&'a str, HeapError> {
        let address = self.address();
        str::from_utf8(self.bytes(memory)?).map_err(|_| Problem::NotUtf8 { address }.into())
    }

    /// Makes the string the guest's, which has to free it.
    ///
    /// # Errors
    /// If it is of another machine; it is freed then.
    pub fn into_guest(self, heap: &mut Heap<'_>) -> Result<u64, HeapError> {
        self.0.into_guest(heap)
    }
}

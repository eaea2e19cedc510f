//! A guest's memory, as its host sees it.
//!
//! A machine's memory must stay where its machine is: engines, and host functions that run on them, reach it by its
//! address. So a host must not put another one in its place, and a `&mut Memory` to a sized type would allow just that
//! ([`std::mem::swap`], [`std::mem::replace`]). [`Memory`] has no size the compiler knows, so neither compiles.

use std::ops::Range;
use std::ptr::{self, NonNull};

use riverrun_vm::{Fault, MIN_ADDRESS, MapError, PAGE_SIZE, Perm, Region, Window};

/// Why a guest address leads to no string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StringError {
    /// It is not readable up to its end.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// It is longer than the limit.
    #[error("no zero byte ends the string at {address:#x} within {limit} bytes")]
    Endless {
        /// Where it begins.
        address: u64,
        /// The most bytes that it may have.
        limit: u64,
    },
}

/// A machine's memory. Addresses are guest addresses; the host may read and write what the guest
/// may, and nothing else.
///
/// ```
/// # use riverrun::{Config, Engine, Linker, Perm, Program};
/// # let engine = Engine::new(&Config::new())?;
/// # let program = Program::new(&engine, riverrun::doc::TINY)?;
/// # let mut machine = Linker::<()>::new(&engine).instantiate(&program, ())?;
/// let memory = machine.memory_mut();
/// memory.map(0x20_0000, 0x1000, Perm::READ | Perm::WRITE)?;
/// memory.write(0x20_0000, b"hello\0")?;
/// assert_eq!(memory.c_string(0x20_0000, 100)?, b"hello");
/// assert!(memory.write(0x20_0ffe, b"too long").is_err());
/// # Ok::<(), riverrun::Error>(())
/// ```
///
/// A memory stays its machine's. It cannot be moved, or changed for another one:
///
/// ```compile_fail,E0277
/// # use riverrun::{Config, Engine, Linker, Program};
/// # let engine = Engine::new(&Config::new())?;
/// # let program = Program::new(&engine, riverrun::doc::TINY)?;
/// let mut one = Linker::<()>::new(&engine).instantiate(&program, ())?;
/// let mut two = Linker::<()>::new(&engine).instantiate(&program, ())?;
/// std::mem::swap(one.memory_mut(), two.memory_mut());
/// # Ok::<(), riverrun::Error>(())
/// ```
#[derive(Debug)]
#[repr(C)]
pub struct Memory {
    pub(crate) window: Window,
    /// Empty. A type that ends so has no size known to the compiler, and its values can be used by reference only.
    unsized_tail: [()],
}

impl Memory {
    /// The memory that a window is. The pointer may be used as `window` may.
    #[inline(always)]
    pub(crate) fn of(window: NonNull<Window>) -> NonNull<Memory> {
        let memory = ptr::slice_from_raw_parts_mut(window.as_ptr().cast::<()>(), 0) as *mut Memory;
        // SAFETY: the address is that of `window`.
        unsafe { NonNull::new_unchecked(memory) }
    }

    /// A number that no other memory has, or has had.
    pub(crate) fn id(&self) -> u64 {
        self.window.id()
    }

    /// A view of `len` bytes that the guest can read.
    ///
    /// # Errors
    /// The first address that is not readable.
    pub fn slice(&self, address: u64, len: u64) -> Result<&[u8], Fault> {
        self.window.slice(address, len)
    }

    /// A view of `len` bytes that the guest can read and write.
    ///
    /// # Errors
    /// The first address that is not readable and writable.
    pub fn slice_mut(&mut self, address: u64, len: u64) -> Result<&mut [u8], Fault> {
        self.window.slice_mut(address, len)
    }

    /// Copies guest memory into `buffer`.
    ///
    /// # Errors
    /// The first address that is not readable; nothing is copied then.
    pub fn read(&self, address: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        buffer.copy_from_slice(self.slice(address, buffer.len() as u64)?);
        Ok(())
    }

    /// Copies `bytes` into guest memory.
    ///
    /// # Errors
    /// The first address that is not writable; nothing is copied then.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.slice_mut(address, bytes.len() as u64)?.copy_from_slice(bytes);
        Ok(())
    }

    /// Copies `len` bytes from one place of guest memory to another; the two may overlap.
    ///
    /// # Errors
    /// The first address that is not readable or, of the destination, not readable and writable;
    /// nothing is copied then.
    pub fn copy_within(&mut self, from: u64, to: u64, len: u64) -> Result<(), Fault> {
        self.window.copy_within(from, to, len)
    }

    /// Reads a little-endian 32-bit word.
    ///
    /// # Errors
    /// The first address that is not readable.
    pub fn read_u32(&self, address: u64) -> Result<u32, Fault> {
        let mut bytes = [0; 4];
        self.read(address, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Reads a little-endian 64-bit word.
    ///
    /// # Errors
    /// The first address that is not readable.
    pub fn read_u64(&self, address: u64) -> Result<u64, Fault> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Writes a little-endian 32-bit word.
    ///
    /// # Errors
    /// The first address that is not writable.
    pub fn write_u32(&mut self, address: u64, value: u32) -> Result<(), Fault> {
        self.write(address, &value.to_le_bytes())
    }

    /// Writes a little-endian 64-bit word.
    ///
    /// # Errors
    /// The first address that is not writable.
    pub fn write_u64(&mut self, address: u64, value: u64) -> Result<(), Fault> {
        self.write(address, &value.to_le_bytes())
    }

    /// The bytes of a C string without its final zero: at most `limit` of them.
    ///
    /// # Errors
    /// If they are not readable, or more.
    ///
    /// ```
    /// # use riverrun::{Config, Engine, Linker, Perm, Program};
    /// # let engine = Engine::new(&Config::new())?;
    /// # let program = Program::new(&engine, riverrun::doc::TINY)?;
    /// # let mut machine = Linker::<()>::new(&engine).instantiate(&program, ())?;
    /// # let memory = machine.memory_mut();
    /// memory.map(0x20_0000, 0x1000, Perm::READ | Perm::WRITE)?;
    /// memory.write(0x20_0000, b"hello")?;
    /// assert_eq!(memory.c_string(0x20_0000, 5)?, b"hello");
    /// let error = memory.c_string(0x20_0000, 4).unwrap_err();
    /// assert_eq!(error.to_string(), "no zero byte ends the string at 0x200000 within 4 bytes");
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn c_string(&self, address: u64, limit: u64) -> Result<&[u8], StringError> {
        let end = self.zero_within(address, limit.saturating_add(1))?;
        Ok(self.slice(address, end.ok_or(StringError::Endless { address, limit })?)?)
    }

    /// Bytes in front of the first zero among `count` bytes, if one is there.
    ///
    /// # Errors
    /// The first address that is not readable, if it is not behind the zero.
    pub(crate) fn zero_within(&self, address: u64, count: u64) -> Result<Option<u64>, Fault> {
        let mut len = 0;
        while len < count {
            let here = address.checked_add(len).ok_or(Fault { address })?;
            // What is behind the zero need not be readable.
            let step = (PAGE_SIZE - here % PAGE_SIZE).min(count - len);
            if let Some(end) = memchr::memchr(0, self.slice(here, step)?) {
                return Ok(Some(len + end as u64));
            }
            len += step;
        }
        Ok(None)
    }

    /// What is mapped, in order of address.
    pub fn regions(&self) -> &[Region] {
        self.window.regions()
    }

    /// The addresses that can be mapped: they begin at [`MIN_ADDRESS`](crate::MIN_ADDRESS), and their number follows from
    /// [`Config::address_bits`](crate::Config::address_bits).
    ///
    /// ```
    /// # use riverrun::{Config, Engine, Linker, Program};
    /// # let engine = Engine::new(Config::new().address_bits(28))?;
    /// # let program = Program::new(&engine, riverrun::doc::TINY)?;
    /// # let machine = Linker::<()>::new(&engine).instantiate(&program, ())?;
    /// assert_eq!(machine.memory().addresses(), riverrun::MIN_ADDRESS..(1 << 28) - 0x1_0000);
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn addresses(&self) -> Range<u64> {
        MIN_ADDRESS..self.window.space().end()
    }

    /// The address that engines take a number for: they count modulo the size of the address space. The methods here do
    /// not.
    ///
    /// ```
    /// # use riverrun::{Config, Engine, Linker, Program};
    /// # let engine = Engine::new(Config::new().address_bits(28))?;
    /// # let program = Program::new(&engine, riverrun::doc::TINY)?;
    /// # let machine = Linker::<()>::new(&engine).instantiate(&program, ())?;
    /// assert_eq!(machine.memory().wrap(0x7000_1234), 0x1234);
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    pub fn wrap(&self, address: u64) -> u64 {
        self.window.space().wrap(address)
    }

    /// Bytes that the guest has mapped for any access.
    pub fn used(&self) -> u64 {
        self.window.used()
    }

    /// Bytes that the guest may have ([`crate::Config::memory_limit`]).
    pub fn limit(&self) -> u64 {
        self.window.limit()
    }

    /// Maps zeroed pages, in place of whatever was there.
    ///
    /// # Errors
    /// [`MapError`], and nothing has changed.
    pub fn map(&mut self, start: u64, len: u64, perm: Perm) -> Result<(), MapError> {
        self.window.map(start, len, perm)
    }

    /// Whether [`map`](Memory::map) would do this, if the host's kernel does not refuse.
    ///
    /// ```
    /// # use riverrun::{Config, Engine, Linker, MapError, Perm, Program};
    /// # let engine = Engine::new(Config::new().memory_limit(16 << 20))?;
    /// # let program = Program::new(&engine, riverrun::doc::TINY)?;
    /// # let machine = Linker::<()>::new(&engine).instantiate(&program, ())?;
    /// assert!(matches!(machine.memory().can_map(0x1000_0000, 32 << 20, Perm::READ), Err(MapError::Limit)));
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn can_map(&self, start: u64, len: u64, perm: Perm) -> Result<(), MapError> {
        self.window.can_map(start, len, perm)
    }

    /// Changes the permissions of mapped pages.
    ///
    /// # Errors
    /// [`MapError`], and nothing has changed.
    pub fn protect(&mut self, start: u64, len: u64, perm: Perm) -> Result<(), MapError> {
        self.window.protect(start, len, perm)
    }

    /// Unmaps pages; what is not mapped stays so.
    ///
    /// # Errors
    /// [`MapError`], and nothing has changed.
    pub fn unmap(&mut self, start: u64, len: u64) -> Result<(), MapError> {
        self.window.unmap(start, len)
    }

    /// Whether [`unmap`](Memory::unmap) would do this, if the host's kernel does not refuse: a hole may split what is
    /// mapped into too many pieces.
    ///
    /// # Errors
    /// As there.
    pub fn can_unmap(&self, start: u64, len: u64) -> Result<(), MapError> {
        self.window.can_unmap(start, len)
    }

    /// Moves `len` bytes of mapped pages to `to`, in place of whatever was there, without copying them: contents and
    /// permissions go along. There they are `new_len` bytes, of which those behind the old ones are zero. Nothing is
    /// mapped at `from` any more.
    ///
    /// ```
    /// # use riverrun::{Config, Engine, Linker, MapError, Perm, Program};
    /// # let engine = Engine::new(&Config::new())?;
    /// # let program = Program::new(&engine, riverrun::doc::TINY)?;
    /// # let mut machine = Linker::<()>::new(&engine).instantiate(&program, ())?;
    /// let memory = machine.memory_mut();
    /// memory.map(0x20_0000, 0x1000, Perm::READ | Perm::WRITE)?;
    /// memory.write(0x20_0000, b"hello")?;
    /// match memory.move_pages(0x20_0000, 0x1000, 0x30_0000, 0x2000) {
    ///     Ok(()) => {
    ///         assert_eq!(memory.slice(0x30_0000, 5)?, b"hello");
    ///         assert!(memory.slice(0x20_0000, 5).is_err());
    ///     }
    ///     // Linux before 5.7, or one that counts writable memory: the pages are where they were.
    ///     Err(MapError::Host(_) | MapError::NotMovable) => assert_eq!(memory.slice(0x20_0000, 5)?, b"hello"),
    ///     Err(error) => return Err(error.into()),
    /// }
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`MapError`], and nothing has changed, but that what was at `to` may be zero after [`MapError::Host`]. Pages can
    /// be copied where they cannot be moved: after [`MapError::NotMovable`], [`MapError::Pieces`] (each move makes a
    /// mapping of its own) and [`MapError::Host`].
    pub fn move_pages(&mut self, from: u64, len: u64, to: u64, new_len: u64) -> Result<(), MapError> {
        self.window.move_pages(from, len, to, new_len)
    }

    /// Gives the contents of mapped pages back to the host. They are as they were at first: the program's image, or
    /// zeros.
    ///
    /// ```
    /// # use riverrun::{Config, Engine, Linker, Perm, Program};
    /// # let engine = Engine::new(&Config::new())?;
    /// # let program = Program::new(&engine, riverrun::doc::TINY)?;
    /// # let mut machine = Linker::<()>::new(&engine).instantiate(&program, ())?;
    /// let memory = machine.memory_mut();
    /// memory.map(0x20_0000, 0x1000, Perm::READ | Perm::WRITE)?;
    /// memory.write(0x20_0000, b"hello")?;
    /// memory.discard(0x20_0000, 0x1000)?;
    /// assert_eq!(memory.slice(0x20_0000, 5)?, [0; 5]);
    /// # Ok::<(), riverrun::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`MapError`], and nothing has changed.
    pub fn discard(&mut self, start: u64, len: u64) -> Result<(), MapError> {
        self.window.discard(start, len)
    }
}

// A memory is its window and nothing besides.
const _: () = assert!(std::mem::offset_of!(Memory, window) == 0);

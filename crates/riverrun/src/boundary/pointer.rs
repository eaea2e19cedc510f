//! Guest pointers as arguments: they are checked when the host dereferences them.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::{AnyBitPattern, NoUninit};
use riverrun_program::Scalar;
use riverrun_vm::Fault;

use crate::boundary::value::GuestValue;
use crate::memory::{Memory, StringError};
use crate::values::NoView;

/// The longest string without a length that a guest can pass, in bytes.
pub const STRING_MAX: u64 = 1 << 20;

/// Why a guest pointer cannot be dereferenced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct PointerError {
    argument: u8,
    address: u64,
    problem: Problem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    NoView(NoView),
    Endless { limit: u64 },
    NotUtf8,
}

impl PointerError {
    /// The number of the argument that is wrong, from 1; `None` where the pointer was none.
    pub fn argument(&self) -> Option<u8> {
        (self.argument != 0).then_some(self.argument)
    }

    /// The pointer.
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl fmt::Display for PointerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.argument {
            0 => write!(f, "the pointer {:#x}: ", self.address)?,
            number => write!(f, "argument {number}, the pointer {:#x}: ", self.address)?,
        }
        match self.problem {
            Problem::NoView(NoView::Fault(fault)) => write!(f, "{fault}"),
            Problem::NoView(NoView::Misaligned { alignment }) => write!(f, "it is not a multiple of {alignment}"),
            Problem::NoView(NoView::TooLong { len, size }) => {
                write!(f, "{len} elements of {size} bytes exceed all memory")
            }
            Problem::Endless { limit } => write!(f, "no zero byte ends the string within {limit} bytes"),
            Problem::NotUtf8 => write!(f, "the string is not UTF-8"),
        }
    }
}

/// A guest pointer to a `T`. It may have any value; dereferencing checks it.
///
/// `T` is a type of plain bytes with C's layout, such as a `#[repr(C)]` struct that derives bytemuck's
/// `Pod` (bytemuck is re-exported, and derives have to be told so). Views are not copies: they are in the guest's memory.
///
/// ```
/// use riverrun::{Config, Engine, Linker, Perm, Program, Ptr};
/// use riverrun::bytemuck::{Pod, Zeroable};
///
/// #[repr(C)]
/// #[derive(Clone, Copy, Pod, Zeroable)]
/// #[bytemuck(crate = "riverrun::bytemuck")]
/// struct Point {
///     x: f32,
///     y: f32,
/// }
///
/// let engine = Engine::new(&Config::new())?;
/// let program = Program::new(&engine, riverrun::doc::TINY)?;
/// let mut machine = Linker::new(&engine).instantiate(&program, ())?;
/// machine.memory_mut().map(0x20_0000, 0x1000, Perm::READ | Perm::WRITE)?;
///
/// let point: Ptr<Point> = Ptr::new(0x20_0010);
/// point.get_mut(machine.memory_mut())?.x = 1.5;
/// assert_eq!(point.get(machine.memory())?.x, 1.5);
/// let error = Ptr::<Point>::new(0x20_0ffc).get(machine.memory()).err().unwrap();
/// assert_eq!(error.to_string(), "the pointer 0x200ffc: guest address 0x201000 is not mapped for this access");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Ptr<T> {
    address: u64,
    argument: u8,
    to: PhantomData<fn() -> T>,
}

impl<T> Clone for Ptr<T> {
    fn clone(&self) -> Ptr<T> {
        *self
    }
}

impl<T> Copy for Ptr<T> {}

impl<T> fmt::Debug for Ptr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ptr({:#x})", self.address)
    }
}

impl<T> Ptr<T> {
    /// The pointer to this guest address.
    pub const fn new(address: u64) -> Ptr<T> {
        Ptr { address, argument: 0, to: PhantomData }
    }

    /// The guest address.
    pub const fn address(self) -> u64 {
        self.address
    }

    /// Whether it is null.
    pub const fn is_null(self) -> bool {
        self.address == 0
    }

    /// `len` elements from here on.
    pub const fn slice(self, len: u64) -> Slice<T> {
        Slice { start: self, len }
    }

    fn error(self, problem: Problem) -> PointerError {
        PointerError { argument: self.argument, address: self.address, problem }
    }

    /// It points to memory that is not mapped for this access.
    pub(crate) fn fault(self, fault: Fault) -> PointerError {
        self.error(Problem::NoView(fault.into()))
    }

    fn no_view(self) -> impl Fn(NoView) -> PointerError {
        move |why| self.error(Problem::NoView(why))
    }
}

impl<T: AnyBitPattern> Ptr<T> {
    /// What it points to.
    ///
    /// # Errors
    /// If that is not readable or not aligned.
    pub fn get(self, memory: &Memory) -> Result<&T, PointerError> {
        memory.value(self.address).map_err(self.no_view())
    }

    /// What it points to.
    ///
    /// # Errors
    /// If that is not readable and writable or not aligned.
    pub fn get_mut(self, memory: &mut Memory) -> Result<&mut T, PointerError>
    where
        T: NoUninit,
    {
        memory.value_mut(self.address).map_err(self.no_view())
    }
}

impl<T: 'static> GuestValue for Ptr<T> {
    const TYPE: Scalar = Scalar::Ptr;

    #[inline(always)]
    fn from_bits(bits: u64) -> Ptr<T> {
        Ptr::new(bits)
    }

    #[inline(always)]
    fn to_bits(self) -> u64 {
        self.address
    }

    #[inline(always)]
    fn in_argument(self, number: u8) -> Ptr<T> {
        Ptr { argument: number, ..self }
    }
}

/// A guest's array: a pointer and the number of elements, two parameters of the guest's function.
///
/// ```
/// use riverrun::{Config, Engine, Linker, Slice};
///
/// let engine = Engine::new(&Config::new())?;
/// let mut linker: Linker<()> = Linker::new(&engine);
/// // float sum(const float* values, size_t count)
/// linker.func("sum", |caller: riverrun::Caller<'_, ()>, values: Slice<f32>| {
///     Ok::<f32, riverrun::PointerError>(values.get(caller.memory())?.iter().sum())
/// })?;
/// # Ok::<(), riverrun::Error>(())
/// ```
pub struct Slice<T> {
    start: Ptr<T>,
    len: u64,
}

impl<T> Clone for Slice<T> {
    fn clone(&self) -> Slice<T> {
        *self
    }
}

impl<T> Copy for Slice<T> {}

impl<T> fmt::Debug for Slice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slice({:#x}, {})", self.start.address, self.len)
    }
}

impl<T> Slice<T> {
    /// A pointer to the first element.
    pub const fn start(self) -> Ptr<T> {
        self.start
    }

    /// The number of elements.
    pub const fn len(self) -> u64 {
        self.len
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }
}

impl<T: AnyBitPattern> Slice<T> {
    /// The elements. An array of none may be anywhere.
    ///
    /// # Errors
    /// If they are not readable or not aligned.
    pub fn get(self, memory: &Memory) -> Result<&[T], PointerError> {
        memory.values(self.start.address, self.len).map_err(self.start.no_view())
    }

    /// The elements. An array of none may be anywhere.
    ///
    /// # Errors
    /// If they are not readable and writable or not aligned.
    pub fn get_mut(self, memory: &mut Memory) -> Result<&mut [T], PointerError>
    where
        T: NoUninit,
    {
        memory.values_mut(self.start.address, self.len).map_err(self.start.no_view())
    }
}

impl Slice<u8> {
    /// The text that the bytes are.
    ///
    /// # Errors
    /// If they are not readable, or not UTF-8.
    pub fn text(self, memory: &Memory) -> Result<&str, PointerError> {
        str::from_utf8(self.get(memory)?).map_err(|_| self.start.error(Problem::NotUtf8))
    }
}

/// A string that ends with a zero: C's `const char*`.
///
/// ```
/// use riverrun::{Config, Engine, Linker, Str};
///
/// let engine = Engine::new(&Config::new())?;
/// let mut linker: Linker<Vec<String>> = Linker::new(&engine);
/// // void log(const char* text)
/// linker.func("log", |mut caller: riverrun::Caller<'_, Vec<String>>, text: Str| {
///     let line = text.get(caller.memory())?.to_owned();
///     caller.data_mut().push(line);
///     Ok::<(), riverrun::PointerError>(())
/// })?;
/// # Ok::<(), riverrun::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Str(Ptr<u8>);

impl Str {
    /// The string at this guest address.
    pub const fn new(address: u64) -> Str {
        Str(Ptr::new(address))
    }

    /// The guest address of its first byte.
    pub const fn address(self) -> u64 {
        self.0.address
    }

    /// Its bytes without the final zero.
    ///
    /// # Errors
    /// If they are not readable, or more than [`STRING_MAX`].
    pub fn bytes(self, memory: &Memory) -> Result<&[u8], PointerError> {
        memory.c_string(self.0.address, STRING_MAX).map_err(|error| match error {
            StringError::Fault(fault) => self.0.fault(fault),
            StringError::Endless { limit, .. } => self.0.error(Problem::Endless { limit }),
        })
    }

    /// Its text.
    ///
    /// # Errors
    /// As [`Str::bytes`], and if it is not UTF-8.
    pub fn get(self, memory: &Memory) -> Result<&str, PointerError> {
        str::from_utf8(self.bytes(memory)?).map_err(|_| self.0.error(Problem::NotUtf8))
    }
}

impl GuestValue for Str {
    const TYPE: Scalar = Scalar::Ptr;

    #[inline(always)]
    fn from_bits(bits: u64) -> Str {
        Str::new(bits)
    }

    #[inline(always)]
    fn to_bits(self) -> u64 {
        self.0.address
    }

    #[inline(always)]
    fn in_argument(self, number: u8) -> Str {
        Str(self.0.in_argument(number))
    }
}

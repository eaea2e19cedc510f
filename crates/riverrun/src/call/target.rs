//! A function of the guest as engines enter it.

use riverrun_interp::Place;
use riverrun_program::Signature;
use riverrun_vm::EntryToken;
use riverrun_vm::artifact::Callable;

use crate::compiled_code::CompiledCode;
use crate::error::{Error, LinkError};
use crate::program::Program;

/// A function's entries in each engine.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Target {
    /// Its entry in compiled code: first, because entry stubs get its address.
    pub(crate) function: Callable,
    /// The entry token of compiled code; none if that lacks the function or counts fuel.
    pub(crate) compiled: EntryToken,
    pub(crate) address: u64,
    /// The program's code.
    pub(crate) code: u64,
    /// The entry token of the interpreter; none if the function cannot be decoded.
    pub(crate) interpreted: EntryToken,
    /// Its first decoded op.
    pub(crate) place: Place,
}

impl Target {
    /// Looks the function up in compiled code that does not count fuel.
    pub(crate) fn compiled(&self) -> Option<&Callable> {
        (self.compiled != EntryToken::NONE).then_some(&self.function)
    }

    /// Looks the function up in decoded code.
    pub(crate) fn interpreted(&self) -> Option<Place> {
        (self.interpreted != EntryToken::NONE).then_some(self.place)
    }

    /// `gives_a1` says whether the result includes a1.
    ///
    /// # Errors
    /// If no instruction can be at the address.
    pub(crate) fn new(program: &Program, address: u64, gives_a1: bool) -> Result<Target, Error> {
        let image = program.image();
        if !image.is_text(address) || !address.is_multiple_of(2) {
            return Err(LinkError::NoCode { address }.into());
        }
        let code = program.code();
        let place = code.place(address);
        let target = Target {
            address,
            code: code.id(),
            interpreted: place.map_or(EntryToken::NONE, |_| EntryToken::interpreted(code.id())),
            place: place.unwrap_or(Place::NONE),
            compiled: EntryToken::NONE,
            function: Callable::NONE,
        };
        Ok(program.compiled().map_or(target, |code| target.compiled_in(&code, gives_a1)))
    }

    /// Its entries, with that in this compiled code.
    pub(crate) fn in_code(&self, code: &CompiledCode) -> Target {
        self.compiled_in(code, true)
    }

    fn compiled_in(&self, code: &CompiledCode, gives_a1: bool) -> Target {
        let function = Callable::new(&code.artifact, self.address, gives_a1);
        let compiled = function.map_or(EntryToken::NONE, |_| code.entry_token());
        Target { compiled, function: function.unwrap_or(Callable::NONE), ..*self }
    }
}

/// The function that the program exports by this name, with its types, or that has a symbol of this name.
///
/// # Errors
/// [`LinkError::NoFunction`]; [`LinkError::Export`] if the host calls it as another type than the guest exports.
pub(crate) fn find<'a>(
    program: &'a Program,
    name: &str,
    host: Option<&Signature>,
) -> Result<(u64, Option<&'a Signature>), LinkError> {
    let Some(export) = program.export(name) else {
        let symbol = program.image().symbol(name).ok_or_else(|| LinkError::NoFunction { name: name.to_owned() })?;
        return Ok((symbol.address, None));
    };
    let exported = export.signature.as_ref();
    if let (Some(host), Some(guest)) = (host, exported)
        && host != guest
    {
        let [guest, host] = [guest, host].map(Signature::to_string);
        return Err(LinkError::Export { name: name.to_owned(), guest, host });
    }
    Ok((export.address, exported))
}

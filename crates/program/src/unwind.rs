//! From a stopped machine to its callers: the guest's stack, frame by frame.

use gimli::{
    BaseAddresses, CfaRule, DebugFrame, EhFrame, Evaluation, EvaluationResult, Expression, FrameDescriptionEntry,
    LittleEndian, Location, Register, RegisterRule, UnwindContext, UnwindExpression, UnwindSection, Value,
};

use crate::image::Image;
use crate::prologue::FrameLayout;
use crate::unwind_tables::{FrameIndex, Slice};

const RA: usize = 1;
const SP: usize = 2;
const FP: usize = 8;

/// One function call in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The instruction that the frame is at: in the first frame the one that stopped, in its
    /// callers the one to return to.
    pub pc: u64,
    /// Whether `pc` is where a call returns to. The call itself is the instruction before.
    pub is_return_address: bool,
}

impl Frame {
    /// An address inside the instruction that the frame is executing, for looking up its
    /// function and source line. (The function that a `noreturn` call ends with may not have
    /// any instruction at the return address.)
    pub fn lookup_address(&self) -> u64 {
        self.pc.wrapping_sub(u64::from(self.is_return_address))
    }
}

impl Image {
    /// The calls in progress in a stopped machine, innermost first.
    ///
    /// `pc` is where it stopped; `register` reads x0 to x31, and `read` eight bytes of guest
    /// memory (`None` where there are none). At most `limit` frames are returned, the first of
    /// which is always `pc` itself.
    ///
    /// A frame's caller is found by the program's unwind tables (`.eh_frame`, `.debug_frame`); without an entry there, by
    /// the function's own code, if it has a symbol; else by frame pointers (`s0`). Unknown code in the first frame is
    /// taken for a leaf function (its caller is in `ra`). The walk ends at the outermost frame, at a return address
    /// outside the text, and where the stack does not grow, so it always ends.
    ///
    /// ```
    /// use riverrun_program::Image;
    ///
    /// let image = Image::parse(riverrun_program::doc::TINY)?;
    /// let registers = [0_u64; 32];
    /// let read_memory = |_address: u64| None;
    /// let frames = image.unwind(image.entry(), |x| registers[x], read_memory, 64);
    /// assert_eq!(frames[0].pc, image.entry());
    /// println!("{}", image.describe(frames[0]));
    /// # Ok::<(), riverrun_program::LoadError>(())
    /// ```
    pub fn unwind(
        &self,
        pc: u64,
        register: impl Fn(usize) -> u64,
        read: impl Fn(u64) -> Option<u64>,
        limit: usize,
    ) -> Vec<Frame> {
        let mut registers = Registers { x: std::array::from_fn(|x| Some(register(x))) };
        let mut frames = Vec::new();
        let mut frame = Frame { pc, is_return_address: false };
        let mut context = UnwindContext::new();
        while frames.len() < limit {
            frames.push(frame);
            let by_tables = self.step_by_tables(frame, &registers, &read, &mut context);
            let caller = by_tables.unwrap_or_else(|| {
                self.step_by_code(frame, &registers, &read).or_else(|| {
                    if frame.is_return_address {
                        Caller::by_frame_pointer(&registers, &read)
                    } else {
                        Caller::of_leaf(&registers)
                    }
                })
            });
            let Some(caller) = caller.filter(|caller| self.is_text(caller.pc)) else {
                break;
            };
            // Every call has its frame above that of what it called, except that a leaf needs
            // none; signal handlers may run on a stack elsewhere.
            let grows = match (caller.registers.x[SP], registers.x[SP]) {
                (Some(after), Some(before)) if !frame.is_return_address => after >= before,
                (Some(after), Some(before)) => after > before,
                _ => false,
            };
            if !grows && !caller.is_interrupted {
                break;
            }
            registers = caller.registers;
            frame = Frame { pc: caller.pc, is_return_address: !caller.is_interrupted };
        }
        frames
    }

    /// `None`: no table covers the frame. `Some(None)`: one does, and there is no caller, or it
    /// cannot be found.
    fn step_by_tables(
        &self,
        frame: Frame,
        registers: &Registers,
        read: &impl Fn(u64) -> Option<u64>,
        context: &mut UnwindContext<usize>,
    ) -> Option<Option<Caller>> {
        let tables = self.unwind_tables();
        let address = frame.lookup_address().wrapping_sub(self.bias());
        if let Some((index, offset)) = FrameIndex::find(&tables.eh_frame, address) {
            let section = EhFrame::new(self.table_bytes(index), LittleEndian);
            let fde = section.fde_from_offset(&index.bases, offset.into(), EhFrame::cie_from_offset);
            let fde = fde.ok().filter(is_moderate);
            let step = Step { section: &section, bases: &index.bases, registers, read };
            return Some(step.run(&fde?, address, context));
        }
        let (index, offset) = FrameIndex::find(&tables.debug_frame, address)?;
        let section = DebugFrame::new(self.table_bytes(index), LittleEndian);
        let fde = section.fde_from_offset(&index.bases, offset.into(), DebugFrame::cie_from_offset);
        let fde = fde.ok().filter(is_moderate);
        let step = Step { section: &section, bases: &index.bases, registers, read };
        Some(step.run(&fde?, address, context))
    }

    /// `None`: the function's code does not tell, or the caller cannot be found.
    fn step_by_code(&self, frame: Frame, registers: &Registers, read: &impl Fn(u64) -> Option<u64>) -> Option<Caller> {
        let (_, offset) = self.symbol_at(frame.lookup_address())?;
        let start = frame.lookup_address() - offset;
        let layout = FrameLayout::after(self.text_bytes(start..frame.pc)?);
        Caller::by_layout(&layout, frame, registers, read)
    }

    fn table_bytes(&self, index: &FrameIndex) -> &[u8] {
        self.bytes().get(index.section.clone()).unwrap_or_default()
    }
}

/// Whether an entry is as short as compilers make them: the whole of it is read for each frame.
fn is_moderate(fde: &FrameDescriptionEntry<Slice<'_>>) -> bool {
    const ENTRY_BYTES_MAX: usize = 16 << 10;

    fde.entry_len() <= ENTRY_BYTES_MAX && fde.cie().entry_len() <= ENTRY_BYTES_MAX
}

/// The known integer registers of a frame.
#[derive(Clone)]
struct Registers {
    x: [Option<u64>; 32],
}

impl Registers {
    fn get(&self, register: Register) -> Option<u64> {
        // RISC-V DWARF: x0 to x31 have the numbers 0 to 31.
        *self.x.get(usize::from(register.0))?
    }
}

/// A frame's caller: its pc and registers.
struct Caller {
    pc: u64,
    registers: Registers,
    /// A signal interrupted the caller: `pc` is the next instruction, and follows no call.
    is_interrupted: bool,
}

impl Caller {
    /// The caller of a function that has saved nothing yet.
    fn of_leaf(registers: &Registers) -> Option<Self> {
        Some(Self { pc: registers.x[RA]?, registers: registers.clone(), is_interrupted: false })
    }

    /// The caller, by what the function's code has done so far.
    fn by_layout(
        layout: &FrameLayout,
        frame: Frame,
        registers: &Registers,
        read: &impl Fn(u64) -> Option<u64>,
    ) -> Option<Self> {
        if frame.is_return_address && layout.saved[RA].is_none() {
            // It has called another function since, so its own return address must be somewhere.
            return None;
        }
        let cfa = match layout.size {
            _ if layout.has_frame_pointer => registers.x[FP]?,
            Some(size) => registers.x[SP]?.wrapping_add_signed(size),
            None => return None,
        };
        let mut caller = registers.clone();
        for (slot, saved) in caller.x.iter_mut().zip(layout.saved) {
            if let Some(offset) = saved {
                *slot = read(cfa.wrapping_add_signed(offset));
            }
        }
        caller.x[SP] = Some(cfa);
        Some(Self { pc: caller.x[RA]?, registers: caller, is_interrupted: false })
    }

    /// The caller, by the layout that `-fno-omit-frame-pointer` gives (RISC-V ELF psABI, "Frame
    /// Pointer Convention"): return address and caller's frame pointer lie below the frame.
    fn by_frame_pointer(registers: &Registers, read: &impl Fn(u64) -> Option<u64>) -> Option<Self> {
        let frame_end = registers.x[FP]?;
        let pc = read(frame_end.checked_sub(8)?)?;
        let mut caller = registers.clone();
        caller.x[FP] = Some(read(frame_end.checked_sub(16)?)?);
        caller.x[SP] = Some(frame_end);
        Some(Self { pc, registers: caller, is_interrupted: false })
    }
}

/// One step by the tables, from a frame to its caller.
struct Step<'a, S, Read> {
    section: &'a S,
    bases: &'a BaseAddresses,
    registers: &'a Registers,
    read: &'a Read,
}

impl<'data, S, Read> Step<'_, S, Read>
where
    S: UnwindSection<Slice<'data>>,
    Read: Fn(u64) -> Option<u64>,
{
    fn run(
        &self,
        fde: &FrameDescriptionEntry<Slice<'data>>,
        address: u64,
        context: &mut UnwindContext<usize>,
    ) -> Option<Caller> {
        let row = fde.unwind_info_for_address(self.section, self.bases, context, address).ok()?;
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                self.registers.get(*register)?.wrapping_add_signed(*offset)
            }
            CfaRule::Expression(expression) => self.evaluate(fde, expression, None)?,
        };
        let mut caller = self.registers.clone();
        caller.x[SP] = Some(cfa);
        // Usually ra; signal trampolines use a number that no register has, so as to keep both.
        let pc_column = fde.cie().return_address_register();
        let mut pc = self.registers.get(pc_column);
        for (register, rule) in row.registers() {
            let value = match rule {
                RegisterRule::SameValue => self.registers.get(*register),
                RegisterRule::Offset(offset) => (self.read)(cfa.wrapping_add_signed(*offset)),
                RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add_signed(*offset)),
                RegisterRule::Register(other) => self.registers.get(*other),
                RegisterRule::Expression(expression) => self.evaluate(fde, expression, Some(cfa)).and_then(self.read),
                RegisterRule::ValExpression(expression) => self.evaluate(fde, expression, Some(cfa)),
                RegisterRule::Constant(value) => Some(*value),
                _ => None,
            };
            if let Some(slot) = caller.x.get_mut(usize::from(register.0)) {
                *slot = value;
            }
            if *register == pc_column {
                pc = value;
            }
        }
        caller.x[0] = Some(0);
        Some(Caller { pc: pc?, registers: caller, is_interrupted: fde.is_signal_trampoline() })
    }

    fn evaluate(
        &self,
        fde: &FrameDescriptionEntry<Slice<'data>>,
        expression: &UnwindExpression<usize>,
        cfa: Option<u64>,
    ) -> Option<u64> {
        /// Tables are as hostile as any input; compilers need a handful of operations.
        const OPERATIONS_MAX: u32 = 100;

        let Expression(bytecode) = expression.get(self.section).ok()?;
        let mut evaluation = Evaluation::new(bytecode, fde.cie().encoding());
        evaluation.set_max_iterations(OPERATIONS_MAX);
        if let Some(cfa) = cfa {
            evaluation.set_initial_value(cfa);
        }
        let mut state = evaluation.evaluate().ok()?;
        loop {
            state = match state {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresMemory { address, size, space: None, .. } => {
                    let bits = u32::from(size.clamp(1, 8)) * 8;
                    let value = (self.read)(address)? & (u64::MAX >> (64 - bits));
                    evaluation.resume_with_memory(Value::Generic(value)).ok()?
                }
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = self.registers.get(register)?;
                    evaluation.resume_with_register(Value::Generic(value)).ok()?
                }
                _ => return None,
            };
        }
        match evaluation.as_result() {
            [piece] => match piece.location {
                Location::Address { address } => Some(address),
                Location::Value { value } => value.to_u64(u64::MAX).ok(),
                _ => None,
            },
            _ => None,
        }
    }
}

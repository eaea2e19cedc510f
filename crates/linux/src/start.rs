//! The initial stack of a program: arguments, environment, auxiliary vector.

use riverrun::image::{Image, JoinedProgram};
use riverrun::{Machine, SIGNAL_RETURN_ADDRESS};

use crate::Linux;
use crate::abi::Layout;
use crate::error::Error;
use crate::memory;
use crate::process::{EXTENSIONS, USER};
use crate::signals::RETURN_CODE;

/// Bytes that stay free between the stack and the mappings below it.
const STACK_GUARD: u64 = 1 << 20;
/// Arguments and environment may take this part of the stack, as in Linux.
const ARGUMENTS_SHARE: u64 = 4;

/// Prepares a machine's stack and memory for a Linux program's start code. To be called once,
/// before the machine first runs, with what [`crate::add_to_linker`] got.
///
/// # Errors
/// [`Error::ZeroByte`] and [`Error::ArgumentsTooLong`].
pub fn start<T>(machine: &mut Machine<T>, get: impl FnOnce(&mut T) -> &mut Linux) -> Result<(), Error> {
    const SP: u8 = 2;
    let stack = machine.stack();
    let program = machine.program().clone();
    let offers_functions = program.image().exports().is_ok_and(|exports| !exports.is_empty());
    let linux = get(machine.data_mut());
    linux.reactor.offers_functions = offers_functions;
    let joined = linux.joined.as_ref();
    linux.program = Some(joined.map_or_else(|| program.image().shared_bytes().clone(), |joined| joined.file.clone()));
    let heap = joined.map_or(program.image().end(), |joined| joined.program.end.next_multiple_of(riverrun::PAGE_SIZE));
    linux.layout = Some(memory::Layout {
        heap: heap..heap,
        mappings_end: stack.start.saturating_sub(STACK_GUARD),
        stack_size: stack.end - stack.start,
    });
    let room = (stack.end - stack.start) / ARGUMENTS_SHARE;
    let contents = contents(linux, program.image(), stack.end, room)?;
    let sp = stack.end - contents.len() as u64;
    machine.memory_mut().write(sp, &contents)?;
    // Where unwinders find it that look at the address of the handler's return.
    let return_code = machine.memory().wrap(SIGNAL_RETURN_ADDRESS);
    machine.memory_mut().write(return_code, RETURN_CODE.map(u32::to_le_bytes).as_flattened())?;
    machine.set_x(SP, sp);
    Ok(())
}

/// The bytes up to the stack's end, sp at the first.
fn contents(linux: &mut Linux, image: &Image, stack_end: u64, room: u64) -> Result<Vec<u8>, Error> {
    // From the end downwards: the program's name, environment, arguments, random bytes; then,
    // from sp upwards: argc, argv, envp, auxiliary vector.
    let mut random = [0; 16];
    linux.random.fill(&mut random).map_err(|_| Error::NoRandomNumbers)?;
    let name = linux.args.first().cloned().unwrap_or_default();
    let mut strings = Vec::from(random);
    let mut add = |text: &[u8]| {
        let offset = strings.len() as u64;
        strings.extend(text);
        strings.push(0);
        match text.contains(&0) {
            true => Err(Error::ZeroByte(String::from_utf8_lossy(text).into_owned())),
            false => Ok(offset),
        }
    };
    let args = linux.args.iter().map(|text| add(text)).collect::<Result<Vec<u64>, Error>>()?;
    let env = linux.env.iter().map(|text| add(text)).collect::<Result<Vec<u64>, Error>>()?;
    let name = add(&name)?;
    strings.resize(strings.len().next_multiple_of(16), 0);

    let words = 1 + args.len() + 1 + env.len() + 1 + 2 * AUXILIARY;
    let vectors = (8 * words).next_multiple_of(16);
    let needed = (vectors + strings.len()) as u64;
    if needed > room {
        return Err(Error::ArgumentsTooLong { needed, room });
    }
    let at = stack_end - strings.len() as u64;
    let list =
        |layout: Layout, offsets: &[u64]| offsets.iter().fold(layout, |layout, offset| layout.u64(at + offset)).u64(0);
    let layout = Layout::new().u64(args.len() as u64);
    let layout = list(list(layout, &args), &env);
    let joined = linux.joined.as_ref().map(|joined| &joined.program);
    let layout =
        auxiliary(image, joined, at, at + name).iter().fold(layout, |layout, &(key, value)| layout.u64(key).u64(value));
    Ok(layout.zeros_to(vectors).bytes(&strings).into_bytes())
}

/// Entries of the auxiliary vector.
const AUXILIARY: usize = 17;

fn auxiliary(image: &Image, joined: Option<&JoinedProgram>, random: u64, name: u64) -> [(u64, u64); AUXILIARY] {
    const IGNORE: u64 = 1;
    const TICKS_PER_SECOND: u64 = 100;
    let headers = image.program_headers();
    let own = headers.address.map(|address| (address, headers.count.into()));
    let table = joined.map_or(own, |joined| joined.headers);
    // Without the table in memory there is nothing to tell.
    let header = |key, value| if table.is_some() { (key, value) } else { (IGNORE, 0) };
    let (address, count) = table.unwrap_or_default();
    let (base, entry) = joined.map_or((0, image.entry()), |joined| (joined.interpreter_base, joined.entry));
    let extensions = EXTENSIONS.bytes().fold(0, |bits, letter| bits | 1 << (letter - b'a'));
    [
        header(3, address),                   // AT_PHDR
        header(4, headers.entry_size.into()), // AT_PHENT
        header(5, count),                     // AT_PHNUM
        (6, riverrun::PAGE_SIZE),             // AT_PAGESZ
        (7, base),                            // AT_BASE
        (8, 0),                               // AT_FLAGS
        (9, entry),                           // AT_ENTRY
        (11, USER.into()),                    // AT_UID
        (12, USER.into()),                    // AT_EUID
        (13, USER.into()),                    // AT_GID
        (14, USER.into()),                    // AT_EGID
        (16, extensions),                     // AT_HWCAP
        (17, TICKS_PER_SECOND),               // AT_CLKTCK
        (23, 0),                              // AT_SECURE
        (25, random),                         // AT_RANDOM
        (31, name),                           // AT_EXECFN
        (0, 0),                               // AT_NULL
    ]
}

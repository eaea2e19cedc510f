//! System calls that change the guest's address space.

use std::ops::Range;

use riverrun::image::Image;
use riverrun::{Memory, PAGE_SIZE, Perm};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::Linux;
use crate::call::{Call, Outcome, Stop};
use crate::devices::Device;
use crate::open_file::{Kind, OpenFile};
use crate::regions::{CHUNK, discard, held, overlapping};
use crate::shared_mappings::Mapping;
use crate::transfer::STEP;

/// Bytes of memory that are copied sooner than moved: each move makes a mapping, of which the host has few.
const LEAST_MOVED: u64 = 64 << 10;
/// Bytes of memory whose permissions are changed between two tests of the deadline: the kernel takes some 50 ms for a GiB that
/// is in use.
const PROTECTED_AT_ONCE: usize = 256 << 20;
/// The lowest address of a mapping whose place is not the guest's choice.
const LOWEST: u64 = 0x1_0000;

/// Where things lie in the guest's memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Layout {
    /// The heap that `brk` grows; whole pages from its start are mapped.
    pub(crate) heap: Range<u64>,
    /// Mappings are placed below, the highest gap first.
    pub(crate) mappings_end: u64,
    /// Bytes of stack.
    pub(crate) stack_size: u64,
}

fn pages(len: u64) -> Result<u64, Stop> {
    len.checked_next_multiple_of(PAGE_SIZE).ok_or(Errno::NOMEM.into())
}

fn is_free(memory: &Memory, range: Range<u64>) -> bool {
    overlapping(memory, range).is_empty()
}

impl Layout {
    /// The highest place for a mapping of `len` bytes.
    fn place(&self, memory: &Memory, len: u64) -> Result<u64, Stop> {
        let mut end = self.mappings_end;
        let below = memory.regions().partition_point(|region| region.start < end);
        let regions = memory.regions()[..below].iter().rev().map(|region| (region.start, region.end));
        for (start, region_end) in regions.chain([(0, LOWEST)]) {
            if end.saturating_sub(region_end) >= len {
                return Ok(end - len);
            }
            end = end.min(start);
        }
        Err(Errno::NOMEM.into())
    }
}

/// Text is what the program had when it was loaded: nothing else runs, so that a compiler in the guest learns at once
/// that it has to interpret.
pub(crate) const NO_NEW_CODE: Stop = Stop::Unsupported(Errno::ACCESS, "code that a program makes or loads as it runs");

/// Fails if a range would become executable where the program has no text: above its image.
fn check_executable(call: &mut Call<'_>, range: &Range<u64>, perm: Perm) -> Result<(), Stop> {
    let has_text = range.end <= call.linux.layout()?.heap.start;
    if perm.contains(Perm::EXECUTE) && !has_text { Err(NO_NEW_CODE) } else { Ok(()) }
}

/// Protections as the guest names them (`PROT_`).
mod prot {
    pub(super) const READ: u64 = 1;
    pub(super) const WRITE: u64 = 2;
    pub(super) const EXECUTE: u64 = 4;
}

impl Linux {
    /// The program's image, with the libraries that it was joined with.
    fn image(&self) -> Option<&Image> {
        let file = || match &self.joined {
            Some(joined) => Some(joined.bytes()),
            None => self.program().ok().cloned(),
        };
        self.image.get_or_init(|| Image::parse(file()?).ok().map(Box::new)).as_deref()
    }
}

/// Whether all of a range is in pages that have the program's text.
fn is_text(linux: &Linux, range: &Range<u64>) -> bool {
    let pages = |text: &Range<u64>| text.start & !(PAGE_SIZE - 1)..text.end.next_multiple_of(PAGE_SIZE);
    let has = |pages: Range<u64>| pages.start <= range.start && range.end <= pages.end;
    linux.image().is_some_and(|image| image.text().iter().map(pages).any(has))
}

/// Whether the readable part of a range has the text that the program began with: no other would run.
fn is_unchanged(call: &Call<'_>, range: &Range<u64>) -> Result<bool, Stop> {
    let Some(image) = call.linux.image() else { return Ok(true) };
    for region in overlapping(call.memory, range.clone()).iter().filter(|region| region.perm.contains(Perm::READ)) {
        for text in image.text() {
            let end = range.end.min(text.end).min(region.end);
            for start in (range.start.max(text.start).max(region.start)..end).step_by(STEP) {
                call.patience.check()?;
                let part = start..end.min(start + STEP as u64);
                if call.memory.slice(part.start, part.end - part.start).ok() != image.text_bytes(part) {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

/// Fails if a mapped range has text that the program has changed. What could not be read can be read afterwards.
fn check_unchanged(call: &mut Call<'_>, range: &Range<u64>) -> Result<(), Stop> {
    for region in overlapping(call.memory, range.clone()).to_vec() {
        let hidden = range.start.max(region.start)..range.end.min(region.end);
        if !region.perm.contains(Perm::READ) && is_text(call.linux, &hidden) {
            call.memory.protect(hidden.start, hidden.end - hidden.start, Perm::READ)?;
        }
    }
    if is_unchanged(call, range)? { Ok(()) } else { Err(NO_NEW_CODE) }
}

/// `riscv_flush_icache`: the program means to run what it has stored there.
pub(crate) fn flush_instruction_cache(call: &mut Call<'_>) -> Outcome {
    const LOCAL: u64 = 1;
    let [start, end, flags, ..] = call.args;
    if flags & !LOCAL != 0 {
        return Err(Errno::INVAL.into());
    }
    if is_unchanged(call, &(start..end))? { Ok(0) } else { Err(Stop::NewCode) }
}

/// What `prot` allows; whatever may be written may be read.
fn permissions(prot: u64) -> Result<Perm, Stop> {
    use prot::{EXECUTE, READ, WRITE};
    if prot & !(READ | WRITE | EXECUTE) != 0 {
        return Err(Errno::INVAL.into());
    }
    if prot & (WRITE | EXECUTE) == WRITE | EXECUTE {
        return Err(NO_NEW_CODE);
    }
    let allow = |bits, perm| if prot & bits != 0 { perm } else { Perm::NONE };
    Ok(allow(READ | WRITE, Perm::READ) | allow(WRITE, Perm::WRITE) | allow(EXECUTE, Perm::EXECUTE))
}

/// `ENOMEM` if a range with these permissions makes more memory than there is beside the guest's private files.
fn check_room(call: &Call<'_>, range: Range<u64>, perm: Perm) -> Result<(), Stop> {
    if perm == Perm::NONE {
        return Ok(());
    }
    let len = range.end - range.start;
    let used = held(call.memory, range).into_iter().filter(|region| region.perm != Perm::NONE);
    let replaced: u64 = used.map(|region| region.end - region.start).sum();
    let files = call.linux.names.tree.space.used();
    match call.memory.used().saturating_sub(replaced).saturating_add(len).saturating_add(files) <= call.memory.limit() {
        true => Ok(()),
        false => Err(Errno::NOMEM.into()),
    }
}

const READ_WRITE: fn() -> Perm = || Perm::READ | Perm::WRITE;

pub(crate) fn brk(call: &mut Call<'_>) -> Outcome {
    let heap = call.linux.layout()?.heap.clone();
    let wanted = call.args[0];
    let (Ok(old), Ok(new)) = (pages(heap.end), pages(wanted)) else { return Ok(heap.end) };
    let changed = if wanted < heap.start {
        false
    } else if new > old {
        // A page stays free above the heap.
        is_free(call.memory, old..new.saturating_add(PAGE_SIZE))
            && check_room(call, old..new, READ_WRITE()).is_ok()
            && call.memory.map(old, new - old, READ_WRITE()).is_ok()
    } else {
        match unmap(call, new..old) {
            Err(Stop::Interrupted) => return Err(Stop::Interrupted),
            unmapped => unmapped.is_ok(),
        }
    };
    if changed {
        call.linux.layout()?.heap.end = wanted;
    }
    Ok(call.linux.layout()?.heap.end)
}

/// How a mapping is made (`MAP_`).
mod map {
    pub(super) const TYPE: u64 = 15;
    pub(super) const SHARED: u64 = 1;
    pub(super) const PRIVATE: u64 = 2;
    pub(super) const SHARED_VALIDATE: u64 = 3;
    /// Of those that must be known for the last type: the ones that shared mappings have.
    pub(super) const KNOWN: u64 = 0x1f_ffff;
    pub(super) const FIXED: u64 = 0x10;
    pub(super) const ANONYMOUS: u64 = 0x20;
    pub(super) const HUGE_PAGES: u64 = 0x4_0000;
    pub(super) const FIXED_NO_REPLACE: u64 = 0x10_0000;
}

pub(crate) fn mmap(call: &mut Call<'_>) -> Outcome {
    let [_, len, prot, flags, _, offset] = call.args;
    let shared = match flags & map::TYPE {
        map::PRIVATE => false,
        map::SHARED => true,
        map::SHARED_VALIDATE if flags & !map::KNOWN == 0 => true,
        map::SHARED_VALIDATE => return Err(Errno::OPNOTSUPP.into()),
        _ => return Err(Errno::INVAL.into()),
    };
    if len == 0 || offset % PAGE_SIZE != 0 {
        return Err(Errno::INVAL.into());
    }
    let len = pages(len)?;
    let perm = permissions(prot & 7)?;
    if flags & map::HUGE_PAGES != 0 {
        return Err(Errno::NOMEM.into());
    }
    let file = match flags & map::ANONYMOUS {
        0 => {
            let file = call.linux.descriptors.get_for_use(call.int(4))?;
            file.check_readable().map_err(|_| Errno::ACCESS)?;
            // A mapping of it is memory without a file.
            let is_zero = matches!(file.kind, Kind::Device(Device::Zero));
            if !is_zero {
                file.read_mapped(&mut [], 0)?;
            }
            (!is_zero).then_some(file)
        }
        _ => None,
    };
    let begun = call.begun();
    let start = match &begun {
        Some(begun) => begun.start,
        None => place(call, len, file.as_deref().filter(|_| !shared))?,
    };
    let range = start..start.saturating_add(len);
    if let (Some(joined), Some(file), true) = (&call.linux.joined, &file, perm.contains(Perm::EXECUTE)) {
        joined.check_text(file, start, offset)?;
    } else {
        check_executable(call, &range, perm)?;
    }
    let Some(file) = file else {
        call.memory.can_map(start, len, perm)?;
        make_room(call, &range, perm)?;
        call.memory.map(start, len, perm)?;
        return Ok(start);
    };
    // Text does not change.
    let shared = shared && !perm.contains(Perm::EXECUTE);
    let mapping = Mapping::new(range.clone(), offset, file, false).ok_or(Errno::NODEV)?;
    let filled = match begun {
        Some(begun) => {
            call.memory.slice_mut(start, len)?;
            begun.filled
        }
        None => {
            if offset.checked_add(len).is_none_or(|end| i64::try_from(end).is_err()) {
                return Err(Errno::OVERFLOW.into());
            }
            let shared = if shared { Some(new_mapping(call, mapping.clone(), perm)?) } else { None };
            call.memory.can_map(start, len, perm)?;
            // What this stores in files takes room there, which counts.
            call.write_back(&mapping.file.kind, &(offset..offset + len))?;
            make_room(call, &range, perm)?;
            call.memory.map(start, len, READ_WRITE())?;
            shared.into_iter().for_each(|mapping| call.linux.mappings.add(mapping));
            0
        }
    };
    let done = call.fill_new(start, filled..len, (!shared).then_some(mapping));
    match done.and_then(|()| Ok(call.memory.protect(start, len, perm)?)) {
        Err(stop @ Stop::Wait(_)) => Err(stop),
        Err(stop) => {
            unmap(call, range)?;
            Err(stop)
        }
        Ok(()) => Ok(start),
    }
}

/// Where a mapping of `len` bytes comes to be. `library` is the file if it may be a library's.
fn place(call: &mut Call<'_>, len: u64, library: Option<&OpenFile>) -> Outcome {
    let [hint, _, _, flags, _, offset] = call.args;
    let fixed = flags & (map::FIXED | map::FIXED_NO_REPLACE) != 0;
    let wanted = hint..hint.saturating_add(len);
    // A library's first mapping, which all others of it follow.
    let library = library.filter(|_| !fixed && offset == 0);
    if let Some((library, joined)) = library.zip(call.linux.joined.as_ref())
        && let Some(start) = joined.place(library, len, call.memory)
    {
        return Ok(start);
    }
    if flags & map::FIXED_NO_REPLACE != 0 && !is_free(call.memory, wanted.clone()) {
        return Err(Errno::EXIST.into());
    }
    let layout = call.linux.layout()?;
    let may_be = |hint| hint >= LOWEST && hint % PAGE_SIZE == 0 && wanted.end <= layout.mappings_end;
    if fixed || may_be(hint) && is_free(call.memory, wanted.clone()) {
        return Ok(hint);
    }
    layout.place(call.memory, len)
}

/// Takes away what is in a range that is about to be mapped. May be interrupted, and done again.
fn make_room(call: &mut Call<'_>, range: &Range<u64>, perm: Perm) -> Result<(), Stop> {
    call.prepare_release(range)?;
    check_room(call, range.clone(), perm)?;
    call.release(range)?;
    lighten(call, range.clone())
}

/// The same mapping of a file as a shared one, if that may be there.
fn new_mapping(call: &Call<'_>, mapping: Mapping, perm: Perm) -> Result<Mapping, Stop> {
    let mapping = Mapping { writes: perm.contains(Perm::WRITE), ..mapping };
    if mapping.writes {
        mapping.file.check_writable().map_err(|_| Errno::ACCESS)?;
        if !mapping.may_write() {
            return Err(Errno::PERM.into());
        }
    }
    let range = mapping.range.clone();
    call.linux.mappings.check_new(&mapping, &range, 0)?;
    if mapping.writes {
        call.linux.mappings.check_pages(&mapping, call.memory)?;
    }
    Ok(mapping.at(range))
}

/// A page-aligned range from arguments 0 and 1.
fn range(call: &Call<'_>, overflow: Errno) -> Result<Range<u64>, Stop> {
    let [start, len, ..] = call.args;
    if start % PAGE_SIZE != 0 {
        return Err(Errno::INVAL.into());
    }
    let len = len.checked_next_multiple_of(PAGE_SIZE).ok_or(overflow)?;
    Ok(start..start.checked_add(len).ok_or(overflow)?)
}

pub(crate) fn munmap(call: &mut Call<'_>) -> Outcome {
    let range = range(call, Errno::INVAL)?;
    if range.is_empty() {
        return Err(Errno::INVAL.into());
    }
    let all = call.memory.addresses();
    if range.start < all.start || range.end > all.end {
        return Err(Errno::INVAL.into());
    }
    unmap(call, range)?;
    Ok(0)
}

/// Unmaps a range at once, or fails. May be interrupted before, as what it holds is given back in chunks.
fn unmap(call: &mut Call<'_>, range: Range<u64>) -> Result<(), Stop> {
    if range.is_empty() {
        return Ok(());
    }
    let len = range.end - range.start;
    call.memory.can_unmap(range.start, len)?;
    call.release(&range)?;
    lighten(call, range.clone())?;
    Ok(call.memory.unmap(range.start, len)?)
}

/// Gives back what a range holds that is about to be replaced, if that is too much to be done at once.
fn lighten(call: &mut Call<'_>, range: Range<u64>) -> Result<(), Stop> {
    let held = held(call.memory, range.clone());
    match held.iter().map(|region| region.end - region.start).sum::<u64>() {
        0..=CHUNK => Ok(()),
        _ => discard(call, range),
    }
}

pub(crate) fn mprotect(call: &mut Call<'_>) -> Outcome {
    use prot::{EXECUTE, WRITE};
    let range = range(call, Errno::NOMEM)?;
    // Dynamic linkers ask for both in the text of programs that may have relocations there: those of position-independent
    // programs with thread-local variables say so, by some linkers, and have none.
    let is_relocated = call.args[2] & (WRITE | EXECUTE) == WRITE | EXECUTE && is_text(call.linux, &range);
    let perm = permissions(if is_relocated { call.args[2] & !EXECUTE } else { call.args[2] })?;
    if range.is_empty() {
        return Ok(0);
    }
    if !is_mapped(call.memory, &range) {
        return Err(Errno::NOMEM.into());
    }
    check_executable(call, &range, perm)?;
    if perm.contains(Perm::EXECUTE) {
        check_unchanged(call, &range)?;
    }
    check_room(call, range.clone(), perm)?;
    if !perm.contains(Perm::READ) {
        // Later it could not be read.
        call.linux.mappings.write_back(call.memory, &range, call.patience)?;
    }
    call.linux.mappings.protect(call.memory, &range, perm, call.patience)?;
    for start in range.clone().step_by(PROTECTED_AT_ONCE) {
        if start > range.start {
            call.patience.check()?;
        }
        call.memory.protect(start, (range.end - start).min(PROTECTED_AT_ONCE as u64), perm)?;
    }
    Ok(0)
}

/// Whether all of a range is mapped.
fn is_mapped(memory: &Memory, range: &Range<u64>) -> bool {
    let covered = overlapping(memory, range.clone())
        .iter()
        .try_fold(range.start, |covered, region| (region.start <= covered).then_some(region.end));
    range.is_empty() || covered.is_some_and(|covered| covered >= range.end)
}

pub(crate) fn madvise(call: &mut Call<'_>) -> Outcome {
    const DONT_NEED: i32 = 4;
    const DONT_NEED_LOCKED: i32 = 24;
    // Hints, from `MADV_NORMAL` to `MADV_COLLAPSE`, but for `MADV_REMOVE`. Programs make guards by `mprotect` where
    // `MADV_GUARD_INSTALL` is not known.
    let drops = match call.int(2) {
        DONT_NEED | DONT_NEED_LOCKED => true,
        0..=3 | 8 | 10..=23 | 25 => false,
        _ => return Err(Errno::INVAL.into()),
    };
    let range = range(call, Errno::INVAL)?;
    if !is_mapped(call.memory, &range) {
        return Err(Errno::NOMEM.into());
    }
    if drops {
        // What stands for a file stays as it is.
        for part in call.linux.mappings.outside(range) {
            discard(call, part)?;
        }
    }
    Ok(0)
}

/// Brings what is stored in shared mappings into their files.
pub(crate) fn msync(call: &mut Call<'_>) -> Outcome {
    const ASYNC: u32 = 1;
    const INVALIDATE: u32 = 2;
    const SYNC: u32 = 4;
    let flags = call.only(2, ASYNC | INVALIDATE | SYNC)?;
    let range = range(call, Errno::NOMEM)?;
    if flags & (ASYNC | SYNC) == ASYNC | SYNC {
        return Err(Errno::INVAL.into());
    }
    if !is_mapped(call.memory, &range) {
        return Err(Errno::NOMEM.into());
    }
    call.linux.mappings.write_back(call.memory, &range, call.patience)?;
    if flags & SYNC != 0 {
        for file in call.linux.mappings.files(&range) {
            call.patience.check()?;
            rustix::fs::fdatasync(file)?;
        }
    }
    Ok(0)
}

/// Calls about keeping pages in memory or on disk: nothing is to be done for mapped ones.
pub(crate) fn keep(call: &mut Call<'_>) -> Outcome {
    let start = call.args[0] & !(PAGE_SIZE - 1);
    let end = call.args[0].checked_add(call.args[1]).ok_or(Errno::INVAL)?;
    match is_mapped(call.memory, &(start..end)) {
        true => Ok(0),
        false => Err(Errno::NOMEM.into()),
    }
}

/// Which pages of a mapping are in memory: all are said to be.
pub(crate) fn mincore(call: &mut Call<'_>) -> Outcome {
    let range = range(call, Errno::NOMEM)?;
    if !is_mapped(call.memory, &range) {
        return Err(Errno::NOMEM.into());
    }
    let pages = (range.end - range.start) / PAGE_SIZE;
    call.memory.slice_mut(call.args[2], pages)?.fill(1);
    Ok(0)
}

const MAY_MOVE: u32 = 1;
const FIXED: u32 = 2;

pub(crate) fn mremap(call: &mut Call<'_>) -> Outcome {
    let [old, old_len, new_len, flags, ..] = call.args;
    let (Ok(old_len), Ok(new_len)) = (pages(old_len), pages(new_len)) else { return Err(Errno::INVAL.into()) };
    if let Some(begun) = call.begun() {
        call.fill_new(begun.start, begun.filled..new_len, None)?;
        return Ok(begun.start);
    }
    let kept = old..old.checked_add(old_len.min(new_len)).ok_or(Errno::INVAL)?;
    let Some(mapping) = call.linux.mappings.around(&kept)? else { return move_mapping(call) };
    if mapping.offset.checked_add(new_len).is_none_or(|end| i64::try_from(end).is_err()) {
        return Err(Errno::INVAL.into());
    }
    // What it replaces may be in the middle of another one.
    let more = usize::from(flags as u32 & FIXED != 0);
    let moved = Mapping { range: 0..new_len, filled: Vec::new(), ..mapping };
    call.linux.mappings.check_new(&moved, &(old..old.saturating_add(old_len)), more)?;
    if moved.writes {
        call.linux.mappings.check_pages(&moved, call.memory)?;
    }
    // It moves as any other memory, and stands for the file again where it comes to be.
    call.linux.mappings.write_back(call.memory, &kept, call.patience)?;
    let start = move_mapping(call)?;
    call.linux.mappings.go(&kept, start..start + new_len)?;
    call.fill_new(start, kept.end - kept.start..new_len, None)?;
    Ok(start)
}

fn move_mapping(call: &mut Call<'_>) -> Outcome {
    let [old, old_len, new_len, _, fixed, _] = call.args;
    let flags = call.only(3, MAY_MOVE | FIXED)?;
    if old % PAGE_SIZE != 0 || new_len == 0 || old_len == 0 || flags == FIXED {
        return Err(Errno::INVAL.into());
    }
    let (old_len, new_len) = (pages(old_len)?, pages(new_len)?);
    let old_end = old.checked_add(old_len).ok_or(Errno::INVAL)?;
    // One mapping, so one set of permissions.
    let perm = match overlapping(call.memory, old..old_end) {
        [region] if region.start <= old && region.end >= old_end => region.perm,
        _ => return Err(Errno::FAULT.into()),
    };
    let new = if flags & FIXED != 0 {
        let overlap = fixed < old_end && old < fixed.saturating_add(new_len);
        if fixed % PAGE_SIZE != 0 || overlap {
            return Err(Errno::INVAL.into());
        }
        fixed
    } else if new_len <= old_len {
        if new_len < old_len {
            unmap(call, old + new_len..old_end)?;
        }
        return Ok(old);
    } else {
        let new_end = old.checked_add(new_len).ok_or(Errno::NOMEM)?;
        check_room(call, old_end..new_end, perm)?;
        if is_free(call.memory, old_end..new_end) && call.memory.map(old_end, new_len - old_len, perm).is_ok() {
            return Ok(old);
        }
        if flags & MAY_MOVE == 0 {
            return Err(Errno::NOMEM.into());
        }
        call.linux.layout()?.place(call.memory, new_len)?
    };
    check_executable(call, &(new..new.saturating_add(new_len)), perm)?;
    let kept = old..old + old_len.min(new_len);
    call.release(&(new..new.saturating_add(new_len)))?;
    lighten(call, new..new.saturating_add(new_len))?;
    // Whatever these stood for, they are about to be given back.
    call.release(&(kept.end..old_end))?;
    lighten(call, kept.end..old_end)?;
    let len = kept.end - kept.start;
    let is_moved = len >= LEAST_MOVED && call.memory.move_pages(old, len, new, new_len).is_ok();
    if !is_moved
        && let Err(stop) = copy_pages(call, kept, new, new_len, perm).and_then(|()| Ok(call.memory.unmap(old, len)?))
    {
        // The old mapping is whole, unless the new one was to replace something.
        call.memory.unmap(new, new_len)?;
        call.memory.protect(old, len, perm)?;
        return Err(stop);
    }
    if len < old_len {
        call.memory.unmap(old + len, old_len - len)?;
    }
    Ok(new)
}

/// Maps `len` bytes at `to` and copies `from` there, which may be left readable.
fn copy_pages(call: &mut Call<'_>, from: Range<u64>, to: u64, len: u64, perm: Perm) -> Result<(), Stop> {
    call.memory.map(to, len, READ_WRITE())?;
    if !perm.contains(Perm::READ) {
        call.memory.protect(from.start, from.end - from.start, Perm::READ)?;
    }
    let mut buffer = vec![0; STEP.min((from.end - from.start) as usize)];
    for start in from.clone().step_by(STEP) {
        if start > from.start {
            call.patience.check()?;
        }
        let part = &mut buffer[..(from.end - start).min(STEP as u64) as usize];
        call.memory.read(start, part)?;
        call.memory.write(to + (start - from.start), part)?;
    }
    Ok(call.memory.protect(to, len, perm)?)
}

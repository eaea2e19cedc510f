//! A guest takes no more of the kernel's mappings than its window counts.
//!
//! The tests called `.._are_one_mapping` and `moving_..` need a host that gives address space freely, that is, without
//! `vm.overcommit_memory=2` and limits on data and addresses.

use riverrun_vm::{AddressSpace, GUARD_SIZE, Image, MIN_ADDRESS, MapError, PAGE_SIZE, Perm, WINDOW_OFFSET, Window};

const READ: Perm = Perm::READ;
const START: u64 = 0x10_0000;
/// The state, the guards around it, and what lies in front of the first region and behind the last one.
const BESIDES: usize = 4;

fn writable() -> Perm {
    Perm::READ | Perm::WRITE
}

fn page(n: u64) -> u64 {
    START + n * PAGE_SIZE
}

fn window_of(space: AddressSpace, limit: usize) -> Window {
    let mut window = Window::new(space, 1 << 30).unwrap();
    window.set_mapping_limit(limit);
    window
}

fn window(limit: usize) -> Window {
    window_of(AddressSpace::LARGEST, limit)
}

/// A window with pages of a file at [`START`], and pages of zeros behind them.
fn window_with_image(pages: u64, limit: usize) -> Window {
    let mut image = Image::new().unwrap();
    let content = vec![7; (pages * PAGE_SIZE) as usize];
    image.add(START..page(pages), writable(), &[(START, &content)]).unwrap();
    image.add(page(pages)..page(2 * pages), writable(), &[]).unwrap();
    let mut window = window(limit);
    window.map_image(&image).unwrap();
    window
}

/// Zeros behind contents are in the file if they are few, and a mapping of their own if they are many.
#[test]
fn few_zeros_behind_contents_are_one_mapping_with_them() {
    for (zeros, mappings) in [(1, 1), (32, 1), (33, 2)] {
        let mut image = Image::new().unwrap();
        image.add(START..page(1 + zeros), writable(), &[(START, &[7; 100])]).unwrap();
        let mut window = window(4096);
        window.map_image(&image).unwrap();
        assert_eq!(window.mappings(), mappings, "{zeros} pages of zeros");
        let bytes = window.slice(START, (1 + zeros) * PAGE_SIZE).unwrap();
        assert!(bytes[..100].iter().all(|&byte| byte == 7) && bytes[100..].iter().all(|&byte| byte == 0));
        window.slice_mut(page(zeros), PAGE_SIZE).unwrap().fill(9);
        window.discard(page(zeros), PAGE_SIZE).unwrap();
        assert!(is_zero(&window, page(zeros), 1));
        assert_counted(&mut window);
    }
}

/// Of a plain program, the kernel has six mappings: the state with the guard behind it, text, data, what lies between, the
/// stack, and a guard at either end, which is one with that of the neighbour.
#[test]
fn a_plain_program_is_six_mappings() {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(|byte: char| !byte.is_ascii_digit()).map_while(|number| number.parse::<u32>().ok());
    let has_guards = (numbers.next(), numbers.next()) >= (Some(6), Some(13));
    let mut image = Image::new().unwrap();
    let data = MIN_ADDRESS + PAGE_SIZE;
    image.add(MIN_ADDRESS..data, Perm::READ | Perm::EXECUTE, &[(MIN_ADDRESS, &[1; 100])]).unwrap();
    image.add(data..data + 9 * PAGE_SIZE, writable(), &[(data, &[2; 100])]).unwrap();
    for space in [AddressSpace::LARGEST, smallest()] {
        let mut window = window_of(space, 4096);
        window.map_image(&image).unwrap();
        window.map(space.end() - 16 * PAGE_SIZE, 16 * PAGE_SIZE, writable()).unwrap();
        assert!(window.slice_mut(data, 1).is_ok() && window.slice(MIN_ADDRESS, 1).is_ok());
        // Both ends are counted.
        assert_eq!(kernel_mappings(&mut window), if has_guards { 7 } else { 8 });
    }
}

fn smallest() -> AddressSpace {
    AddressSpace::new(AddressSpace::MIN_BITS).unwrap()
}

#[test]
fn an_empty_range_is_refused_as_such() {
    let mut window = window(4096);
    for start in [MIN_ADDRESS, MIN_ADDRESS + 1, 0, u64::MAX] {
        assert!(matches!(window.map(start, 0, writable()), Err(MapError::Empty)), "{start:#x}");
        assert!(matches!(window.protect(start, 0, writable()), Err(MapError::Empty)), "{start:#x}");
        assert!(matches!(window.unmap(start, 0), Err(MapError::Empty)), "{start:#x}");
        assert!(matches!(window.discard(start, 0), Err(MapError::Empty)), "{start:#x}");
    }
}

/// What is behind the window is not the guest's, for the guest as for its host.
#[test]
fn a_small_window_ends_where_its_addresses_do() {
    let end = smallest().end();
    let mut window = window_of(smallest(), 4096);
    window.map(end - PAGE_SIZE, PAGE_SIZE, writable()).unwrap();
    for (start, len) in [(end, PAGE_SIZE), (end - PAGE_SIZE, 2 * PAGE_SIZE), (1 << 30, PAGE_SIZE)] {
        assert!(matches!(window.map(start, len, writable()), Err(MapError::OutOfWindow)), "{start:#x}");
        assert!(matches!(window.unmap(start, len), Err(MapError::OutOfWindow)), "{start:#x}");
        assert!(window.slice(start, len).is_err() && window.slice_mut(start, len).is_err(), "{start:#x}");
    }
    assert_eq!(window.slice_mut(end - 8, 9).unwrap_err().address, end);
    assert_counted(&mut window);
}

/// A saved memory fits windows that have all its addresses, and is refused by others.
#[test]
fn a_saved_memory_is_restored_only_where_its_addresses_are() {
    let image = Image::new().unwrap();
    let place = smallest().end();
    let mut large = window(4096);
    large.map(place, PAGE_SIZE, writable()).unwrap();
    large.slice_mut(place, 1).unwrap()[0] = 7;
    let saved = large.save(&image).unwrap();
    let mut small = window_of(smallest(), 4096);
    assert!(matches!(small.restore(&saved, &image), Err(MapError::OutOfWindow)));
    assert!(small.regions().is_empty());
    let mut middle = window_of(AddressSpace::new(AddressSpace::MIN_BITS + 1).unwrap(), 4096);
    middle.restore(&saved, &image).unwrap();
    assert_eq!(middle.slice(place, 1).unwrap(), [7]);
}

fn touch(window: &mut Window, page: u64) {
    if let Ok(bytes) = window.slice_mut(page, 1) {
        bytes[0] = 1;
    }
}

/// The mappings that the kernel has in the window's reservation.
fn kernel_mappings(window: &mut Window) -> usize {
    let state = window.state_ptr() as usize;
    let size = window.space().size() as usize;
    let reservation = state - GUARD_SIZE..state + WINDOW_OFFSET + size + GUARD_SIZE;
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let range = |line: &str| {
        let (start, end) = line.split_whitespace().next()?.split_once('-')?;
        Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
    };
    let ranges = maps.lines().filter_map(range);
    ranges.filter(|range| range.start < reservation.end && reservation.start < range.end).count()
}

#[track_caller]
fn assert_counted(window: &mut Window) {
    let kernel = kernel_mappings(window);
    assert!(kernel <= window.mappings() + BESIDES, "{kernel} mappings, {} counted", window.mappings());
}

const PAGES: u64 = 2_000;

#[test]
fn pages_that_are_mapped_and_used_apart_and_joined_later_are_one_mapping() {
    let mut window = window(4096);
    for n in (0..PAGES).step_by(2) {
        window.map(page(n), PAGE_SIZE, writable()).unwrap();
        touch(&mut window, page(n));
    }
    for n in (1..PAGES).step_by(2) {
        window.map(page(n), PAGE_SIZE, writable()).unwrap();
    }
    assert_eq!((window.regions().len(), window.mappings()), (1, 1));
    assert_counted(&mut window);
}

#[test]
fn pages_that_are_used_while_they_are_apart_are_one_mapping() {
    let mut window = window(4096);
    window.map(START, PAGES * PAGE_SIZE, writable()).unwrap();
    for n in (1..PAGES).step_by(2) {
        window.protect(page(n), PAGE_SIZE, READ).unwrap();
    }
    (0..PAGES).for_each(|n| touch(&mut window, page(n)));
    for n in (1..PAGES).step_by(2) {
        window.protect(page(n), PAGE_SIZE, writable()).unwrap();
    }
    assert_eq!((window.regions().len(), window.mappings()), (1, 1));
    assert_counted(&mut window);
}

/// The pages of a program's file are another mapping than others, whatever their permissions.
#[test]
fn mappings_that_differ_from_the_images_are_counted() {
    let fill = |window: &mut Window, n| {
        window.map(page(n), PAGE_SIZE, writable())?;
        touch(window, page(n));
        Ok(())
    };
    let split = |window: &mut Window, n| {
        window.protect(page(n), PAGE_SIZE, READ)?;
        touch(window, page(n - 1));
        window.protect(page(n), PAGE_SIZE, writable())
    };
    let punch = |window: &mut Window, n| {
        window.unmap(page(n), PAGE_SIZE)?;
        window.map(page(n), PAGE_SIZE, writable())
    };
    type Way<'a> = &'a dyn Fn(&mut Window, u64) -> Result<(), MapError>;
    for way in [&fill as Way<'_>, &split, &punch] {
        let mut window = window_with_image(PAGES, 400);
        let refused = (1..PAGES).step_by(2).find_map(|n| way(&mut window, n).err());
        assert!(matches!(refused, Some(MapError::Pieces)), "{refused:?}");
        assert_eq!(window.regions().len(), 1);
        assert_counted(&mut window);
        // All that is not the image's any more is the window's own again.
        window.unmap(START, 2 * PAGES * PAGE_SIZE).unwrap();
        window.map(START, 2 * PAGES * PAGE_SIZE, writable()).unwrap();
        assert_eq!(window.mappings(), 1);
        assert_counted(&mut window);
    }
}

/// Windows made from a saved memory have its pages in a file, from the second one on: what is given back is zero, not the
/// file's.
#[test]
fn mappings_of_a_saved_memory_are_counted() {
    const NUMBERED: u64 = 250;
    let image = Image::new().unwrap();
    let mut first = window(4096);
    first.map(START, NUMBERED * PAGE_SIZE, writable()).unwrap();
    number(&mut first, START, NUMBERED);
    let saved = first.save(&image).unwrap();
    for limit in [4096, 4096, 100, 4] {
        let mut other = window(limit);
        other.restore(&saved, &image).unwrap();
        assert!(is_numbered(&other, START, NUMBERED));
        assert_counted(&mut other);
        for n in (1..NUMBERED).step_by(2) {
            other.discard(page(n), PAGE_SIZE).unwrap();
            assert!(is_zero(&other, page(n), 1) && other.slice(page(n - 1), 1).unwrap() == [n as u8]);
        }
        assert_counted(&mut other);
        assert!(other.mappings() <= limit.max(1));
        other.discard(START, NUMBERED * PAGE_SIZE).unwrap();
        assert!(is_zero(&other, START, NUMBERED));
        other.unmap(START, NUMBERED * PAGE_SIZE).unwrap();
        assert_counted(&mut other);
    }
}

#[test]
fn whatever_a_guest_changes_its_mappings_are_counted() {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    for limit in [20, 4096] {
        let mut window = window_with_image(12, limit);
        for _ in 0..4_000 {
            let (start, len) = (page(random(60)), (1 + random(4) * random(4)) * PAGE_SIZE);
            let perm = [Perm::NONE, READ, READ, writable(), writable(), Perm::EXECUTE][random(6) as usize];
            let before = window.mappings();
            let _ = match random(9) {
                0 => window.map(start, len, perm),
                8 => window.move_pages(start, len, page(random(60)), (1 + random(20)) * PAGE_SIZE),
                1 => window.unmap(start, len),
                2 | 3 => window.protect(start, len, perm),
                4 => window.discard(start, len),
                _ => {
                    touch(&mut window, start);
                    Ok(())
                }
            };
            assert!(window.mappings() <= before.max(limit));
            assert_counted(&mut window);
        }
        // Contents and permissions are as recorded.
        for region in window.regions().to_vec() {
            let len = region.end - region.start;
            assert_eq!(window.slice(region.start, len).is_ok(), region.perm.contains(READ));
            if let Ok(bytes) = window.slice(region.start, len) {
                assert!(bytes.iter().all(|byte| [0, 1, 7].contains(byte)));
            }
        }
    }
}

#[test]
fn pages_that_are_given_back_are_as_they_were_at_first() {
    let mut window = window_with_image(2, 4096);
    window.slice_mut(START, 4 * PAGE_SIZE).unwrap().fill(9);
    window.protect(START, PAGE_SIZE, READ).unwrap();
    window.discard(START, 4 * PAGE_SIZE).unwrap();
    let bytes = window.slice(START, 4 * PAGE_SIZE).unwrap();
    let (image, zeros) = bytes.split_at(2 * PAGE_SIZE as usize);
    assert!(image.iter().all(|&byte| byte == 7) && zeros.iter().all(|&byte| byte == 0));
    assert!(matches!(window.discard(START, 5 * PAGE_SIZE), Err(MapError::NotMapped)));

    window.slice_mut(page(1), PAGE_SIZE).unwrap().fill(9);
    window.map(START, 3 * PAGE_SIZE, writable()).unwrap();
    window.unmap(page(1), PAGE_SIZE).unwrap();
    window.map(page(1), PAGE_SIZE, READ).unwrap();
    assert!(window.slice(START, 4 * PAGE_SIZE).unwrap().iter().all(|&byte| byte == 0));
}

/// Fills pages with their numbers.
fn number(window: &mut Window, start: u64, pages: u64) {
    let bytes = window.slice_mut(start, pages * PAGE_SIZE).unwrap();
    bytes.chunks_mut(PAGE_SIZE as usize).zip(1..).for_each(|(page, n)| page.fill(n));
}

fn is_numbered(window: &Window, start: u64, pages: u64) -> bool {
    let bytes = window.slice(start, pages * PAGE_SIZE).unwrap();
    bytes.chunks(PAGE_SIZE as usize).zip(1..).all(|(page, n)| page.iter().all(|&byte| byte == n))
}

fn is_zero(window: &Window, start: u64, pages: u64) -> bool {
    window.slice(start, pages * PAGE_SIZE).unwrap().iter().all(|&byte| byte == 0)
}

/// Page faults of this thread that needed no disk.
fn faults() -> i64 {
    // SAFETY: all zeros is a valid value, which the call writes to.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), 0);
        usage.ru_minflt
    }
}

#[test]
fn moving_keeps_contents_and_permissions() {
    let mut window = window(4096);
    window.map(START, 8 * PAGE_SIZE, writable()).unwrap();
    number(&mut window, START, 8);
    window.map(page(100), 20 * PAGE_SIZE, writable()).unwrap();
    window.slice_mut(page(100), 20 * PAGE_SIZE).unwrap().fill(9);
    // Longer, over what is mapped in part.
    window.protect(START, 8 * PAGE_SIZE, READ).unwrap();
    window.move_pages(START, 8 * PAGE_SIZE, page(115), 12 * PAGE_SIZE).unwrap();
    assert!(window.slice(START, 1).is_err() && window.slice_mut(page(115), 1).is_err());
    assert!(is_numbered(&window, page(115), 8) && is_zero(&window, page(123), 4));
    assert_eq!(window.used(), (15 + 12) * PAGE_SIZE);
    assert_counted(&mut window);
    // Shorter, and again; what is inaccessible is moved, too.
    window.protect(page(115), 12 * PAGE_SIZE, Perm::NONE).unwrap();
    window.move_pages(page(115), 12 * PAGE_SIZE, START, 5 * PAGE_SIZE).unwrap();
    assert!(window.slice(START, 1).is_err());
    window.protect(START, 5 * PAGE_SIZE, writable()).unwrap();
    assert!(is_numbered(&window, START, 5));
    // Where the pages were is zero.
    window.map(page(115), 12 * PAGE_SIZE, READ).unwrap();
    assert!(is_zero(&window, page(115), 12));
    assert_counted(&mut window);
}

#[test]
fn moving_that_is_refused_changes_nothing() {
    let mut window = window_with_image(4, 6);
    let old = window.regions().to_vec();
    let mut refused = |from, len, to, new_len| window.move_pages(from, len, to, new_len).unwrap_err();
    assert!(matches!(refused(START, PAGE_SIZE, page(50), PAGE_SIZE), MapError::NotMovable), "an image");
    assert!(matches!(refused(page(5), 2 * PAGE_SIZE, page(6), 2 * PAGE_SIZE), MapError::NotMovable), "overlap");
    assert!(matches!(refused(page(5), 9 * PAGE_SIZE, page(50), 9 * PAGE_SIZE), MapError::NotMapped));
    assert!(matches!(refused(page(5), PAGE_SIZE, 0, PAGE_SIZE), MapError::OutOfWindow));
    assert!(matches!(refused(page(5), PAGE_SIZE, page(50), 2 << 30), MapError::Limit));
    assert!(matches!(refused(page(5), 1, page(50), PAGE_SIZE), MapError::Misaligned));
    assert_eq!(window.regions(), old);
    window.slice_mut(page(4), 4 * PAGE_SIZE).unwrap().fill(3);
    window.protect(page(6), PAGE_SIZE, READ).unwrap();
    assert!(matches!(window.move_pages(page(5), 2 * PAGE_SIZE, page(50), 2 * PAGE_SIZE), Err(MapError::NotMovable)));
    assert!(matches!(window.move_pages(page(5), PAGE_SIZE, page(50), PAGE_SIZE), Err(MapError::Pieces)));
    assert!(window.slice(page(4), 4 * PAGE_SIZE).unwrap().iter().all(|&byte| byte == 3));
    assert_counted(&mut window);
}

#[test]
fn moving_touches_no_page() {
    const MUCH: u64 = 64 << 20;
    let mut window = window(4096);
    window.map(START, MUCH, writable()).unwrap();
    window.slice_mut(START, MUCH).unwrap().fill(7);
    let before = faults();
    let mut at = START;
    for n in 1..=20 {
        let next = START + n % 3 * 2 * MUCH;
        window.move_pages(at, MUCH, next, MUCH).unwrap();
        at = next;
    }
    assert!(faults() - before < 1000, "{} page faults", faults() - before);
    assert!(window.slice(at, MUCH).unwrap().iter().all(|&byte| byte == 7));
    assert_eq!(window.mappings(), 1);
    assert_counted(&mut window);
}

/// Address space that a move left free for a moment would become another thread's.
#[test]
fn moving_leaves_no_addresses_to_other_threads() {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    let is_over = AtomicBool::new(false);
    let mut window = window(4096);
    let (state, size) = (window.state_ptr() as usize, window.space().size() as usize);
    let reservation = state..state + WINDOW_OFFSET + size;
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    for pages in [1, 16, 100] {
                        let len = pages * PAGE_SIZE as usize;
                        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
                        // SAFETY: a fresh mapping of the kernel's choice, which nothing else uses.
                        unsafe {
                            let at = libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ, flags, -1, 0);
                            assert!(!reservation.contains(&(at as usize)), "{at:?} is the window's");
                            libc::munmap(at, len);
                        }
                    }
                }
            });
        }
        window.map(START, 100 * PAGE_SIZE, writable()).unwrap();
        number(&mut window, START, 100);
        let place = |n: u64| page(n % 7 * 200);
        let moved =
            (1..3_000).try_for_each(|n| window.move_pages(place(n - 1), 100 * PAGE_SIZE, place(n), 100 * PAGE_SIZE));
        is_over.store(true, Relaxed);
        moved.unwrap();
        assert!(is_numbered(&window, place(2_999), 100));
    });
}

/// Runs a test of this file where the kernel counts what can be written to, and lets there be little of it.
fn assert_passes_with_little_data(test: &str) {
    let limited = "ulimit -d 262144; exec \"$0\" \"$@\"";
    let this = std::env::current_exe().unwrap();
    let mut command = std::process::Command::new("sh");
    command.args(["-c", limited]).arg(this).args(["--exact", "--include-ignored", "--nocapture", test]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn counted_memory_has_counted_mappings() {
    assert_passes_with_little_data("whatever_a_guest_changes_its_mappings_are_counted");
}

#[test]
fn counted_memory_that_is_refused_changes_nothing() {
    assert_passes_with_little_data("refused_memory_changes_nothing");
}

#[test]
#[ignore = "run by `counted_memory_that_is_refused_changes_nothing`, with a limit on data"]
fn refused_memory_changes_nothing() {
    let mut window = window_with_image(4, 4096);
    window.slice_mut(START, 8 * PAGE_SIZE).unwrap().fill(3);
    window.map(page(20), PAGE_SIZE, READ).unwrap();
    let old = window.regions().to_vec();
    let much = 512 << 20;
    assert!(matches!(window.map(START, much, writable()), Err(MapError::Host(_))));
    window.map(page(30), much, READ).unwrap();
    assert!(matches!(window.protect(page(30), much, writable()), Err(MapError::Host(_))));
    assert!(window.slice(page(30), much).is_ok() && window.slice_mut(page(30), 1).is_err());
    assert!(matches!(window.move_pages(page(4), PAGE_SIZE, page(50), PAGE_SIZE), Err(MapError::NotMovable)));
    window.unmap(page(30), much).unwrap();
    assert_eq!(window.regions(), old);
    assert!(window.slice(START, 8 * PAGE_SIZE).unwrap().iter().all(|&byte| byte == 3));
    // What was not mapped is inaccessible, and what is mapped there later is zero.
    window.map(page(9), 4 * PAGE_SIZE, writable()).unwrap();
    assert!(is_zero(&window, page(9), 4));
}

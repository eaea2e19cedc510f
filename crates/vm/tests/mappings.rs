//! A guest takes no more of the kernel's mappings than its window counts.

use riverrun_vm::{GUARD_SIZE, Image, MapError, PAGE_SIZE, Perm, WINDOW_OFFSET, WINDOW_SIZE, Window};

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

fn window(limit: usize) -> Window {
    let mut window = Window::new(1 << 30).unwrap();
    window.set_mapping_limit(limit);
    window
}

/// A window with pages of a file at [`START`], and pages of zeros behind them.
fn window_with_image(pages: u64, limit: usize) -> Window {
    let mut image = Image::new().unwrap();
    let content = vec![7; (pages * PAGE_SIZE) as usize];
    image.add(START..page(2 * pages), writable(), &[(START, &content)]).unwrap();
    let mut window = window(limit);
    window.map_image(&image).unwrap();
    window
}

fn touch(window: &mut Window, page: u64) {
    if let Ok(bytes) = window.slice_mut(page, 1) {
        bytes[0] = 1;
    }
}

/// The mappings that the kernel has in the window's reservation.
fn kernel_mappings(window: &mut Window) -> usize {
    let state = window.state_ptr() as usize;
    let reservation = state - GUARD_SIZE..state + WINDOW_OFFSET + WINDOW_SIZE + GUARD_SIZE;
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
        for _ in 0..2_000 {
            let (start, len) = (page(random(60)), (1 + random(4) * random(4)) * PAGE_SIZE);
            let perm = [Perm::NONE, READ, READ, writable(), writable(), Perm::EXECUTE][random(6) as usize];
            let before = window.mappings();
            let _ = match random(8) {
                0 => window.map(start, len, perm),
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

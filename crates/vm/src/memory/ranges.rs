//! Sorted ranges of addresses, as sets.

use std::ops::Range;

/// The union of sorted ranges, neighbours joined.
pub(crate) fn merged(ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    let mut union: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match union.last_mut() {
            Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
            _ if range.is_empty() => {}
            _ => union.push(range),
        }
    }
    union
}

/// The union of sorted ranges and another one.
pub(crate) fn joined(ranges: &[Range<u64>], other: &Range<u64>) -> Vec<Range<u64>> {
    let mut union = ranges.to_vec();
    union.push(other.clone());
    union.sort_by_key(|range| range.start);
    merged(union)
}

/// The parts of sorted ranges that are in `within`.
pub(crate) fn clipped(ranges: &[Range<u64>], within: &Range<u64>) -> Vec<Range<u64>> {
    let clip = |range: &Range<u64>| range.start.max(within.start)..range.end.min(within.end);
    ranges.iter().map(clip).filter(|range| range.start < range.end).collect()
}

/// The parts of sorted ranges that are not in `without`.
pub(crate) fn cut(ranges: &[Range<u64>], without: &Range<u64>) -> Vec<Range<u64>> {
    let parts =
        |range: &Range<u64>| [range.start..range.end.min(without.start), range.start.max(without.end)..range.end];
    ranges.iter().flat_map(parts).filter(|range| range.start < range.end).collect()
}

/// The gaps of sorted ranges within `within`.
pub(crate) fn gaps(ranges: &[Range<u64>], within: &Range<u64>) -> Vec<Range<u64>> {
    let mut at = within.start;
    let mut gaps = Vec::new();
    for range in clipped(ranges, within) {
        gaps.push(at..range.start);
        at = range.end;
    }
    gaps.push(at..within.end);
    gaps.retain(|gap| gap.start < gap.end);
    gaps
}

//! Collections, iterators and text, over what is read from standard input.

use std::cell::RefCell;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::fmt::Write as _;
use std::io::{self, BufRead};
use std::rc::{Rc, Weak};

#[derive(Default)]
struct Node {
    parent: RefCell<Weak<Node>>,
    children: RefCell<Vec<Rc<Node>>>,
}

fn main() -> io::Result<()> {
    let mut words: HashMap<String, usize> = HashMap::new();
    for line in io::stdin().lock().lines() {
        for word in line?.split(|c: char| !c.is_alphabetic()).filter(|word| word.chars().count() > 3) {
            *words.entry(word.to_lowercase()).or_default() += 1;
        }
    }
    let mut heap: BinaryHeap<_> = words.iter().map(|(word, count)| (*count, word)).collect();
    for _ in 0..5 {
        println!("{:?}", heap.pop());
    }
    let initials: BTreeSet<char> = words.keys().filter_map(|word| word.chars().next()).collect();
    println!("{}", initials.iter().collect::<String>());

    // A walk over a grid, breadth first.
    let open = |x: i32, y: i32| (0..60).contains(&x) && (0..60).contains(&y) && (x * x + 3 * y + x * y) % 7 > 1;
    let mut distances = HashMap::from([((1, 1), 0u32)]);
    let mut todo = VecDeque::from([(1, 1)]);
    while let Some((x, y)) = todo.pop_front() {
        let here = distances[&(x, y)];
        for (dx, dy) in [(0, 1), (1, 0), (0, -1), (-1, 0)] {
            let next = (x + dx, y + dy);
            if open(next.0, next.1) && !distances.contains_key(&next) {
                distances.insert(next, here + 1);
                todo.push_back(next);
            }
        }
    }
    println!("reached {} farthest {:?}", distances.len(), distances.values().max());

    let root = Rc::new(Node::default());
    for _ in 0..100 {
        let child = Rc::new(Node::default());
        *child.parent.borrow_mut() = Rc::downgrade(&root);
        root.children.borrow_mut().push(child);
    }
    println!("{} {}", Rc::strong_count(&root), Rc::weak_count(&root));
    let mut text = String::new();
    for (n, value) in [1.0, -0.1, 1e21, f64::MIN_POSITIVE, f64::NAN].into_iter().enumerate() {
        write!(text, "{value}|{value:e}|{n:>04x}|{:?} ", value as i32).unwrap();
    }
    println!("{text}{:?} {:?}", "1_0".parse::<i32>(), "0x".parse::<f32>());
    println!("{:?}", i64::MAX.checked_mul(2).map_or(i128::from(i64::MAX) * 2, i128::from));
    Ok(())
}

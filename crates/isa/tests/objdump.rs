//! Sweeps the space of encodings: every 16-bit parcel and many 32-bit words, half of them built
//! from the table's rows and half random, are disassembled by riverrun, by GNU objdump 2.40, and,
//! where that one does not know an extension, by LLVM's. Which words are instructions, and their
//! text in both styles, must agree.
//!
//! `RIVERRUN_SWEEP=2000000 cargo test -p riverrun-isa --test objdump` sweeps that many words
//! instead of 100,000. The words are the same in every run.
//!
//! The tools come from the Debian packages binutils-riscv64-linux-gnu and llvm-22.

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Random, word_of};
use riverrun_isa::{Extension, Op, Style, decode, decode_compressed, disassemble, length};

/// A word that is disassembled differently on purpose.
struct Difference {
    why: &'static str,
    /// Word, our text, the other's text.
    applies: fn(u32, &str, &str) -> bool,
}

const DIFFERENCES: &[Difference] = &[
    Difference {
        why: "no other disassembler knows this project's own instruction",
        applies: |_, ours, theirs| mnemonic(ours) == "rr.call" && is_data(theirs),
    },
    Difference {
        why: "privileged instructions are none to a user-mode machine",
        applies: |_, ours, theirs| {
            let privileged = ["mret", "sret", "uret", "dret", "wfi", "sfence.vma"];
            ours.starts_with(".4byte") && privileged.contains(&mnemonic(theirs))
        },
    },
    Difference {
        why: "encodings of 48 bits and more (low five bits ones) are given up as 4 bytes of data",
        applies: |word, ours, theirs| word & 31 == 31 && ours.starts_with(".4byte") && is_data(theirs),
    },
    Difference {
        why: "an instruction with an immediate keeps its own name; objdump 2.40 gives some the name \
              of the one with a register (add sp,sp,-16), LLVM does not",
        applies: |_, ours, theirs| {
            let (name, operands) = ours.split_once('\t').unwrap_or_default();
            let (prefix, suffix) = name.rsplit_once('i').unwrap_or_default();
            !prefix.is_empty() && format!("{prefix}{suffix}\t{operands}") == theirs
        },
    },
    Difference { why: "c.addi16sp of 0 is reserved", applies: |word, ours, _| word == 0x6101 && is_data(ours) },
    Difference {
        why: "reserved rounding modes make no instruction",
        applies: |_, ours, theirs| is_data(ours) && theirs.ends_with(",unknown"),
    },
    Difference {
        why: "exact conversions may name any rounding mode",
        applies: |_, ours, theirs| ["fcvt.d.s", "fcvt.d.w", "fcvt.d.wu"].contains(&mnemonic(ours)) && is_data(theirs),
    },
    Difference {
        why: "unused fields of fences are ignored, as the specification asks for",
        applies: |word, ours, theirs| word & 0x607f == 0xf && !is_data(ours) && is_data(theirs),
    },
];

/// Where each instruction stands: far enough apart that the longest encoding ends before the next.
const SLOT: usize = 8;
const C_NOP: [u8; 2] = [1, 0];
const CHUNK: usize = 1 << 17;

/// The extensions that GNU objdump 2.40 is told of.
const ARCH: &str = "rv64imafdc_zicsr_zifencei_zihintpause_zba_zbb_zbs";

fn mnemonic(text: &str) -> &str {
    text.split('\t').next().unwrap_or_default()
}

fn is_data(text: &str) -> bool {
    text.starts_with('.') || text.starts_with("0x") || text == "<unknown>"
}

/// Runs a tool; a missing one is named with the package that has it.
fn tool(name: &str, package: &str) -> Command {
    let found = Command::new(name).arg("--version").stdout(Stdio::null()).status();
    assert!(found.is_ok(), "{name} is missing: apt-get install {package}");
    Command::new(name)
}

fn gnu(name: &str) -> Command {
    tool(&format!("riscv64-linux-gnu-{name}"), "binutils-riscv64-linux-gnu")
}

/// A folder that goes away with its owner.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("riverrun-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Makes an object whose text is one word per slot, and whose attributes name the extensions.
fn object(folder: &Path, words: &[u32]) -> PathBuf {
    let [source, template, binary, object] = ["a.s", "a.o", "words.bin", "words.o"].map(|name| folder.join(name));
    let mut bytes = Vec::with_capacity(words.len() * SLOT);
    for &word in words {
        let end = bytes.len() + SLOT;
        bytes.extend_from_slice(&word.to_le_bytes()[..length(word) as usize]);
        while bytes.len() < end {
            bytes.extend_from_slice(&C_NOP);
        }
    }
    fs::write(&binary, bytes).unwrap();
    fs::write(&source, format!(".attribute arch, \"{ARCH}\"\n.text\nnop\n")).unwrap();
    let assembled = gnu("as").args([&source, Path::new("-o"), &template]).status().unwrap();
    assert!(assembled.success());
    // Without symbols, targets are plain addresses.
    let update = format!(".text={}", binary.display());
    let copied =
        gnu("objcopy").args(["--strip-all", "--update-section", &update]).args([&template, &object]).status().unwrap();
    assert!(copied.success());
    object
}

/// Runs a disassembler and gives the text of each slot.
fn slots(mut command: Command, count: usize) -> Vec<String> {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut texts = vec![String::new(); count];
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        // `  10:<TAB>00500513<TAB>li<TAB>a0,5 # 0x5`, the first tab a space in LLVM's.
        let Some((address, rest)) = line.trim_start().split_once(':') else { continue };
        let Ok(address) = usize::from_str_radix(address, 16) else { continue };
        let Some((_, text)) = rest.trim_start().split_once('\t') else { continue };
        if address % SLOT == 0 {
            let text = text.split(" #").next().unwrap_or_default();
            texts[address / SLOT] = text.trim().to_owned();
        }
    }
    assert!(child.wait().unwrap().success());
    texts
}

fn gnu_texts(object: &Path, style: Style, count: usize) -> Vec<String> {
    let mut command = gnu("objdump");
    command.args(["-D", "-z", "-j", ".text"]).arg(object);
    if style == Style::Raw {
        command.args(["-M", "no-aliases"]);
    }
    slots(command, count)
}

fn llvm_texts(object: &Path, style: Style, count: usize) -> Vec<String> {
    let mut command = tool("llvm-objdump-22", "llvm-22");
    command.args(["-d", "-z", "-j", ".text", "--mattr=+zicond,+zfa,+zcb", "--no-print-imm-hex"]).arg(object);
    if style == Style::Raw {
        command.args(["-M", "no-aliases"]);
    }
    slots(command, count)
}

/// Whether a word belongs to an extension that GNU objdump 2.40 does not know.
fn is_recent(word: u32) -> bool {
    match length(word) {
        2 => decode_compressed(word as u16).is_some_and(|(cop, _)| cop.info().extension == "Zcb"),
        _ => decode(word).is_some_and(|inst| matches!(inst.op.info().extension, Extension::Zicond | Extension::Zfa)),
    }
}

/// LLVM's text with the separators and float constants that we write.
fn normalise(text: &str) -> String {
    let text = text.replace(", ", ",");
    let text = text.strip_suffix(",dyn").unwrap_or(&text).to_owned();
    match text.rsplit_once(',') {
        Some((rest, constant)) if constant.contains("e-") => {
            constant.parse::<f64>().map_or(text.clone(), |value| format!("{rest},{value:?}"))
        }
        _ => text,
    }
}

/// What a sweep came upon: how often each of [`DIFFERENCES`] applied, and what else differs.
#[derive(Default)]
struct Findings {
    known: [usize; DIFFERENCES.len()],
    unknown: Vec<String>,
}

fn compare(folder: &Path, words: &[u32], findings: &mut Findings) {
    let object = object(folder, words);
    for style in [Style::Aliases, Style::Raw] {
        let gnu = gnu_texts(&object, style, words.len());
        let llvm = llvm_texts(&object, style, words.len());
        for (slot, &word) in words.iter().enumerate() {
            let ours = disassemble(word, (slot * SLOT) as u64, style).to_string();
            let theirs = if is_recent(word) {
                assert!(is_data(&gnu[slot]), "GNU objdump knows {word:#010x}: {}", gnu[slot]);
                normalise(&llvm[slot])
            } else {
                gnu[slot].clone()
            };
            // What neither of us takes for an instruction, LLVM must not take for one either.
            let missed = is_data(&ours) && is_data(&gnu[slot]) && !is_data(&llvm[slot]);
            if ours == theirs && !missed {
                continue;
            }
            match DIFFERENCES.iter().position(|difference| (difference.applies)(word, &ours, &theirs)) {
                Some(known) => findings.known[known] += 1,
                None => findings
                    .unknown
                    .push(format!("{word:#010x} {style:?}: {ours:?} here, {:?} GNU, {:?} LLVM", gnu[slot], llvm[slot])),
            }
        }
    }
}

fn sweep(name: &str, words: &[u32]) {
    let folder = Folder::new(name);
    let mut findings = Findings::default();
    for chunk in words.chunks(CHUNK) {
        compare(&folder.0, chunk, &mut findings);
    }
    println!("{} words in two styles, of which differ on purpose:", words.len());
    for (difference, count) in DIFFERENCES.iter().zip(findings.known) {
        println!("{count:8} {}", difference.why);
    }
    let shown = &findings.unknown[..findings.unknown.len().min(40)];
    assert!(shown.is_empty(), "{} more differ:\n{}", findings.unknown.len(), shown.join("\n"));
}

#[test]
fn every_parcel() {
    let parcels: Vec<u32> = (0..1 << 16).filter(|parcel| parcel & 3 != 3).collect();
    sweep("parcels", &parcels);
}

#[test]
fn many_words() {
    let count = match std::env::var("RIVERRUN_SWEEP") {
        Ok(count) => count.parse().expect("RIVERRUN_SWEEP is a number of words"),
        Err(_) => 100_000,
    };
    let mut random = Random(2026);
    let privileged = [0x3020_0073, 0x1020_0073, 0x1050_0073, 0x7b20_0073, 0x1200_0073];
    let drawn = (0..count).map(|i| match i % 2 {
        0 => word_of(Op::ALL[i / 2 % Op::ALL.len()], &mut random),
        // Encodings of more than 64 bits would outgrow their slot.
        _ => match random.next() | 3 {
            long if long & 0x7f == 0x7f => long & !0x40,
            word => word,
        },
    });
    sweep("words", &privileged.into_iter().chain(drawn).collect::<Vec<u32>>());
}

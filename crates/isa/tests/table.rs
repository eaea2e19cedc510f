//! The table's own consistency, and decoding against encoding.

mod common;

use common::{Random, word_of};
use riverrun_isa::ops::Rounding;
use riverrun_isa::{COp, Extension, Format, Inst, Op, decode, decode_compressed};

#[test]
fn fixed_bits_lie_in_their_masks() {
    for op in Op::ALL {
        let info = op.info();
        assert_eq!(info.bits & !info.mask, 0, "{}", info.name);
        assert_eq!(info.mask & info.bits & 3, 3, "{} is no 32-bit encoding", info.name);
        assert!(info.doc.trim().len() > 3 && !info.doc.contains('\n'), "{}", info.name);
    }
    for cop in COp::ALL {
        let info = cop.info();
        assert_eq!(info.bits & !info.mask, 0, "{}", info.name);
        assert_ne!(info.bits & 3, 3, "{} is no 16-bit encoding", info.name);
    }
}

#[test]
fn names_are_unique() {
    let mut names: Vec<_> = Op::ALL.iter().map(|op| op.info().name).collect();
    names.extend(COp::ALL.iter().map(|cop| cop.info().name));
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn no_two_rows_share_a_word() {
    for (i, a) in Op::ALL.iter().enumerate() {
        for b in &Op::ALL[i + 1..] {
            let (a, b) = (a.info(), b.info());
            assert_ne!((a.bits ^ b.bits) & a.mask & b.mask, 0, "{} and {}", a.name, b.name);
        }
    }
}

/// The sizes of the extensions as the specification lists them for RV64.
#[test]
fn no_instruction_is_missing() {
    let sizes: Vec<_> = Extension::ALL
        .iter()
        .map(|&extension| {
            let count = Op::ALL.iter().filter(|op| op.info().extension == extension).count();
            (extension.name(), count)
        })
        .collect();
    let expected = [
        ("I", 52),
        ("M", 13),
        ("A", 22),
        ("F", 30),
        ("D", 32),
        ("Zicsr", 6),
        ("Zifencei", 1),
        ("Zba", 8),
        ("Zbb", 24),
        ("Zbs", 8),
        ("Zicond", 2),
        ("Zfa", 15),
        ("Xriverrun", 1),
    ];
    assert_eq!(sizes, expected);
    let compressed = |extension| COp::ALL.iter().filter(|cop| cop.info().extension == extension).count();
    assert_eq!([compressed("C"), compressed("Zcb")], [37, 12]);
}

#[test]
fn every_row_decodes_to_itself() {
    let mut random = Random(1);
    for &op in Op::ALL {
        for _ in 0..1000 {
            let word = word_of(op, &mut random);
            let inst = decode(word).unwrap_or_else(|| panic!("{word:#010x} of {} is illegal", op.info().name));
            assert_eq!(inst.op, op, "{word:#010x}");
            assert_eq!(inst.len, 4);
            assert_eq!(decode(inst.encode()), Some(inst), "{word:#010x}");
            // Only fences have bits that the instruction does not keep.
            if !matches!(op, Op::fence | Op::fence_i) {
                assert_eq!(inst.encode(), word, "{}", op.info().name);
            }
        }
    }
}

#[test]
fn random_instructions_survive_encoding() {
    let mut random = Random(2);
    for &op in Op::ALL {
        let format = op.info().format;
        for _ in 0..1000 {
            let [rs1, rs2, rs3] = format.sources();
            let mut register = |there: bool| if there { random.below(32) as u8 } else { 0 };
            let mut inst = Inst {
                op,
                rd: register(format.has_rd()),
                rs1: register(rs1.is_some() || format.has_rs1_number()),
                rs2: register(rs2.is_some()),
                rs3: register(rs3.is_some()),
                rm: Rounding::Rne,
                len: 4,
                imm: 0,
            };
            if format.rounds() {
                inst.rm = Rounding::from_bits([0, 1, 2, 3, 4, 7][random.below(6) as usize]).unwrap();
            }
            inst.imm = match format {
                Format::I | Format::Load | Format::FLoad | Format::Jr | Format::Store | Format::FStore => {
                    random.below(4096) as i32 - 2048
                }
                Format::B => (random.below(4096) as i32 - 2048) * 2,
                Format::J => (random.below(1 << 20) as i32 - (1 << 19)) * 2,
                Format::U => (random.below(1 << 20) << 12) as i32,
                Format::Sh => random.below(64) as i32,
                Format::ShW => random.below(32) as i32,
                Format::Amo | Format::Lr => random.below(4) as i32,
                Format::Import => random.below(1 << 20) as i32,
                Format::Csr | Format::CsrI | Format::Fence => random.below(4096) as i32,
                _ => 0,
            };
            assert_eq!(decode(inst.encode()), Some(inst), "{}", op.info().name);
        }
    }
}

#[test]
fn compressed_instructions_stand_for_encodable_ones() {
    let mut seen = vec![false; COp::ALL.len()];
    for parcel in 0..=u16::MAX {
        let Some((cop, inst)) = decode_compressed(parcel) else { continue };
        seen[cop as usize] = true;
        assert_eq!(inst.len, 2);
        assert_eq!(decode(inst.encode()), Some(Inst { len: 4, ..inst }), "{parcel:#06x}");
        // What stands above the parcel does not matter.
        assert_eq!(decode(0xdead_0000 | parcel as u32), Some(inst));
    }
    assert_eq!(seen.iter().position(|seen| !seen), None);
}

#[test]
fn illegal_words() {
    let illegal = [
        (0, "all zeros"),
        (u32::MAX, "all ones"),
        (0x00c5_d553, "fadd.s with rounding mode 5"),
        (0x00c5_e553, "fadd.s with rounding mode 6"),
        (0x0000_0004, "c.addi4spn of 0"),
        (0x0000_2001, "c.addiw to x0"),
        (0x0000_6101, "c.addi16sp of 0"),
        (0x0000_6501, "c.lui of 0"),
        (0x0000_4002, "c.lwsp to x0"),
        (0x0000_6002, "c.ldsp to x0"),
        (0x0000_8002, "c.jr x0"),
        (0x3020_0073, "mret"),
        (0x1050_0073, "wfi"),
        (0x0205_951b, "slliw by 32"),
        (0x1015_a52f, "lr.w with rs2"),
    ];
    for (word, what) in illegal {
        assert_eq!(decode(word), None, "{what}");
    }
}

/// Instructions of extensions that the table does not have.
#[test]
fn foreign_words() {
    let foreign = [
        (0x0221_80d7, "vadd.vv"),
        (0x0c05_f557, "vsetvli"),
        (0x0205_0087, "vle8.v"),
        (0x0ac5_9533, "clmul"),
        (0x08c5_c533, "pack"),
        (0x6875_d513, "brev8"),
        (0x32c5_8533, "aes64es"),
        (0x1005_9513, "sha256sum0"),
        (0x22b5_0073, "hfence.vvma"),
        (0x6805_c573, "hlv.w"),
        (0x04c5_f553, "fadd.h"),
        (0x0005_1507, "flh"),
        (0x28b6_252f, "amocas.w"),
        (0x00b6_052f, "amoadd.b"),
        (0x0015_200f, "cbo.clean"),
        (0x00d0_0073, "wrs.nto"),
        (0x28c5_a533, "xperm4"),
    ];
    for (word, what) in foreign {
        assert_eq!(decode(word), None, "{what}");
    }
    let mut random = Random(3);
    for _ in 0..1000 {
        let word = random.next() | 31;
        assert_eq!(decode(word), None, "{word:#010x} begins a longer encoding");
    }
}

#[test]
fn control_and_status_registers() {
    let csr = |op, rs1, number| Inst { op, rd: 10, rs1, rs2: 0, rs3: 0, rm: Rounding::Rne, len: 4, imm: number };
    // fcsr may be written, cycle only read, mstatus neither.
    for (op, rs1, writes) in [
        (Op::csrrw, 0, true),
        (Op::csrrwi, 0, true),
        (Op::csrrs, 0, false),
        (Op::csrrs, 1, true),
        (Op::csrrc, 0, false),
        (Op::csrrsi, 0, false),
        (Op::csrrci, 3, true),
    ] {
        assert_eq!(csr(op, rs1, 3).writes_csr(), writes);
        assert!(csr(op, rs1, 3).is_legal_csr());
        assert_eq!(csr(op, rs1, 0xc00).is_legal_csr(), !writes);
        assert!(!csr(op, rs1, 0x300).is_legal_csr());
    }
    assert!(csr(Op::addi, 1, 0x300).is_legal_csr() && !csr(Op::addi, 1, 3).writes_csr());
    // `unimp`
    assert!(!decode(0xc000_1073).unwrap().is_legal_csr());
}

#[test]
fn immediates() {
    for (word, imm) in [
        (0xfff0_0513, -1),         // li a0, -1
        (0xffff_f537, -4096),      // lui a0, 0xfffff
        (0xfea6_9ee3, -4),         // bne a3, a0, . - 4
        (0xffdf_f06f, -4),         // j . - 4
        (0x8000_00ef, -0x10_0000), // jal . - 1 MiB
        (0xfea1_2e23, -4),         // sw a0, -4(sp)
        (0x0000_bffd, -2),         // c.j . - 2
        (0x0000_7139, -64),        // c.addi16sp -64
        (0x0000_757d, -4096),      // c.lui a0, -1
    ] {
        assert_eq!(decode(word).unwrap().imm, imm, "{word:#010x}");
    }
}

/// The list for engines names every instruction with its format, in the table's order.
#[test]
fn the_list_for_engines_is_complete() {
    macro_rules! collect {
        ($($name:ident $format:ident,)*) => { [$((Op::$name, Format::$format)),*] };
    }
    let list = riverrun_isa::for_each_op!(collect);
    assert_eq!(list.len(), Op::ALL.len());
    assert!(list.iter().zip(Op::ALL).all(|((op, format), expected)| op == expected && *format == op.info().format));
}

//! Semantics as text.

use riverrun_isa::{Op, decode, semantics};

#[test]
fn golden() {
    for (word, text) in [
        (0x20c5_a533, "sh1add: x10 = (x11 << 1) + x12"),
        (0x0000_0513, "addi: x10 = 0"),
        (0x0005_8513, "addi: x10 = x11"),
        (0x0000_0013, "addi: no effect"),
        (0x0000_1517, "auipc: x10 = 0x11000"),
        (0xffc5_a503, "lw: x10 = sext32(mem32[x11 - 4])"),
        (0x0000_e42a, "sd: mem64[x2 + 8] = x10"),
        (0x00b5_0463, "beq: if x10 == x11 then pc = 0x10008"),
        (0x0080_00ef, "jal: pc = 0x10008; x1 = 0x10004"),
        (0x0000_9502, "jalr: pc = x10 & -2; x1 = 0x10002"),
        (0x00c5_a52f, "amoadd.w: old = sext32(mem32[x11]); mem32[x11] = old + x12; x10 = old"),
        (0x80c5_b52f, "amomin.d: old = mem64[x11]; mem64[x11] = (old <s x12) ? old : x12; x10 = old"),
        (0x1805_a52f, "sc.w: if reserved then mem32[x11] = 0; x10 = !reserved"),
        (0x00c5_f553, "fadd.s: f10 = box(round32(unbox(f11) + unbox(f12), dyn))"),
        (0x6ac5_9543, "fmadd.d: f10 = round64((f11 * f12) + f13, rtz)"),
        (0xc205_9553, "fcvt.w.d: x10 = f64_to_i32(f11, rtz)"),
        (0xa2c5_9553, "flt.d: x10 = compare64(f11 < f12, signalling)"),
        (0x0035_9573, "csrrw: old = fcsr; fcsr = x11; x10 = old"),
        (0x0022_d073, "csrrwi: old = frm; frm = 5"),
        (0x0000_0073, "ecall: call the environment"),
        (0x0012_300b, "rr.call: call import 291"),
        (
            0x2875_d513,
            "orc.b: x10 = (((((x11 & 0x7f7f7f7f7f7f7f7f) + 0x7f7f7f7f7f7f7f7f) | x11) >>u 7) & 0x101010101010101) * 255",
        ),
        (0x22c5_8553, "fsgnj.d: f10 = (f11 & 0x7fffffffffffffff) | (f12 & 0x8000000000000000)"),
        (
            0x0ac5_d533, // minu
            "minu: x10 = (x11 <u x12) ? x11 : x12",
        ),
    ] {
        let inst = decode(word).unwrap();
        assert_eq!(semantics(&inst, 0x1_0000), text, "{word:#010x}");
    }
}

/// Shared values are named instead of written again.
#[test]
fn long_semantics_stay_readable() {
    for &op in Op::ALL {
        let inst = decode(op.info().bits | 0x00c5_8500 & !op.info().mask).unwrap();
        let text = semantics(&inst, 0x1_0000);
        let (name, statements) = text.split_once(": ").unwrap();
        assert_eq!(name, op.info().name.replace('_', "."));
        assert!(!statements.is_empty() && statements != "no effect", "{text}");
        assert!(text.len() < 600, "{text}");
    }
}

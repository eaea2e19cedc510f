//! The extensions of instructions that are not in the table: for error messages, not for decoding.
//!
//! A row is a mask, the bits under it, the instruction (empty if it is one of several), and the extension. The first row
//! that matches applies. Encodings are those of the RISC-V Unprivileged and Privileged ISA manuals.

type Row = (u32, u32, &'static str, &'static str);

const R: u32 = 0xfe00_707f;
const UNARY: u32 = 0xfff0_707f;
const WHOLE: u32 = 0xffff_ffff;

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // OP-V and OP-VE; vector loads and stores share LOAD-FP and STORE-FP with scalar ones; CSRs.
    (0x8000_707f, 0x0000_7057, "vsetvli", "V"),
    (0xc000_707f, 0xc000_7057, "vsetivli", "V"),
    (R, 0x8000_7057, "vsetvl", "V"),
    (0x0000_007f, 0x0000_0057, "", "V"),
    (0x0000_007f, 0x0000_0077, "", "Zvk"),
    (0x0000_705f, 0x0000_0007, "", "V"),
    (0x0000_505f, 0x0000_5007, "", "V"),
    (0x0000_705f, 0x0000_6007, "", "V"),
    (0xfff0_007f, 0x0080_0073, "vstart", "V"),
    (0xfff0_007f, 0x0090_0073, "vxsat", "V"),
    (0xfff0_007f, 0x00a0_0073, "vxrm", "V"),
    (0xfff0_007f, 0x00f0_0073, "vcsr", "V"),
    (0xfff0_007f, 0xc200_0073, "vl", "V"),
    (0xfff0_007f, 0xc210_0073, "vtype", "V"),
    (0xfff0_007f, 0xc220_0073, "vlenb", "V"),
    // Floats of 16 and 128 bits.
    (0xfff0_007f, 0x4480_0053, "fcvt.bf16.s", "Zfbfmin"),
    (0xfff0_007f, 0x4060_0053, "fcvt.s.bf16", "Zfbfmin"),
    (0x0000_705f, 0x0000_1007, "", "Zfh"),
    (0x0000_705f, 0x0000_4007, "", "Q"),
    (0xfdf0_007f, 0x4020_0053, "", "Zfh"),
    (0xfdf0_007f, 0x4030_0053, "", "Q"),
    (0x0600_007f, 0x0400_0053, "", "Zfh"),
    (0x0600_007f, 0x0600_0053, "", "Q"),
    (0x0600_0073, 0x0400_0043, "", "Zfh"),
    (0x0600_0073, 0x0600_0043, "", "Q"),
    // Atomics.
    (0xf800_007f, 0x2800_002f, "", "Zacas"),
    (0xf800_007f, 0x3000_002f, "", "Zalasr"),
    (0xf800_007f, 0x3800_002f, "", "Zalasr"),
    (0x0000_607f, 0x0000_002f, "", "Zabha"),
    // Bits and cryptography in integer registers.
    (R, 0x0a00_1033, "clmul", "Zbc"),
    (R, 0x0a00_2033, "clmulr", "Zbc"),
    (R, 0x0a00_3033, "clmulh", "Zbc"),
    (R, 0x0800_4033, "pack", "Zbkb"),
    (R, 0x0800_7033, "packh", "Zbkb"),
    (R, 0x0800_403b, "packw", "Zbkb"),
    (UNARY, 0x6870_5013, "brev8", "Zbkb"),
    (R, 0x2800_2033, "xperm4", "Zbkx"),
    (R, 0x2800_4033, "xperm8", "Zbkx"),
    (R, 0x3a00_0033, "aes64ds", "Zknd"),
    (R, 0x3e00_0033, "aes64dsm", "Zknd"),
    (UNARY, 0x3000_1013, "aes64im", "Zknd"),
    (0xff00_707f, 0x3100_1013, "aes64ks1i", "Zkne"),
    (R, 0x7e00_0033, "aes64ks2", "Zkne"),
    (R, 0x3200_0033, "aes64es", "Zkne"),
    (R, 0x3600_0033, "aes64esm", "Zkne"),
    (0xff80_707f, 0x1000_1013, "", "Zknh"),
    (0xffe0_707f, 0x1080_1013, "", "Zksh"),
    (0x3e00_707f, 0x3000_0033, "sm4ed", "Zksed"),
    (0x3e00_707f, 0x3400_0033, "sm4ks", "Zksed"),
    (0xfff0_007f, 0x0150_0073, "seed", "Zkr"),
    // Caches and hints.
    (0xfff0_7fff, 0x0040_200f, "cbo.zero", "Zicboz"),
    (0x0000_7fff, 0x0000_200f, "", "Zicbom"),
    (WHOLE, 0x00d0_0073, "wrs.nto", "Zawrs"),
    (WHOLE, 0x01d0_0073, "wrs.sto", "Zawrs"),
    (0xb3c0_707f, 0x81c0_4073, "", "Zimop"),
    (0xb200_707f, 0x8200_4073, "", "Zimop"),
    // Other modes than the user's.
    (0xfe00_7fff, 0x2200_0073, "hfence.vvma", "H"),
    (0xfe00_7fff, 0x6200_0073, "hfence.gvma", "H"),
    (0x0000_707f, 0x0000_4073, "", "H"),
    (WHOLE, 0x3020_0073, "mret", PRIVILEGED),
    (WHOLE, 0x1020_0073, "sret", PRIVILEGED),
    (WHOLE, 0x1050_0073, "wfi", PRIVILEGED),
    (0xfe00_7fff, 0x1200_0073, "sfence.vma", PRIVILEGED),
    // Registers of the supervisor, the hypervisor and the machine.
    (0x3000_007f, 0x1000_0073, "", PRIVILEGED),
    (0x3000_007f, 0x2000_0073, "", PRIVILEGED),
    (0x3000_007f, 0x3000_0073, "", PRIVILEGED),
];

const PRIVILEGED: &str = "the privileged architecture";

/// An instruction that riverrun does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absent {
    /// Its mnemonic, or the register that it accesses, if the row knows it.
    pub name: Option<&'static str>,
    /// The extension that defines it.
    pub extension: &'static str,
}

/// The instruction that the specification defines for `word`, if it is not in the table; `None` if it is in the table or
/// unknown here.
///
/// ```
/// use riverrun_isa::absent;
///
/// let vsetvli = absent(0x0c32_72d7).unwrap();
/// assert_eq!((vsetvli.name, vsetvli.extension), (Some("vsetvli"), "V"));
/// assert_eq!(absent(0x20c5_a533), None, "sh1add is there");
/// assert_eq!(absent(0), None);
/// ```
pub fn absent(word: u32) -> Option<Absent> {
    let is_compressed = word & 3 != 3;
    if is_compressed || crate::decode(word).is_some_and(|inst| inst.is_legal_csr()) {
        return None;
    }
    let fits = |row: &&Row| word & row.0 == row.1;
    ROWS.iter()
        .find(fits)
        .map(|&(_, _, name, extension)| Absent { name: Some(name).filter(|name| !name.is_empty()), extension })
}

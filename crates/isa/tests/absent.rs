//! Instructions of extensions that riverrun does not have, as LLVM's assembler encodes them, are told by extension.

use std::io::Write;
use std::process::{Command, Stdio};

use riverrun_isa::{Extension, absent, decode};

const INSTRUCTIONS: &[(&str, &str)] = &[
    ("vsetvli t0, a0, e8, m1, ta, ma", "V"),
    ("vsetivli t0, 4, e8, m1, ta, ma", "V"),
    ("vsetvl t0, a0, a1", "V"),
    ("vadd.vv v1, v2, v3", "V"),
    ("vle8.v v1, (a0)", "V"),
    ("vle16.v v1, (a0)", "V"),
    ("vle64.v v1, (a0)", "V"),
    ("vse32.v v1, (a0)", "V"),
    ("csrr a0, vlenb", "V"),
    ("vaesem.vv v1, v2", "Zvk"),
    ("vsha2ms.vv v1, v2, v3", "Zvk"),
    ("flh ft0, (a0)", "Zfh"),
    ("fsh ft0, (a0)", "Zfh"),
    ("fadd.h ft0, ft1, ft2", "Zfh"),
    ("fmadd.h ft0, ft1, ft2, ft3", "Zfh"),
    ("fcvt.s.h ft0, ft1", "Zfh"),
    ("fcvt.d.h ft0, ft1", "Zfh"),
    ("fcvt.h.s ft0, ft1", "Zfh"),
    ("fmv.x.h a0, ft1", "Zfh"),
    ("fcvt.bf16.s ft0, ft1", "Zfbfmin"),
    ("fcvt.s.bf16 ft0, ft1", "Zfbfmin"),
    ("amocas.w a0, a1, (a2)", "Zacas"),
    ("amocas.d a0, a1, (a2)", "Zacas"),
    ("amoadd.b a0, a1, (a2)", "Zabha"),
    ("clmul a0, a1, a2", "Zbc"),
    ("clmulh a0, a1, a2", "Zbc"),
    ("clmulr a0, a1, a2", "Zbc"),
    ("pack a0, a1, a2", "Zbkb"),
    ("packh a0, a1, a2", "Zbkb"),
    ("packw a0, a1, a2", "Zbkb"),
    ("brev8 a0, a1", "Zbkb"),
    ("xperm4 a0, a1, a2", "Zbkx"),
    ("xperm8 a0, a1, a2", "Zbkx"),
    ("aes64ds a0, a1, a2", "Zknd"),
    ("aes64dsm a0, a1, a2", "Zknd"),
    ("aes64im a0, a1", "Zknd"),
    ("aes64es a0, a1, a2", "Zkne"),
    ("aes64esm a0, a1, a2", "Zkne"),
    ("aes64ks1i a0, a1, 3", "Zkne"),
    ("aes64ks2 a0, a1, a2", "Zkne"),
    ("sha256sum0 a0, a1", "Zknh"),
    ("sha512sig1 a0, a1", "Zknh"),
    ("sm3p0 a0, a1", "Zksh"),
    ("sm4ed a0, a1, a2, 2", "Zksed"),
    ("sm4ks a0, a1, a2, 1", "Zksed"),
    ("csrrw a0, seed, zero", "Zkr"),
    ("cbo.zero (a0)", "Zicboz"),
    ("cbo.flush (a0)", "Zicbom"),
    ("wrs.nto", "Zawrs"),
    ("mop.r.3 a0, a1", "Zimop"),
    ("mop.rr.2 a0, a1, a2", "Zimop"),
    ("hlv.w a0, (a1)", "H"),
    ("hfence.gvma a0, a1", "H"),
    ("mret", "the privileged architecture"),
    ("sret", "the privileged architecture"),
    ("wfi", "the privileged architecture"),
    ("sfence.vma a0, a1", "the privileged architecture"),
    ("csrr a0, mstatus", "the privileged architecture"),
    ("csrw satp, a0", "the privileged architecture"),
];

const FEATURES: &str = "+m,+a,+f,+d,+v,+h,+zvkned,+zvknhb,+zfh,+zfbfmin,+zacas,+zabha,+zbc,+zbkb,+zbkx,+zknd,+zkne,+zknh,+zksh,\
                        +zksed,+zkr,+zicboz,+zicbom,+zawrs,+zimop";

fn assemble(text: &str) -> Vec<u32> {
    let mut llvm_mc = Command::new("llvm-mc-22");
    llvm_mc.args(["-triple=riscv64", "-show-encoding", &format!("-mattr={FEATURES}")]);
    let spawned = llvm_mc.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = spawned.unwrap_or_else(|error| panic!("cannot run llvm-mc-22 ({error}): apt install llvm-22"));
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "llvm-mc-22 {text}");
    let byte = |text: &str| u8::from_str_radix(text.trim().trim_start_matches("0x"), 16).unwrap();
    let word = |line: &str| {
        let (_, bytes) = line.split_once("encoding: [")?;
        let bytes: Vec<u8> = bytes.trim_end().trim_end_matches(']').split(',').map(byte).collect();
        Some(u32::from_le_bytes(bytes.try_into().unwrap()))
    };
    String::from_utf8(output.stdout).unwrap().lines().filter_map(word).collect()
}

#[test]
fn absent_instructions_name_their_extension() {
    let text: String = INSTRUCTIONS.iter().map(|(text, _)| format!("{text}\n")).collect();
    let words = assemble(&text);
    assert_eq!(words.len(), INSTRUCTIONS.len());
    for (word, &(text, extension)) in words.into_iter().zip(INSTRUCTIONS) {
        let found = absent(word).unwrap_or_else(|| panic!("{text} ({word:#010x}) is unknown"));
        assert_eq!(found.extension, extension, "{text}");
        assert!(found.name.is_none_or(|name| text.contains(name)), "{text} is {found:?}");
        assert!(Extension::ALL.iter().all(|known| known.name() != extension), "{extension} is there");
        assert!(decode(word).is_none_or(|inst| !inst.is_legal_csr()), "{text}");
    }
}

//! The text of chosen instructions; `objdump.rs` compares all the others.

use riverrun_isa::{Style, disassemble, disassemble_with};

#[test]
fn both_styles() {
    for (word, aliases, raw) in [
        (0x0050_0513, "li\ta0,5", "addi\ta0,zero,5"),
        (0x0000_8067, "ret", "jalr\tzero,0(ra)"),
        (0x0000_1141, "addi\tsp,sp,-16", "c.addi\tsp,-16"),
        (0x0000_852e, "mv\ta0,a1", "c.mv\ta0,a1"),
        (0x0000_0001, "nop", "c.addi\tzero,0"),
        (0xc000_1073, "unimp", "unimp"),
        (0x0000_0000, "unimp", "c.unimp"),
        (0x1605_b52f, "lr.d.aqrl\ta0,(a1)", "lr.d.aqrl\ta0,(a1)"),
        (0x00c5_9553, "fadd.s\tfa0,fa1,fa2,rtz", "fadd.s\tfa0,fa1,fa2,rtz"),
        (0x0015_9073, "fsflags\ta1", "csrrw\tzero,fflags,a1"),
        (0xb030_2573, "csrr\ta0,mhpmcounter3", "csrrs\ta0,mhpmcounter3,zero"),
        (0x7ff0_2573, "csrr\ta0,0x7ff", "csrrs\ta0,0x7ff,zero"),
        (0x0330_000f, "fence\trw,rw", "fence\trw,rw"),
        (0xf012_8553, "fli.s\tfa0,0.0078125", "fli.s\tfa0,0.0078125"),
        (0x3020_0073, ".4byte\t0x30200073", ".4byte\t0x30200073"),
        (0x0000_8000, "lbu\ts0,0(s0)", "c.lbu\ts0,0(s0)"),
    ] {
        assert_eq!(disassemble(word, 0, Style::Aliases).to_string(), aliases, "{word:#010x}");
        assert_eq!(disassemble(word, 0, Style::Raw).to_string(), raw, "{word:#010x}");
    }
}

#[test]
fn targets_have_names_where_there_are_any() {
    let name = |target| (target == 0x1_0078).then_some("main+0x4");
    let text = |word, pc| disassemble_with(word, pc, Style::Aliases, name).to_string();
    // bnez a0, 8 bytes on; j, 4 bytes back
    assert_eq!(text(0x0005_1463, 0x1_0070), "bnez\ta0,10078 <main+0x4>");
    assert_eq!(text(0xffdf_f06f, 0x1_007c), "j\t10078 <main+0x4>");
    assert_eq!(text(0xffdf_f06f, 0x1_0080), "j\t0x1007c");
    assert_eq!(text(0xffdf_f06f, 0), "j\t0xfffffffffffffffc");
}

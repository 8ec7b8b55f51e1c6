//! The assembler: what it makes of sources, that it inverts the disassembler, and what it says about errors.

use crate::common::Rng;
use tollgate_riscv::asm::{AsmError, Image, MAX_ERRORS, Options, Sources, assemble};
use tollgate_riscv::{
    Config, Elf, Extension, Format, INSTRUCTIONS, Insn, Isa, Machine, MachineKind, Operands, Stop, Xlen,
};
use tollgate_riscv::{Decoder, disassemble, disassemble_compressed};

fn program(text: &str) -> Result<Image, Vec<AsmError>> {
    assemble(&Sources::new("test.S", text), &Options::default())
}

fn code(text: &str) -> Vec<u8> {
    let image = program(text).unwrap_or_else(|errors| panic!("{}", errors[0]));
    image.program.segments.first().map(|s| s.data.clone()).unwrap_or_default()
}

fn words(text: &str) -> Vec<u32> {
    code(text).chunks(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

fn messages(text: &str) -> Vec<String> {
    let errors = program(text).expect_err("an error");
    errors.iter().map(|e| format!("{}:{}: {}", e.line, e.column, e.message)).collect()
}

/// Assembles one line for each instruction and compares the bytes.
fn same_bytes(isa: Isa, lines: &[String], expected: &[u8]) {
    let options = Options { isa, ..Options::default() };
    // In parts, so that an error is found quickly.
    let text = lines.join("\n");
    let image = assemble(&Sources::new("all.s", &text), &options);
    let image = image.unwrap_or_else(|errors| panic!("{} errors: {}", errors.len(), errors[0]));
    let found = &image.program.segments[0].data;
    if found.get(..expected.len()) != Some(expected) {
        let at = found.iter().zip(expected).position(|(a, b)| a != b).unwrap_or(0);
        let line = image.lines.partition_point(|l| l.address <= 0x8000_0000 + at as u64) - 1;
        panic!("at {at:#x}: {}", lines[line]);
    }
}

#[test]
fn all_encodings_of_16_bits_are_inverted() {
    for xlen in [Xlen::Rv32, Xlen::Rv64] {
        let isa = Isa::everything(xlen);
        let (mut lines, mut bytes) = (Vec::new(), Vec::new());
        for half in (0..=u16::MAX).filter(|half| half & 3 != 3) {
            let text = disassemble_compressed(half, isa);
            // Branches go to themselves plus a distance, which assembling in a row keeps.
            lines.push(text.unwrap_or_else(|| disassemble(half.into(), isa)));
            bytes.extend(half.to_le_bytes());
        }
        assert_eq!(lines.len(), 3 << 14);
        same_bytes(isa, &lines, &bytes);
    }
}

/// The word without bits that the text of a fence does not show.
fn shown(word: u32, decoder: &Decoder) -> u32 {
    let Some(insn) = decoder.decode(word) else { return word };
    let Insn { rd, rs1, rs2, rs3, rm, imm, .. } = insn;
    let operands = Operands { rd, rs1, rs2, rs3, rm, imm };
    match insn.row().format {
        Format::Fence if imm & 0xfff == 0x833 => 0x8330_000f,
        Format::Fence => Insn::encode(insn.op, Operands { imm: imm & 0xff, ..Operands::default() }),
        _ => Insn::encode(insn.op, operands),
    }
}

fn random_words_are_inverted(count: usize) {
    for xlen in [Xlen::Rv32, Xlen::Rv64] {
        let isa = Isa::everything(xlen);
        let decoder = Decoder::new(isa);
        let rows: Vec<_> = INSTRUCTIONS.iter().filter(|r| r.in_isa(&isa)).collect();
        let mut rng = Rng(11);
        for part in 0..count.div_ceil(100_000) {
            let mut lines = vec![".option norvc".to_owned()];
            let mut bytes = Vec::new();
            for _ in 0..100_000.min(count - part * 100_000) {
                // Half of them are instructions with random operands.
                let random = rng.next() as u32 | 3;
                let word = match rng.below(2) {
                    0 => random,
                    _ => {
                        let row = rng.pick(&rows);
                        row.bits | random & !row.format.mask()
                    }
                };
                let word = shown(word, &decoder);
                lines.push(disassemble(word, isa));
                bytes.extend(word.to_le_bytes());
            }
            same_bytes(isa, &lines, &bytes);
        }
    }
}

#[test]
fn a_million_words_are_inverted() {
    random_words_are_inverted(500_000);
}

#[test]
fn ten_million_words_are_inverted() {
    if !tollgate_testkit::all() {
        return tollgate_testkit::skip!("it takes a minute: cargo xtask test --all");
    }
    random_words_are_inverted(5_000_000);
}

#[test]
fn a_program_runs_on_the_machine() {
    let source = "
        #define EXIT(code) li a0, code; li t0, 0x100000; j finish
        _start: la sp, stack_top
                li a1, 0
                li a2, 10
        1:      add a1, a1, a2
                addi a2, a2, -1
                bnez a2, 1b
                li a3, 55
                bne a1, a3, wrong
                lw a4, value
                bne a4, a3, wrong
                EXIT(0x5555)
        wrong:  EXIT(0x3333)
        finish: sw a0, 0(t0)
        .data
                .balign 4
        value:  .word 5 * (1 + 10)
        .bss
        .balign 16
                .space 4096
        stack_top:
    ";
    let image = program(source).unwrap();
    let parsed = Elf::parse(&image.elf()).unwrap();
    assert_eq!(parsed, image.program);
    let mut machine = Machine::new(Config { machine: MachineKind::Virt, ..Config::default() }).unwrap();
    machine.load(&parsed).unwrap();
    let stop = machine.run(1000, &mut ());
    assert_eq!(stop, Stop::Exit { code: 0 }, "{:#x}", machine.pc());
    assert_eq!(image.line(image.program.symbol("wrong").unwrap()), Some(("test.S", 14)));
    assert_eq!(image.line(0), None);
    let narrow = Options { isa: "rv32imac".parse().unwrap(), ..Options::default() };
    let image = assemble(&Sources::new("test.S", source), &narrow).unwrap();
    assert_eq!(Elf::parse(&image.elf()).unwrap(), image.program);
}

#[test]
fn far_branches_are_inverted() {
    let text = |distance| format!(".option norvc\n beq a0, a1, far\n .zero {distance}\nfar: nop\n");
    assert_eq!(words(&text(4000))[0] & 0x7f, 0x63);
    let far = words(&text(5000));
    assert_eq!(far[0], 0x00b5_1463, "bne a0, a1, +8");
    assert_eq!(disassemble(far[1], Isa::default()), "jal zero,pc+5004");
}

#[test]
fn macros_conditions_and_expressions() {
    assert_eq!(
        code(
            ".macro M a, b=7, rest:vararg\n .byte \\a, \\b\n .ifnb \\rest\n .byte \\rest\n .endif\n .endm\n \
             .data\n M 1\n M 2, 3\n M 4, 5, 6, 7\n M b=9 a=8\n"
        ),
        [1, 7, 2, 3, 4, 5, 6, 7, 8, 9]
    );
    assert_eq!(
        code(".data\n.irp x, 1, 2+3, 4\n.byte \\x * 2\n.endr\n.rept 3\n.byte 1\n.endr"),
        [2, 8, 8, 1, 1, 1]
    );
    assert_eq!(
        code(".data\n.byte 2 + 3 << 1, 1 | 2 + 4, (1 == 1) + 2, ~0 & 15, 'a', '\\n'"),
        [8, 7, 1, 15, 97, 10]
    );
    assert_eq!(
        code(".data\n.if 1\n.byte 1\n.elseif 1\n.byte 2\n.else\n.byte 3\n.endif\n.ifdef x\n.byte 4\n.endif"),
        [1]
    );
    assert_eq!(
        code(".data\na: .byte b - a\n.zero 3\nb: .asciz \"\\x41\\102\", \"\"\n"),
        [4, 0, 0, 0, 65, 66, 0, 0]
    );
    assert_eq!(code(".data\n.set n, 1\n.byte n\n.set n, n + 1\n.byte n\nm = n * 3\n.byte m"), [1, 2, 6]);
}

#[test]
fn the_preprocessor() {
    let text = "#define A 1 // one\n#define F(x, y) x + y /* two\n lines */ .data\n#if defined(A) && A == 1\n\
                .byte F(A, 2) # three\n#else\n.byte 9\n#endif\n#ifndef B\n#define PASTE(a) a ## 1\nPASTE(x): .byte x1 - x1\n\
                #elif 1\n#error never\n#endif\n#undef A\n#ifdef A\n.byte 8\n#endif\n.byte \\\n5";
    assert_eq!(code(text), [3, 0, 5]);
    let sources = Sources::new("a/main.S", "#include \"../b.h\"\n.include \"c.s\"\nTHREE")
        .file("b.h", "#define THREE .byte 3\n.data\n");
    let image = assemble(&sources.file("a/c.s", ".byte 2"), &Options::default()).unwrap();
    assert_eq!(image.program.segments[0].data, [2, 3]);
}

/// The C preprocessor as course material uses it. The expected bytes follow from C's rules.
#[test]
fn the_preprocessor_of_course_material() {
    let cases: &[(&str, &[u8])] = &[
        // The rest of the arguments, under a name and without one; its commas stay.
        ("#define CASE(n, code...) .byte n; code\nCASE(1, .byte 2, 3; .byte 4)", &[1, 2, 3, 4]),
        ("#define ALL(...) .byte __VA_ARGS__\nALL(1, 2, 3)", &[1, 2, 3]),
        ("#define M(a, r...) .byte a, ## r\nM(1)\nM(2, 3, 4)", &[1, 2, 3, 4]),
        ("#define M(a, ...) .byte a, ## __VA_ARGS__\nM(1)\nM(2, 3)", &[1, 2, 3]),
        // Arguments that go over several lines, with comments between them.
        (
            "#define M(a, b) .byte a, b\nM(1, /* one\n more */\n 2) ; .byte 3 // M(\n.byte 4 # M(\nM(5,\n 6)",
            &[1, 2, 3, 4, 5, 6],
        ),
        // A name that stands for another macro, which takes the arguments behind it.
        ("#define LONG(a) .byte a + 1\n#define SHORT LONG\nSHORT(1)\nSHORT (2)\n", &[2, 3]),
        // C's precedence and its truth, which are not those of the assembler.
        ("#if 1 | 2 == 2\n.byte 1\n#endif\n#if (2 > 1) == 1 && 4 - 2 << 1 == 4\n.byte 2\n#endif", &[1, 2]),
    ];
    for (text, expected) in cases {
        let text = format!(".data\n{text}\n");
        assert_eq!(code(&text), *expected, "{text}");
    }
    assert_eq!(messages("#define M(a, b) nop\n M(1,\n"), ["2:2: the arguments of a macro have no `)`"]);
}

/// `.altmacro` as kernels of courses use it: numbered registers from a counter, and names of a macro's own.
#[test]
fn alternate_macros() {
    let save = ".altmacro\n.macro save i, base=sp\n sd x\\i, (\\i * 8)(\\base)\n.endm\n.set n, 8\n.rept 2\n save %n\n .set n, n + 1\n.endr\n";
    assert_eq!(code(save), code(" sd x8, 64(sp)\n sd x9, 72(sp)\n"));
    assert_eq!(
        code(
            ".data\n.altmacro\n.macro two a, b\n LOCAL x\n x: .byte a, pre&b, x - x\n.endm\npre1 = 7\n two <1, 2>, 1\n two %3*3, 1\n"
        ),
        [1, 2, 7, 0, 9, 7, 0]
    );
    assert_eq!(code(".data\n.altmacro\n.noaltmacro\n.macro m a\n .byte \\a\n.endm\na = 5\n m a\n"), [5]);
}

#[test]
fn numbers_and_places_as_gnu_has_them() {
    assert_eq!(
        code(".data\na: .byte 1\n. = . + 2\n.byte 2\n.org a + 6, 9\n.byte 3\n"),
        [1, 0, 0, 2, 9, 9, 3]
    );
    assert_eq!(
        messages(".data\n.space 4\n. = . - 1\n"),
        ["3:4: this place is behind what is assembled: the section cannot go back"]
    );
    assert_eq!(
        code(".data\n.float nan, -nan, 0f1.5\n")[..],
        [255, 255, 255, 127, 255, 255, 255, 255, 0, 0, 192, 63]
    );
    assert_eq!(code(".data\n.extern f\n.eqv N 3 + 1\n.eqv M, N\n.byte N, M\n"), [4, 4]);
    assert_eq!(messages(" ADI a0, a0, 1\n"), ["1:2: unknown instruction `ADI`: did you mean `addi`?"]);
    assert_eq!(code(".data\n.macro m\n.byte \\@\n.endm\n m\n m\n"), [0, 1]);
    // A part of an instruction where code is not at an even address.
    assert_eq!(code(" nop\n.byte 5\n.p2align 2\n nop\n nop\n")[..8], [1, 0, 5, 1, 1, 0, 1, 0]);
    let narrow = Options { isa: "rv32imac".parse().unwrap(), ..Options::default() };
    let image = assemble(&Sources::new("a.s", " li a1, 0xffffffff\n li a1, -1\n"), &narrow).unwrap();
    assert_eq!(image.program.segments[0].data, [0x93, 0x05, 0xf0, 0xff, 0xfd, 0x55]);
}

#[test]
fn units_share_their_global_names() {
    let sources = Sources::new("a.s", "_start: call f\nx: j x\n").unit("b.s", ".globl f\nf: ret\nx: j x\n");
    let image = assemble(&sources, &Options::default()).unwrap();
    assert_eq!(image.program.symbols.iter().filter(|s| s.name == "x").count(), 2);
    let sources = Sources::new("a.s", ".globl f\nf: ret").unit("b.s", ".globl f\nf: ret\n");
    let errors = assemble(&sources, &Options::default()).unwrap_err();
    assert_eq!(errors[0].message, "`f` is already defined at a.s:2");
}

#[test]
fn errors_are_reported_at_once_with_their_place() {
    let text = "start: adi a0, a0, 1\n  addi a0, a9, 1\n\tlw a0, 4096(sp)\n li t0, nmae\nname = 3\n csrr a0, mcuase\n\
                start: nop\n .wrod 1\n j strat\n add a0, a1\n";
    assert_eq!(
        messages(text),
        [
            "1:8: unknown instruction `adi`: did you mean `addi`?",
            "2:12: `a9` is not an integer register: did you mean `a0`?",
            "3:9: an immediate is -2048 to 2047, not 4096",
            "4:9: `nmae` is not known at this line",
            "6:11: unknown CSR `mcuase`: did you mean `mcause`?",
            "7:1: `start` is already defined at test.S:1",
            "8:2: unknown directive `.wrod`: did you mean `.word`?",
            "9:4: `strat` is not defined: did you mean `start`?",
            "10:2: `add` takes 3 operands (rd, rs1, rs2), found 2",
        ]
    );
    let errors = program(".macro M\n nop\n foo \\@\n.endm\n M\n").unwrap_err();
    assert_eq!(
        errors[0].to_string(),
        "test.S:3:2: unknown instruction `foo`: did you mean `fp`?\n    3 |  foo \\@\n      |  ^\n      = in `M`, used at test.S:5"
            .replace(": did you mean `fp`?", "")
    );
}

/// Each is refused with this sentence, quickly and with little memory.
#[test]
fn bad_input_is_refused() {
    let long = "x".repeat(1 << 20);
    let doubling: String = (0..60).map(|i| format!("#define A{} A{i} A{i}\n", i + 1)).collect();
    let chain: String = (0..2000).map(|i| format!(".set s{i}, s{} + 1\n", i + 1)).collect();
    let nested = "(".repeat(10_000);
    let doubled_macro: String =
        (0..60).map(|i| format!(".macro m{}\n m{i}\n m{i}\n.endm\n", i + 1)).collect();
    let cases: Vec<(String, &str)> = vec![
        (".macro m\n m\n.endm\n m\n".into(), "macros or files are more than 100 inside each other"),
        (format!(".macro m0\n nop\n.endm\n{doubled_macro} m60\n"), "more than 4000000 statements"),
        (".rept 1000000000\n nop\n.endr\n".into(), "`.rept` makes more than 4000000 statements"),
        (".rept -1\n nop\n.endr\n".into(), "`.rept` cannot repeat -1 times"),
        (".rept 3\n nop\n".into(), "`.rept` without `.endr`"),
        (".space -1\n".into(), "a size cannot be negative: -1"),
        (".data\n.space 0x7fffffffffffffff\n".into(), "9223372036854775807 bytes are too many"),
        (".data\n.space 1000000000\n".into(), "the sections have more than 256 MiB"),
        (".fill 1000000000000, 8, 1\n".into(), "the sections have more than 256 MiB"),
        (".align 40\n".into(), "`.align` takes an exponent of 0 to 31, not 40"),
        (".balign 12\n".into(), "an alignment is a power of two, not 12"),
        ("#include \"test.S\"\n".into(), "more than 100 files include each other"),
        (".include \"test.S\"\n".into(), "macros or files are more than 100 inside each other"),
        (" nop\0\n".into(), "the line contains a NUL byte"),
        (long.clone(), "the line is longer than 65536 bytes"),
        (format!(".ascii \"{}\"\n", "é".repeat(40_000)), "the line is longer than 65536 bytes"),
        (format!("{doubling}A60\n"), "expands to too much text"),
        (
            format!("#define M(a, b) nop\n{}", "M(1,\n".repeat(200_000)),
            "the arguments of a macro have no `)`",
        ),
        (
            ".altmacro\n.macro m a\n LOCAL x\nx: m %a+1\n.endm\n m 1\n".into(),
            "more than 100 inside each other",
        ),
        ("#define A A B\n#define B A B\nA\n".into(), "unknown instruction `A`"),
        (format!("{chain}.set s2000, s0\n .word s0\n"), "has no value: it refers to itself"),
        (format!(" .word {nested}\n"), "the expression is too long"),
        (format!(" .word 1{}\n", "+1".repeat(20_000)), "the expression is too long"),
        (" .word 1 / 0\n".into(), "division by zero"),
        ("/* no end\n nop\n".into(), "this comment has no end"),
        ("#if 1\n nop\n".into(), "this condition has no `#endif`"),
        (".if 1\n nop\n".into(), "this condition has no `.endif`"),
        (".endif\n".into(), "`.endif` without `.if`"),
        (".endm\n".into(), "`.endm` without its beginning"),
        (".popsection\n".into(), "`.popsection` without `.pushsection`"),
        (".option pop\n".into(), "`.option pop` without `.option push`"),
        ("a: nop\na: nop\n".into(), "`a` is already defined at test.S:1"),
        (".bss\n .word 1\n".into(), "`.bss` holds only zeros"),
        (" beq a0, a1, 1f\n".into(), "there is no label `1:` behind this line"),
        (" j 1b\n".into(), "there is no label `1:` before this line"),
        (" .byte 256\n".into(), "0x100 does not fit 1 bytes"),
        (" .word 99999999999999999999\n".into(), "does not fit 64 bits"),
        (" c.addi a0, 64\n".into(), "`c.addi` has no encoding for these operands"),
        (" vaesem.vv v0, v1\n".into(), "unknown instruction `vaesem.vv`"),
        (" andn a0, a0, a0\n".into(), "`andn` needs the extension Zbb: the ISA is rv64imafdc"),
        (".ascii \"abc\n".into(), "is not a string"),
        (" .data\n .org 4\n .org 2\n".into(), "the section cannot go back"),
        (" beq a0, a1, 0x90000000\n".into(), "this jump reaches 1048576 bytes"),
        (
            " la a0, far\n .globl far\n far = x + 0x100000000\n x: nop\n".into(),
            "is out of reach: 32 signed bits",
        ),
        (" \u{feff} nop\n".into(), "unknown instruction"),
        (" lw a0, é(sp)\n".into(), "`é` is not known at this line"),
    ];
    for (text, sentence) in cases {
        let errors = program(&text).err().unwrap_or_else(|| panic!("{sentence}: no error"));
        let found = errors.iter().any(|e| e.message.contains(sentence));
        assert!(found, "{sentence}: {}", errors[0]);
        assert!(errors.iter().all(|e| e.message.len() < 500 && e.to_string().len() < 2000));
    }
    assert_eq!(messages(&" foo\n".repeat(1 << 20)).len(), MAX_ERRORS);
}

#[test]
fn large_and_odd_sources_are_accepted() {
    assert_eq!(
        words(" addi a0, a0, 100 # é\r\n\r\n.option norvc\r\n nop // ü\r\n"),
        [0x0645_0513, 0x0000_0013]
    );
    assert_eq!(code(".data\n.ascii \"é\" # comment \"\n"), "é".as_bytes());
    // 10 MB.
    let text = format!(".data\n{}", " .byte 1 # a comment on each line of it\n".repeat(250_000));
    assert_eq!(code(&text).len(), 250_000);
}

#[test]
fn every_instruction_is_assembled() {
    // Each row of the table, by the text that the disassembler gives.
    for xlen in [Xlen::Rv32, Xlen::Rv64] {
        let isa = Isa::everything(xlen);
        let rows = INSTRUCTIONS.iter().filter(|r| r.in_isa(&isa));
        let rows = rows.filter(|r| !matches!(r.extension, Extension::XTollBank));
        for row in rows {
            let word = Insn::encode(row.op, Operands { rd: 9, rs1: 10, rs2: 11, rs3: 12, rm: 7, imm: 8 });
            let word = shown(word, &Decoder::new(isa));
            let text = format!(".option norvc\n{}", disassemble(word, isa));
            let options = Options { isa, ..Options::default() };
            let image =
                assemble(&Sources::new("a.s", &text), &options).unwrap_or_else(|e| panic!("{}", e[0]));
            let found = &image.program.segments[0].data[..4];
            assert_eq!(found, word.to_le_bytes(), "{text}");
        }
    }
}

/// The names of `ld`'s script are before the alignment of what follows them.
#[test]
fn the_linkers_names_are_where_ld_has_them() {
    let text = "_start: nop\n nop\n.data\n.byte 1\n.bss\n.balign 64\n.space 64\n.section .rodata\n.balign 16\n .dword etext, __bss_start, edata, end\n";
    let image = program(text).unwrap();
    let [code, data] = [&image.program.segments[0], &image.program.segments[1]];
    let word = |n: usize| u64::from_le_bytes(code.data[16 + 8 * n..24 + 8 * n].try_into().unwrap());
    assert_eq!(word(0), code.address + 4);
    assert_eq!([word(1), word(2)], [data.address + 1; 2]);
    assert_eq!(word(3), data.address + data.memory_size);
    let names: Vec<&str> = image.sections.iter().map(|section| section.name.as_str()).collect();
    assert_eq!(names, [".text", ".rodata", ".data", ".bss"]);
}

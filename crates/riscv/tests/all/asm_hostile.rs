//! Random sources, made of what assembly is made of: the assembler answers with a program or with errors, whose sections do
//! not overlap, whose file loads again, and whose errors are at places in the source.

use crate::common::{self, Rng};
use tollgate_riscv::Elf;
use tollgate_riscv::asm::{MAX_ERRORS, Options, Sources, assemble};

/// Parts of statements, the valid and the odd.
const PARTS: &[&str] = &[
    "\n",
    "\n",
    "\n",
    "\n",
    " ",
    " ",
    ", ",
    ", ",
    ":",
    ";",
    "\r\n",
    "\t",
    "\0",
    "é",
    "\u{feff}",
    "\\",
    "\"",
    "'",
    "(",
    ")",
    "#",
    "//",
    "/*",
    "*/",
    "+",
    "-",
    "*",
    "/",
    "%",
    "<<",
    ">>",
    "==",
    "=",
    "&&",
    "~",
    "!",
    ".",
    "1f",
    "1b",
    "1:",
    "\\@",
    "\\x",
    "\\()",
    "a",
    "b",
    "x",
    "a:",
    "b:",
    "_start:",
    "main:",
    "0",
    "1",
    "-1",
    "4",
    "12",
    "2047",
    "2048",
    "0x7fffffff",
    "0x80000000",
    "0xffffffffffffffff",
    "9223372036854775807",
    "1e400",
    "nan",
    "'a'",
    "\"text\"",
    "a0",
    "sp",
    "zero",
    "f1",
    "ft0",
    "8(sp)",
    "0(a0)",
    "%hi(a)",
    "%lo(a)",
    "%pcrel_hi(a)",
    "%pcrel_lo(b)",
    "rne",
    "addi",
    "add",
    "lw",
    "sd",
    "beq",
    "bnez",
    "j",
    "jal",
    "jalr",
    "call",
    "tail",
    "la",
    "li",
    "lui",
    "auipc",
    "csrr",
    "csrrw",
    "mcause",
    "ecall",
    "fence",
    "fadd.d",
    "amoadd.w",
    "c.addi",
    "c.j",
    "nop",
    "ret",
    "mv",
    ".text",
    ".data",
    ".bss",
    ".section",
    ".section .text.a, \"ax\"",
    ".section .b, \"aw\", @nobits",
    ".pushsection",
    ".popsection",
    ".previous",
    ".byte",
    ".half",
    ".word",
    ".dword",
    ".float",
    ".double",
    ".ascii",
    ".asciz",
    ".space",
    ".fill",
    ".org",
    ".align",
    ".balign",
    ".p2align",
    ".globl",
    ".weak",
    ".equ",
    ".set",
    ".comm",
    ".macro",
    ".macro m x",
    ".macro m x:vararg",
    "m",
    ".endm",
    ".rept",
    ".rept 3",
    ".endr",
    ".irp x, a, b",
    ".irpc x, ab",
    ".exitm",
    ".purgem",
    ".if",
    ".if 1",
    ".ifdef a",
    ".else",
    ".elseif 0",
    ".endif",
    ".option rvc",
    ".option norvc",
    ".option push",
    ".option pop",
    ".include \"self.S\"",
    "#include \"self.S\"",
    "#define A",
    "#define F(x) x x",
    "#define A A",
    "#define F(x, y...) x, ## y",
    "#define A F",
    "F(a,",
    "__VA_ARGS__",
    ".altmacro",
    "LOCAL a",
    "<a, b>",
    "%a",
    "a&",
    ". = . + 4",
    "ADD a0, a0, a1",
    "F(a)",
    "A",
    "#if",
    "#if 1",
    "#ifdef A",
    "#else",
    "#elif 1",
    "#endif",
    "#undef A",
    "#error",
    ".insn",
    ".insn r 0x33, 0, 0, a0, a1, a2",
    ".insn 0x13",
    ".end",
    ".error \"e\"",
    ".loc 1 2",
];

fn source(rng: &mut Rng) -> String {
    let mut text = String::new();
    for _ in 0..1 + rng.below(200) {
        text.push_str(rng.pick(PARTS));
        if rng.below(2) == 0 {
            text.push(' ');
        }
    }
    // Some sources nest deeply, or repeat a part.
    if rng.below(16) == 0 {
        text.push_str(&rng.pick(PARTS).repeat(rng.below(3000) as usize));
    }
    text
}

#[test]
fn random_sources_are_assembled_or_refused() {
    let deadline =
        common::fuzz_seconds().map(|s| std::time::Instant::now() + std::time::Duration::from_secs(s));
    let first = if deadline.is_some() { u64::from(std::process::id()) << 32 } else { 1 };
    let mut assembled = 0;
    for seed in first.. {
        let mut rng = Rng(seed);
        let text = source(&mut rng);
        let isa = rng.pick(&["rv64gc", "rv32gc", "rv32i", "rv64g"]).parse().unwrap();
        let base = rng.pick(&[0x8000_0000, 0, 0x1_0000, 0xffff_f000]);
        let options = Options { isa, text: base, ..Options::default() };
        let sources = Sources::new("self.S", &text).unit("other.s", &source(&mut rng));
        match assemble(&sources, &options) {
            Ok(image) => {
                assembled += 1;
                for pair in image.sections.windows(2) {
                    assert!(
                        pair[0].address + pair[0].size <= pair[1].address,
                        "seed {seed}: {:?}",
                        image.sections
                    );
                }
                if !image.program.segments.is_empty() {
                    assert_eq!(Elf::parse(&image.elf()).as_ref(), Ok(&image.program), "seed {seed}");
                }
            }
            Err(errors) => {
                assert!((1..=MAX_ERRORS + 1).contains(&errors.len()), "seed {seed}");
                for error in &errors {
                    let shown = error.to_string();
                    assert!(error.line > 0 && error.column > 0 && shown.len() < 3000, "seed {seed}: {shown}");
                    assert!(!error.message.is_empty(), "seed {seed}: {shown}");
                }
            }
        }
        match deadline {
            Some(end) if std::time::Instant::now() < end => {}
            None if seed < first + 3000 => {}
            _ => break,
        }
    }
    assert!(assembled > 0, "no random source was assembled");
}

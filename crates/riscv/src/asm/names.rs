//! The names that an editor can complete, beside those of the instruction table.

use super::pseudo::{EXTENSIONS, PSEUDO};

/// The directives that a program may need, each with a line on it.
pub const DIRECTIVES: &[(&str, &str)] = &[
    (".text", "code follows"),
    (".data", "data that can be written follows"),
    (".rodata", "data that is only read follows"),
    (".bss", "memory that is zero at the start follows"),
    (".section", "a section by its name follows"),
    (".globl", "makes a label visible to other files"),
    (".weak", "a label that another file may define instead"),
    (".byte", "numbers of 1 byte"),
    (".half", "numbers of 2 bytes"),
    (".word", "numbers of 4 bytes"),
    (".dword", "numbers of 8 bytes"),
    (".float", "numbers of single precision"),
    (".double", "numbers of double precision"),
    (".ascii", "a text"),
    (".asciz", "a text with a zero at its end"),
    (".string", "a text with a zero at its end"),
    (".zero", "bytes that are zero"),
    (".skip", "bytes that are zero, or of a value"),
    (".fill", "a number again and again"),
    (".align", "continues at a multiple of a power of two"),
    (".balign", "continues at a multiple of a number"),
    (".org", "continues at an offset in the section"),
    (".equ", "gives a name to a value"),
    (".set", "gives a name to a value"),
    (".comm", "memory of a name"),
    (".macro", "begins a macro"),
    (".endm", "ends a macro"),
    (".rept", "repeats what follows up to .endr"),
    (".irp", "repeats what follows for each of several texts"),
    (".endr", "ends a repetition"),
    (".if", "what follows is assembled under a condition"),
    (".else", "otherwise"),
    (".endif", "ends a condition"),
    (".option", "rvc, norvc, push, pop"),
    (".include", "the text of another file"),
    (".insn", "an instruction by its fields"),
    (".error", "an error with a text"),
];

/// The pseudo-instructions, each with what it stands for, where `$0` is its first operand.
///
/// ```
/// let mut all = tollgate_riscv::asm::pseudo_instructions();
/// assert!(all.any(|(name, text)| name == "ret" && text == "jalr zero,0(ra)"));
/// ```
pub fn pseudo_instructions() -> impl Iterator<Item = (&'static str, &'static str)> {
    const OTHERS: [(&str, &str); 6] = [
        ("li", "a number of any size"),
        ("la", "an address"),
        ("lla", "an address"),
        ("mv", "addi $0,$1,0"),
        ("call", "a call to any address"),
        ("tail", "a jump to any address"),
    ];
    let table = PSEUDO.iter().map(|&(name, _, text)| (name, text.trim_start_matches('!')));
    let extensions = EXTENSIONS.iter().map(|&(name, ..)| (name, "two shifts"));
    OTHERS.into_iter().chain(table).chain(extensions)
}

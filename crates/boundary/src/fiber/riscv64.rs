//! The switch on RISC-V: what the calling convention (RISC-V psABI, "Register Convention") asks a callee to keep,
//! saved on the stack that is left and taken from the stack that is entered.
//!
//! As on x86-64 it ends in a plain jump and not in a return: through t2, because a jump through ra or t0 is taken for
//! a return (RISC-V unprivileged specification, "Unconditional Jumps"), which would be predicted to go to the caller
//! on the stack just left. The stack pointer is passed in a register; and each form exists twice, for the way there
//! and the way back.

use super::frame::Frame;
use std::arch::{asm, global_asm, naked_asm};

/// The description of `fiber/own-fp`.
pub(super) const OWN_FP: &str = "the same switch, which also keeps fs0 to fs11 and the rounding mode";

/// The registers that the two forms keep, in the words of the record.
pub(super) const KEPT: [&str; 2] = ["integer", "integer, fs0 to fs11, frm"];

/// The record's name for [`control`].
pub(super) const CONTROL: &str = "frm";

/// Defines a switch in a cache line of its own, so that its alignment to fetch blocks does not change with every build.
macro_rules! switch {
    ($name:ident, $frame:literal, $($save:literal)*, $($restore:literal)*) => {
        global_asm!(
            ".pushsection .text.tollgate_fiber, \"ax\", @progbits",
            // Link-time optimization forgets the target's extensions for assembly outside functions.
            ".option push",
            ".option arch, +d",
            concat!(".globl tollgate_fiber_", stringify!($name)),
            concat!(".hidden tollgate_fiber_", stringify!($name)),
            concat!(".type tollgate_fiber_", stringify!($name), ", @function"),
            ".p2align 6",
            concat!("tollgate_fiber_", stringify!($name), ":"),
            concat!("addi sp, sp, -", $frame),
            "sd ra, 0(sp)",
            "sd s0, 8(sp)",
            "sd s1, 16(sp)",
            "sd s2, 24(sp)",
            "sd s3, 32(sp)",
            "sd s4, 40(sp)",
            "sd s5, 48(sp)",
            "sd s6, 56(sp)",
            "sd s7, 64(sp)",
            "sd s8, 72(sp)",
            "sd s9, 80(sp)",
            "sd s10, 88(sp)",
            "sd s11, 96(sp)",
            $($save,)*
            "mv a1, sp",
            "mv sp, a0",
            "mv a0, a1",
            $($restore,)*
            "ld t2, 0(sp)",
            "ld s0, 8(sp)",
            "ld s1, 16(sp)",
            "ld s2, 24(sp)",
            "ld s3, 32(sp)",
            "ld s4, 40(sp)",
            "ld s5, 48(sp)",
            "ld s6, 56(sp)",
            "ld s7, 64(sp)",
            "ld s8, 72(sp)",
            "ld s9, 80(sp)",
            "ld s10, 88(sp)",
            "ld s11, 96(sp)",
            concat!("addi sp, sp, ", $frame),
            "jr t2",
            concat!(".size tollgate_fiber_", stringify!($name), ", . - tollgate_fiber_", stringify!($name)),
            ".option pop",
            ".popsection",
        );
    };
}

switch!(integer_there, "112", , );
switch!(integer_back, "112", , );
switch!(fp_there, "208",
    "fsd fs0, 104(sp)" "fsd fs1, 112(sp)" "fsd fs2, 120(sp)" "fsd fs3, 128(sp)" "fsd fs4, 136(sp)" "fsd fs5, 144(sp)"
    "fsd fs6, 152(sp)" "fsd fs7, 160(sp)" "fsd fs8, 168(sp)" "fsd fs9, 176(sp)" "fsd fs10, 184(sp)" "fsd fs11, 192(sp)"
    "frrm t0" "sd t0, 200(sp)",
    "ld t0, 200(sp)" "fsrm t0"
    "fld fs0, 104(sp)" "fld fs1, 112(sp)" "fld fs2, 120(sp)" "fld fs3, 128(sp)" "fld fs4, 136(sp)" "fld fs5, 144(sp)"
    "fld fs6, 152(sp)" "fld fs7, 160(sp)" "fld fs8, 168(sp)" "fld fs9, 176(sp)" "fld fs10, 184(sp)" "fld fs11, 192(sp)");
switch!(fp_back, "208",
    "fsd fs0, 104(sp)" "fsd fs1, 112(sp)" "fsd fs2, 120(sp)" "fsd fs3, 128(sp)" "fsd fs4, 136(sp)" "fsd fs5, 144(sp)"
    "fsd fs6, 152(sp)" "fsd fs7, 160(sp)" "fsd fs8, 168(sp)" "fsd fs9, 176(sp)" "fsd fs10, 184(sp)" "fsd fs11, 192(sp)"
    "frrm t0" "sd t0, 200(sp)",
    "ld t0, 200(sp)" "fsrm t0"
    "fld fs0, 104(sp)" "fld fs1, 112(sp)" "fld fs2, 120(sp)" "fld fs3, 128(sp)" "fld fs4, 136(sp)" "fld fs5, 144(sp)"
    "fld fs6, 152(sp)" "fld fs7, 160(sp)" "fld fs8, 168(sp)" "fld fs9, 176(sp)" "fld fs10, 184(sp)" "fld fs11, 192(sp)");

/// The frame of the integer form: ra, the address where it continues, s0 to s11, and a word that keeps the stack aligned.
pub(super) const INTEGER: Frame = Frame { words: 14, argument: 2, body: 3, next: 0, control: None };
/// The frame of the other: fs0 to fs11 and the rounding mode besides.
pub(super) const FP: Frame = Frame { words: 26, control: Some(25), ..INTEGER };

/// Calls a switch by a plain call instruction, whose target needs no prediction from a register.
macro_rules! call {
    ($swap:ident, $to:expr) => {{
        let from: *mut u8;
        // SAFETY: the caller's promise. The switch keeps what the C calling convention asks a callee to
        // keep, but for fs0 to fs11 in its integer form, which are marked as changed.
        unsafe {
            std::arch::asm!("call {swap}", swap = sym $swap,
                inlateout("a0") $to => from, clobber_abi("C"),
                lateout("fs0") _, lateout("fs1") _, lateout("fs2") _, lateout("fs3") _,
                lateout("fs4") _, lateout("fs5") _, lateout("fs6") _, lateout("fs7") _,
                lateout("fs8") _, lateout("fs9") _, lateout("fs10") _, lateout("fs11") _);
        }
        from
    }};
}
pub(super) use call;

/// Where a fiber begins: the stack is empty and aligned as before a call.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn enter() {
    naked_asm!("mv a1, a0", "mv a0, s1", "jalr s2", "unimp")
}

/// The rounding mode, frm.
pub(super) fn control() -> u64 {
    let value: u64;
    // SAFETY: reads a register.
    unsafe { asm!("frrm {}", out(reg) value, options(nomem, nostack)) };
    value
}

/// The control word that the form for floating point restores.
pub(super) fn control_word() -> usize {
    control() as usize
}

/// Nothing to clear: the switch does not touch the sticky flags.
pub(super) fn clear_flags() {}

#[cfg(test)]
#[path = "riscv64_tests.rs"]
pub(super) mod tests;

//! The switch on x86-64: what the System V ABI (x86-64 supplement, 3.2.1 and figure 3.4) asks a callee
//! to keep, saved on the stack that is left and taken from the stack that is entered.
//!
//! Three choices keep it fast and its figure in one place:
//! - It ends in `pop` and `jmp`. A `ret` would be predicted to return to the caller on the stack just left
//!   and miss on every switch.
//! - The stack pointer that was left is passed in a register. Through memory it would make a chain of
//!   store and load, whose length depends on how the processor predicts the forwarding.
//! - Each form exists twice, for the way there and the way back. With one copy the jump has two targets,
//!   and the processor predicts such a jump in one of two states that are a third apart in time.

use super::frame::Frame;
use std::arch::{asm, global_asm, naked_asm};

/// The description of `fiber/own-fp`.
pub(super) const OWN_FP: &str = "the same switch, which also keeps MXCSR and the x87 control word";

/// The registers that the two forms keep, in the words of the record.
pub(super) const KEPT: [&str; 2] = ["integer", "integer, mxcsr, x87 control word"];

/// The record's name for [`control`].
pub(super) const CONTROL: &str = "mxcsr";

/// Defines a switch in a cache line of its own: how its instructions fall on fetch blocks would otherwise
/// change with every build, and with it the figure by a quarter.
macro_rules! switch {
    ($name:ident, $($save:literal)*, $($restore:literal)*) => {
        global_asm!(
            ".pushsection .text.tollgate_fiber, \"ax\", @progbits",
            concat!(".globl tollgate_fiber_", stringify!($name)),
            concat!(".hidden tollgate_fiber_", stringify!($name)),
            concat!(".type tollgate_fiber_", stringify!($name), ", @function"),
            ".p2align 6",
            concat!("tollgate_fiber_", stringify!($name), ":"),
            "push rbp",
            "push rbx",
            "push r12",
            "push r13",
            "push r14",
            "push r15",
            $($save,)*
            "mov rax, rsp",
            "mov rsp, rdi",
            $($restore,)*
            "pop r15",
            "pop r14",
            "pop r13",
            "pop r12",
            "pop rbx",
            "pop rbp",
            "pop rcx",
            "jmp rcx",
            concat!(".size tollgate_fiber_", stringify!($name), ", . - tollgate_fiber_", stringify!($name)),
            ".popsection",
        );
    };
}

// rbx, rbp, r12 to r15.
switch!(integer_there, , );
switch!(integer_back, , );
// The same, and MXCSR and the x87 control word, whose control bits a callee must keep as well.
switch!(fp_there, "sub rsp, 8" "stmxcsr [rsp]" "fnstcw [rsp + 4]",
    "ldmxcsr [rsp]" "fldcw [rsp + 4]" "add rsp, 8");
switch!(fp_back, "sub rsp, 8" "stmxcsr [rsp]" "fnstcw [rsp + 4]",
    "ldmxcsr [rsp]" "fldcw [rsp + 4]" "add rsp, 8");

/// The frame of the integer form: r15, r14, r13, r12, rbx, rbp, and the address where it continues.
pub(super) const INTEGER: Frame = Frame { words: 7, argument: 3, body: 2, next: 6, control: None };
/// The frame of the other: the control words below them.
pub(super) const FP: Frame = Frame { words: 8, argument: 4, body: 3, next: 7, control: Some(0) };

/// Calls a switch by a plain call instruction. The compiler would load its address into a register and
/// put one more predicted jump into each switch.
macro_rules! call {
    ($swap:ident, $to:expr) => {{
        let from: *mut u8;
        // SAFETY: the caller's promise. The switch keeps what the C calling convention asks a callee to
        // keep; all else is marked as changed.
        unsafe {
            std::arch::asm!("call {swap}", swap = sym $swap,
                inlateout("rdi") $to => _, lateout("rax") from, clobber_abi("C"));
        }
        from
    }};
}
pub(super) use call;

/// Where a fiber begins: the stack is empty and aligned as before a call.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn enter() {
    naked_asm!("mov rdi, r12", "mov rsi, rax", "call r13", "ud2")
}

/// MXCSR's six sticky exception flags (Intel SDM volume 1, 10.2.3, "MXCSR Control and Status Register").
const FLAGS: u32 = 0x3f;

/// The value that must be the same on both sides, or a switch is slow.
pub(super) fn control() -> u64 {
    mxcsr().into()
}

/// The control words that the form for floating point restores: MXCSR, and the x87 control word above it.
pub(super) fn control_word() -> usize {
    mxcsr() as usize | usize::from(x87_control()) << 32
}

/// The SSE control and status register.
fn mxcsr() -> u32 {
    let mut value = 0u32;
    // SAFETY: writes the four bytes of `value`.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut value, options(nostack, preserves_flags)) };
    value
}

/// The x87 control word.
fn x87_control() -> u16 {
    let mut value = 0u16;
    // SAFETY: writes the two bytes of `value`.
    unsafe { asm!("fnstcw [{}]", in(reg) &raw mut value, options(nostack, preserves_flags)) };
    value
}

/// Clears the sticky exception flags of MXCSR, which the last rounded result on this side set.
pub(super) fn clear_flags() {
    let value = mxcsr() & !FLAGS;
    // SAFETY: the control bits are loaded as they were; the flags are not used.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack)) };
}

#[cfg(test)]
#[path = "x86_64_tests.rs"]
pub(super) mod tests;

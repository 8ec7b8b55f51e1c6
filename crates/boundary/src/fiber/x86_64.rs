//! The switch on x86-64: what the System V ABI (x86-64 supplement, 3.2.1 and figure 3.4) asks a callee
//! to keep, saved on the stack that is left and taken from the stack that is entered.
//!
//! Both end in `pop` and `jmp`. A `ret` would be predicted to return to the caller on the stack just left
//! and miss on every switch.

use std::arch::{asm, naked_asm};

/// Saves rbx, rbp, r12 to r15 here, exchanges the stack pointer with `*slot` and restores them there.
///
/// # Safety
/// `*slot` is a stack pointer that this function or [`first_frame`] (with `fp` false) left, used once.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn swap_integer(slot: *mut *mut u8) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "mov rax, [rdi]",
        "mov [rdi], rsp",
        "mov rsp, rax",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "pop rcx",
        "jmp rcx",
    )
}

/// The same, and MXCSR and the x87 control word, whose control bits a callee must keep as well.
///
/// # Safety
/// `*slot` is a stack pointer that this function or [`first_frame`] (with `fp` true) left, used once.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn swap_fp(slot: *mut *mut u8) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov rax, [rdi]",
        "mov [rdi], rsp",
        "mov rsp, rax",
        "ldmxcsr [rsp]",
        "fldcw [rsp + 4]",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "pop rcx",
        "jmp rcx",
    )
}

/// The code of a fiber. It never returns.
pub(super) type Body = unsafe extern "C" fn(*mut u8) -> !;

/// Lays out, below `top`, what the first switch to a fiber restores, so that it arrives in
/// `body(argument)`. Returns the stack pointer for the slot.
///
/// # Safety
/// `top` is 16-aligned and has 64 writable bytes below it.
pub(super) unsafe fn first_frame(top: *mut u8, fp: bool, body: Body, argument: *mut u8) -> *mut u8 {
    // In the order of the pops: r15, r14, r13, r12, rbx, rbp, the address to jump to.
    let words: [usize; 7] =
        [0, 0, body as *const () as usize, argument.expose_provenance(), 0, 0, enter as *const () as usize];
    // SAFETY: 56 bytes and, with the control words, 64 bytes below `top`: the caller's promise.
    unsafe {
        let frame = top.cast::<usize>().sub(words.len());
        frame.copy_from_nonoverlapping(words.as_ptr(), words.len());
        if !fp {
            return frame.cast();
        }
        let controls = frame.sub(1).cast::<u32>();
        controls.write(mxcsr());
        controls.add(1).write(u32::from(x87_control()));
        controls.cast()
    }
}

/// Where a fiber begins: the stack is empty and aligned as before a call.
#[unsafe(naked)]
unsafe extern "C" fn enter() {
    naked_asm!("mov rdi, r12", "call r13", "ud2")
}

/// MXCSR's six sticky exception flags (Intel SDM volume 1, 10.2.3, "MXCSR Control and Status Register").
const FLAGS: u32 = 0x3f;

/// The SSE control and status register.
pub(super) fn mxcsr() -> u32 {
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
pub(super) fn clear_mxcsr_flags() {
    let value = mxcsr() & !FLAGS;
    // SAFETY: the control bits are loaded as they were; the flags belong to nobody.
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack)) };
}

#[cfg(test)]
#[path = "x86_64_tests.rs"]
mod tests;

//! AArch64: x19 and x29 are the two registers.

use super::Task;
use std::arch::{asm, naked_asm};

/// The names of the forms with floating point.
pub const CONTROL: &str = "FPCR 0 on all sides";

/// The stack of a task that has not started, from its stack pointer on.
pub fn words(enter: usize, task: usize, code: usize) -> [usize; 4] {
    [task, code, enter, 0]
}

macro_rules! switch {
    ($name:ident, [$($save:literal),*], [$($restore:literal),*], $($go:literal),+) => {
        /// Leaves `from` and enters `to`.
        ///
        /// # Safety
        /// `to` is a task that was left by the same form of switch, or created for it, and that does not run.
        #[inline(always)]
        pub unsafe fn $name(from: *mut Task, to: *mut Task) {
            // SAFETY: the caller's promise; everything that changes while others run is declared.
            unsafe {
                asm!(
                    "stp x29, x19, [sp, #-32]!",
                    $($save,)*
                    "adr x9, 2f",
                    "str x9, [sp, #16]",
                    "mov x9, sp",
                    "str x9, [x0]",
                    "ldr x9, [x1]",
                    "mov sp, x9",
                    $($go,)+
                    "2:",
                    $($restore,)*
                    "ldp x29, x19, [sp], #32",
                    inlateout("x0") from => _, inlateout("x1") to => _,
                    lateout("x20") _, lateout("x21") _, lateout("x22") _, lateout("x23") _,
                    lateout("x24") _, lateout("x25") _, lateout("x26") _, lateout("x27") _,
                    lateout("x28") _,
                    clobber_abi("C"),
                );
            }
        }
    };
}

switch!(jmp, [], [], "ldr x9, [sp, #16]", "br x9");
switch!(ret, [], [], "ldr x30, [sp, #16]", "ret");
switch!(
    jmp_fp,
    ["mrs x9, fpcr", "str x9, [sp, #24]"],
    ["ldr x9, [sp, #24]", "msr fpcr, x9"],
    "ldr x9, [sp, #16]",
    "br x9"
);
switch!(
    ret_fp,
    ["mrs x9, fpcr", "str x9, [sp, #24]"],
    ["ldr x9, [sp, #24]", "msr fpcr, x9"],
    "ldr x30, [sp, #16]",
    "ret"
);

/// The start of a task: its argument and its code are on its stack.
#[unsafe(naked)]
pub unsafe extern "C" fn enter() {
    naked_asm!("ldp x0, x9, [sp], #32", "blr x9", "brk #1")
}

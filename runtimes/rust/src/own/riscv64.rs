//! RISC-V: s0 and s1 are the two registers. The jump goes through t2, because one through ra or t0 is a return.

use super::Task;
use std::arch::{asm, naked_asm};

/// The names of the forms with floating point.
pub const CONTROL: &str = "the rounding mode is to nearest on all sides";

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
                    "addi sp, sp, -32",
                    "sd s0, 0(sp)",
                    "sd s1, 8(sp)",
                    $($save,)*
                    "lla t2, 2f",
                    "sd t2, 16(sp)",
                    "sd sp, 0(a0)",
                    "ld sp, 0(a1)",
                    $($go,)+
                    "2:",
                    $($restore,)*
                    "ld s0, 0(sp)",
                    "ld s1, 8(sp)",
                    "addi sp, sp, 32",
                    inlateout("a0") from => _, inlateout("a1") to => _,
                    lateout("s2") _, lateout("s3") _, lateout("s4") _, lateout("s5") _,
                    lateout("s6") _, lateout("s7") _, lateout("s8") _, lateout("s9") _,
                    lateout("s10") _, lateout("s11") _,
                    lateout("fs0") _, lateout("fs1") _, lateout("fs2") _, lateout("fs3") _,
                    lateout("fs4") _, lateout("fs5") _, lateout("fs6") _, lateout("fs7") _,
                    lateout("fs8") _, lateout("fs9") _, lateout("fs10") _, lateout("fs11") _,
                    clobber_abi("C"),
                );
            }
        }
    };
}

switch!(jmp, [], [], "ld t2, 16(sp)", "jr t2");
switch!(ret, [], [], "ld ra, 16(sp)", "ret");
switch!(jmp_fp, ["frrm t2", "sd t2, 24(sp)"], ["ld t2, 24(sp)", "fsrm t2"], "ld t2, 16(sp)", "jr t2");
switch!(ret_fp, ["frrm t2", "sd t2, 24(sp)"], ["ld t2, 24(sp)", "fsrm t2"], "ld ra, 16(sp)", "ret");

/// The start of a task: its argument and its code are on its stack.
#[unsafe(naked)]
pub unsafe extern "C" fn enter() {
    naked_asm!("ld a0, 0(sp)", "ld t2, 8(sp)", "addi sp, sp, 32", "jalr t2", "unimp")
}

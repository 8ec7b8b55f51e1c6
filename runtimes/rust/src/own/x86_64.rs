//! x86-64: rbx and rbp are the two registers.

use super::Task;
use std::arch::{asm, naked_asm};

/// The names of the forms with floating point.
pub const CONTROL: &str = "MXCSR 0x1f80 on all sides, set before each batch";

/// The stack of a task that has not started, from its stack pointer on.
pub fn words(enter: usize, task: usize, code: usize) -> [usize; 4] {
    [enter, task, code, 0]
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
                    "push rbp",
                    "push rbx",
                    $($save,)*
                    "lea rax, [rip + 2f]",
                    "push rax",
                    "mov [rdi], rsp",
                    "mov rsp, [rsi]",
                    $($go,)+
                    "2:",
                    $($restore,)*
                    "pop rbx",
                    "pop rbp",
                    inlateout("rdi") from => _, inlateout("rsi") to => _,
                    lateout("r12") _, lateout("r13") _, lateout("r14") _, lateout("r15") _,
                    clobber_abi("sysv64"),
                );
            }
        }
    };
}

switch!(jmp, [], [], "pop rax", "jmp rax");
switch!(ret, [], [], "ret");
switch!(
    jmp_fp,
    ["sub rsp, 8", "stmxcsr [rsp]", "fnstcw [rsp + 4]"],
    ["ldmxcsr [rsp]", "fldcw [rsp + 4]", "add rsp, 8"],
    "pop rax",
    "jmp rax"
);
switch!(
    ret_fp,
    ["sub rsp, 8", "stmxcsr [rsp]", "fnstcw [rsp + 4]"],
    ["ldmxcsr [rsp]", "fldcw [rsp + 4]", "add rsp, 8"],
    "ret"
);

/// The start of a task: its argument and its code are on its stack.
#[unsafe(naked)]
pub unsafe extern "C" fn enter() {
    naked_asm!("pop rdi", "pop rax", "and rsp, -16", "call rax", "ud2")
}

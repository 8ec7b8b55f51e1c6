//! The instruction that touches a protected page, and how a handler recognizes and redirects it.

use std::ffi::c_void;
use tollgate_measure::clock::Now;

/// The handler's plan for one open probe.
pub(crate) struct Plan {
    /// The protected page.
    pub(crate) bad: *mut u8,
    /// The page to which the handler redirects the write.
    pub(crate) good: *mut u8,
    /// How often the handler did that.
    pub(crate) runs: u64,
    /// The clock that the handler reads when it begins, if any.
    pub(crate) now: Option<Now>,
    /// The handler's reading of the counter.
    pub(crate) entered: u64,
}

/// Writes to `page`. The handler finds `plan` in the second argument's register.
///
/// # Safety
/// Under an installed handler, `page` and `plan.good` are pages as [`Plan`] says and `plan` is valid for
/// writing; without one the process ends.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn touch(page: *mut u8, plan: *mut Plan) {
    // The write must stay the first instruction: its address is the function's. The arguments are in rdi and rsi
    // (System V ABI, x86-64 supplement, 3.2.3), x0 and x1 (AAPCS64, 6.8.2), or a0 and a1 (RISC-V psABI, "Integer
    // Calling Convention").
    #[cfg(target_arch = "x86_64")]
    std::arch::naked_asm!("mov byte ptr [rdi], 1", "ret");
    #[cfg(target_arch = "aarch64")]
    std::arch::naked_asm!("strb wzr, [x0]", "ret");
    #[cfg(target_arch = "riscv64")]
    std::arch::naked_asm!("sb zero, 0(a0)", "ret");
}

/// The instruction pointer of the interrupted code, and the places of its first two arguments.
///
/// # Safety
/// `context` is the third argument of a signal handler.
#[inline(always)]
unsafe fn interrupted(context: *mut c_void) -> (usize, [*mut u64; 2]) {
    // SAFETY: the caller's promise: the kernel passes a ucontext_t and reads it again on return.
    let machine = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext };
    #[cfg(target_arch = "x86_64")]
    let (at, arguments) = (
        machine.gregs[libc::REG_RIP as usize],
        [libc::REG_RDI, libc::REG_RSI].map(|register| &raw mut machine.gregs[register as usize]),
    );
    #[cfg(target_arch = "aarch64")]
    let (at, arguments) = (machine.pc, [0, 1].map(|register| &raw mut machine.regs[register]));
    #[cfg(target_arch = "riscv64")]
    let (at, arguments) = (
        machine.__gregs[libc::REG_PC],
        [0, 1].map(|argument| &raw mut machine.__gregs[libc::REG_A0 + argument]),
    );
    (at as usize, arguments.map(<*mut _>::cast))
}

/// The plan behind a fault of [`touch`]; `None` for any other fault.
///
/// # Safety
/// `context` is the third argument of a signal handler.
pub(super) unsafe fn plan_of(context: *mut c_void) -> Option<*mut Plan> {
    // SAFETY: the caller's promise.
    let (at, [_, plan]) = unsafe { interrupted(context) };
    // SAFETY: a register of the context.
    (at == touch as *const () as usize).then(|| unsafe { *plan } as *mut Plan)
}

/// Redirects the faulting instruction to the good page for when it is retried.
///
/// # Safety
/// `context` is the third argument of a signal handler, and [`plan_of`] found a plan in it.
pub(super) unsafe fn redirect(context: *mut c_void, good: *mut u8) {
    // SAFETY: the caller's promise; the place is a register of the context.
    unsafe { *interrupted(context).1[0] = good as u64 };
}

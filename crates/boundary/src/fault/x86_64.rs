//! The touching instruction on x86-64, and how a handler recognizes and redirects it.

use super::plan::Plan;
use std::ffi::c_void;

/// Writes to `page`. The handler finds `plan` in the second argument's register.
///
/// # Safety
/// Under an installed handler, `page` and `plan.good` are pages as [`Plan`] says and `plan` is valid for
/// writing; without one the process ends.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn touch(page: *mut u8, plan: *mut Plan) {
    // The arguments are in rdi and rsi (System V ABI, x86-64 supplement, 3.2.3). The write must stay the
    // first instruction: its address is the function's.
    std::arch::naked_asm!("mov byte ptr [rdi], 1", "ret")
}

/// The plan behind a fault of [`touch`]; `None` for any other fault.
///
/// # Safety
/// `context` is the third argument of a signal handler.
pub(super) unsafe fn plan_of(context: *mut c_void) -> Option<*mut Plan> {
    // SAFETY: the caller's promise: the kernel passes a ucontext_t.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let touching = registers[libc::REG_RIP as usize] as usize == touch as *const () as usize;
    touching.then(|| registers[libc::REG_RSI as usize] as *mut Plan)
}

/// Redirects the faulting instruction to the good page for when it is retried.
///
/// # Safety
/// `context` is the third argument of a signal handler, and [`plan_of`] found a plan in it.
pub(super) unsafe fn redirect(context: *mut c_void, good: *mut u8) {
    // SAFETY: the caller's promise: the kernel passes a ucontext_t and reads it again on return.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    registers[libc::REG_RDI as usize] = good as i64;
}

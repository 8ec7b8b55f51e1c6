//! How the tests of the switch fill and read the kept registers.

use super::*;
use crate::fiber::switch::Swap;

/// s0 to s11, fs0 to fs11.
pub(in crate::fiber) type Registers = [u64; 24];

/// How many of them are integer registers.
pub(in crate::fiber) const KEPT_INTEGERS: usize = 12;

/// Fills the kept registers from `registers`, switches, and writes what it finds in them back.
#[unsafe(naked)]
pub(in crate::fiber) unsafe extern "C" fn swap_with(
    registers: *mut Registers,
    to: *mut u8,
    swap: Swap,
) -> *mut u8 {
    naked_asm!(
        "addi sp, sp, -224",
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
        "fsd fs0, 104(sp)",
        "fsd fs1, 112(sp)",
        "fsd fs2, 120(sp)",
        "fsd fs3, 128(sp)",
        "fsd fs4, 136(sp)",
        "fsd fs5, 144(sp)",
        "fsd fs6, 152(sp)",
        "fsd fs7, 160(sp)",
        "fsd fs8, 168(sp)",
        "fsd fs9, 176(sp)",
        "fsd fs10, 184(sp)",
        "fsd fs11, 192(sp)",
        "sd a0, 200(sp)",
        "ld s0, 0(a0)",
        "ld s1, 8(a0)",
        "ld s2, 16(a0)",
        "ld s3, 24(a0)",
        "ld s4, 32(a0)",
        "ld s5, 40(a0)",
        "ld s6, 48(a0)",
        "ld s7, 56(a0)",
        "ld s8, 64(a0)",
        "ld s9, 72(a0)",
        "ld s10, 80(a0)",
        "ld s11, 88(a0)",
        "fld fs0, 96(a0)",
        "fld fs1, 104(a0)",
        "fld fs2, 112(a0)",
        "fld fs3, 120(a0)",
        "fld fs4, 128(a0)",
        "fld fs5, 136(a0)",
        "fld fs6, 144(a0)",
        "fld fs7, 152(a0)",
        "fld fs8, 160(a0)",
        "fld fs9, 168(a0)",
        "fld fs10, 176(a0)",
        "fld fs11, 184(a0)",
        "mv a0, a1",
        "jalr a2",
        "ld t0, 200(sp)",
        "sd s0, 0(t0)",
        "sd s1, 8(t0)",
        "sd s2, 16(t0)",
        "sd s3, 24(t0)",
        "sd s4, 32(t0)",
        "sd s5, 40(t0)",
        "sd s6, 48(t0)",
        "sd s7, 56(t0)",
        "sd s8, 64(t0)",
        "sd s9, 72(t0)",
        "sd s10, 80(t0)",
        "sd s11, 88(t0)",
        "fsd fs0, 96(t0)",
        "fsd fs1, 104(t0)",
        "fsd fs2, 112(t0)",
        "fsd fs3, 120(t0)",
        "fsd fs4, 128(t0)",
        "fsd fs5, 136(t0)",
        "fsd fs6, 144(t0)",
        "fsd fs7, 152(t0)",
        "fsd fs8, 160(t0)",
        "fsd fs9, 168(t0)",
        "fsd fs10, 176(t0)",
        "fsd fs11, 184(t0)",
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
        "fld fs0, 104(sp)",
        "fld fs1, 112(sp)",
        "fld fs2, 120(sp)",
        "fld fs3, 128(sp)",
        "fld fs4, 136(sp)",
        "fld fs5, 144(sp)",
        "fld fs6, 152(sp)",
        "fld fs7, 160(sp)",
        "fld fs8, 168(sp)",
        "fld fs9, 176(sp)",
        "fld fs10, 184(sp)",
        "fld fs11, 192(sp)",
        "ld ra, 0(sp)",
        "addi sp, sp, 224",
        "ret",
    )
}

/// frm: RTZ, rounding towards zero.
pub(in crate::fiber) const TOWARDS_ZERO: u64 = 1;

pub(in crate::fiber) fn set_control(value: u64) {
    // SAFETY: sets the rounding mode only.
    unsafe { asm!("fsrm {}", in(reg) value, options(nomem, nostack)) };
}

//! The integer arithmetic that the rows of the table share.

/// Sign-extends the lower half.
#[inline(always)]
pub(crate) fn sext32(v: u64) -> u64 {
    v as i32 as u64
}

// Division as the M extension defines it: by zero the quotient is all ones and the remainder the dividend; the one
// overflow wraps.
#[inline(always)]
pub(crate) fn div(a: i64, b: i64) -> i64 {
    if b == 0 { -1 } else { a.wrapping_div(b) }
}

#[inline(always)]
pub(crate) fn rem(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { a.wrapping_rem(b) }
}

#[inline(always)]
pub(crate) fn div32(a: i32, b: i32) -> u64 {
    if b == 0 { u64::MAX } else { a.wrapping_div(b) as u64 }
}

#[inline(always)]
pub(crate) fn rem32(a: i32, b: i32) -> u64 {
    if b == 0 { a as u64 } else { a.wrapping_rem(b) as u64 }
}

#[inline(always)]
pub(crate) fn divu32(a: u32, b: u32) -> u64 {
    sext32(u64::from(a.checked_div(b).unwrap_or(u32::MAX)))
}

#[inline(always)]
pub(crate) fn remu32(a: u32, b: u32) -> u64 {
    sext32(u64::from(a.checked_rem(b).unwrap_or(a)))
}

/// `orc.b`: each byte becomes all ones unless it is zero.
#[inline(always)]
pub(crate) fn or_combine(v: u64) -> u64 {
    u64::from_ne_bytes(v.to_ne_bytes().map(|byte| if byte == 0 { 0 } else { 0xff }))
}

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

/// Sign-extends the lower `size` bytes.
#[inline(always)]
pub(crate) fn sign_extend(v: u64, size: u64) -> u64 {
    let unused = 64 - 8 * size as u32;
    ((v << unused) as i64 >> unused) as u64
}

/// The product of polynomials whose coefficients are the bits.
pub(crate) fn carryless(a: impl Into<u128>, b: impl Into<u128>) -> u128 {
    let (a, b): (u128, u128) = (a.into(), b.into());
    (0..64).filter(|i| b >> i & 1 != 0).fold(0, |product, i| product ^ a << i)
}

/// `brev8`: the bits of each byte in reverse order.
pub(crate) fn reverse_bytes_bits(v: u64) -> u64 {
    v.reverse_bits().swap_bytes()
}

/// `zip`: the bits of the lower half in even places, those of the upper half in odd ones.
pub(crate) fn interleave(v: u32) -> u32 {
    (0..16).fold(0, |all, i| all | (v >> i & 1) << (2 * i) | (v >> (i + 16) & 1) << (2 * i + 1))
}

/// `unzip`, the inverse.
pub(crate) fn deinterleave(v: u32) -> u32 {
    (0..16).fold(0, |all, i| all | (v >> (2 * i) & 1) << i | (v >> (2 * i + 1) & 1) << (i + 16))
}

/// `xperm4` and `xperm8`: each field of `indices` is replaced by the field of `table` that it names, or by zero if there is none.
pub(crate) fn look_up<const BITS: u32>(table: u64, indices: u64) -> u64 {
    let field = |v: u64, i: u64| v.checked_shr(i as u32 * BITS).unwrap_or(0) & ((1 << BITS) - 1);
    (0..u64::from(64 / BITS)).fold(0, |all, i| all | field(table, field(indices, i)) << (i as u32 * BITS))
}

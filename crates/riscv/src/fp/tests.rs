use super::format::{DZ, NX, OF, UF};
use super::*;
use proptest::prelude::*;

fn fpu(rounding: Rounding) -> Fpu {
    Fpu { rounding, flags: 0 }
}

/// Bit patterns with interesting exponents as likely as any.
fn f64_bits() -> impl Strategy<Value = u64> {
    let special = prop::sample::select(vec![
        0u64,
        1 << 63,
        1,
        0x000f_ffff_ffff_ffff,
        0x0010_0000_0000_0000,
        0x7fef_ffff_ffff_ffff,
        0x7ff0_0000_0000_0000,
        0xfff0_0000_0000_0000,
        0x7ff0_0000_0000_0001,
        0x7ff8_0000_0000_0000,
        0x3ff0_0000_0000_0000,
    ]);
    let near = (any::<u64>(), -60i64..60).prop_map(|(r, e)| {
        let sig = if r & 1 == 0 { r >> 12 } else { r >> 12 & 0xf_ff00_0000_0000 };
        (r & 1 << 63) | ((1023 + e) as u64) << 52 | sig
    });
    prop_oneof![1 => special, 2 => any::<u64>(), 4 => near]
}

fn f32_bits() -> impl Strategy<Value = u32> {
    let special = prop::sample::select(vec![
        0u32,
        1 << 31,
        1,
        0x7f_ffff,
        0x80_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7f80_0001,
        0x7fc0_0000,
    ]);
    let near =
        (any::<u32>(), -30i32..30).prop_map(|(r, e)| (r & 1 << 31) | ((127 + e) as u32) << 23 | r >> 9);
    prop_oneof![1 => special, 2 => any::<u32>(), 4 => near]
}

/// The host's result, canonical when a NaN. The test is on the bits: the compiler may turn "a NaN if it is a NaN,
/// else itself" on floats into nothing at all.
fn canonical64(v: f64) -> u64 {
    let bits = v.to_bits();
    if bits & !F64::SIGN > F64::INFINITY { F64::NAN } else { bits }
}

fn canonical32(v: f32) -> u64 {
    let bits = u64::from(v.to_bits());
    if bits & !F32::SIGN > F32::INFINITY { F32::NAN } else { bits }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    // The host's nearest-even arithmetic is an independent implementation of the same standard.
    #[test]
    fn soft_double_is_the_hosts(a in f64_bits(), b in f64_bits(), c in f64_bits()) {
        let (x, y, z) = (f64::from_bits(a), f64::from_bits(b), f64::from_bits(c));
        let mut e = fpu(Rounding::NearestEven);
        prop_assert_eq!(soft::add::<F64>(&mut e, a, b), canonical64(x + y));
        prop_assert_eq!(soft::mul::<F64>(&mut e, a, b), canonical64(x * y));
        prop_assert_eq!(soft::div::<F64>(&mut e, a, b), canonical64(x / y));
        prop_assert_eq!(soft::sqrt::<F64>(&mut e, a), canonical64(x.sqrt()));
        prop_assert_eq!(soft::fma::<F64>(&mut e, a, b, c), canonical64(x.mul_add(y, z)));
        prop_assert_eq!(soft::convert::<F64, F32>(&mut e, a), canonical32(x as f32));
    }

    #[test]
    fn soft_single_is_the_hosts(a in f32_bits(), b in f32_bits(), c in f32_bits()) {
        let (x, y, z) = (f32::from_bits(a), f32::from_bits(b), f32::from_bits(c));
        let (a, b, c) = (u64::from(a), u64::from(b), u64::from(c));
        let mut e = fpu(Rounding::NearestEven);
        prop_assert_eq!(soft::add::<F32>(&mut e, a, b), canonical32(x + y));
        prop_assert_eq!(soft::mul::<F32>(&mut e, a, b), canonical32(x * y));
        prop_assert_eq!(soft::div::<F32>(&mut e, a, b), canonical32(x / y));
        prop_assert_eq!(soft::sqrt::<F32>(&mut e, a), canonical32(x.sqrt()));
        prop_assert_eq!(soft::fma::<F32>(&mut e, a, b, c), canonical32(x.mul_add(y, z)));
        prop_assert_eq!(soft::convert::<F32, F64>(&mut e, a), canonical64(f64::from(x)));
    }

    #[test]
    fn integers_convert_as_on_the_host(a: i64, x in f64_bits()) {
        let mut e = fpu(Rounding::NearestEven);
        prop_assert_eq!(e.int_to_float::<F64>(a as u64, true), (a as f64).to_bits());
        prop_assert_eq!(e.int_to_float::<F64>(a as u64, false), (a as u64 as f64).to_bits());
        prop_assert_eq!(e.int_to_float::<F32>(a as u64, true), F32::boxed(u64::from((a as f32).to_bits())));
        // Rust's `as` saturates as RISC-V does, except for NaN.
        let v = f64::from_bits(x);
        if !v.is_nan() {
            let mut e = fpu(Rounding::TowardZero);
            prop_assert_eq!(e.float_to_int::<F64>(x, 64, true), v as i64 as u64);
            prop_assert_eq!(e.float_to_int::<F64>(x, 64, false), v as u64);
            prop_assert_eq!(e.float_to_int::<F64>(x, 32, true), v as i32 as u64);
            prop_assert_eq!(e.float_to_int::<F64>(x, 32, false), v as u32 as i32 as u64);
        }
    }

    // The proof of `fast`: whatever it accepts, the integer arithmetic gives with the same flags.
    #[test]
    fn the_fast_path_changes_nothing(a in f64_bits(), b in f64_bits(), c in f64_bits(), nx: bool) {
        let flags = if nx { NX } else { 0 };
        let start = Fpu { rounding: Rounding::NearestEven, flags };
        let check = |fast: Option<u64>, soft: &dyn Fn(&mut Fpu) -> u64| {
            let mut e = start;
            let r = soft(&mut e);
            if let Some(fast) = fast {
                assert_eq!((fast, flags), (r, e.flags));
            }
        };
        use format::Host;
        check(F64::add(&start, a, b), &|e| soft::add::<F64>(e, a, b));
        check(F64::mul(&start, a, b), &|e| soft::mul::<F64>(e, a, b));
        check(F64::div(&start, a, b), &|e| soft::div::<F64>(e, a, b));
        check(F64::sqrt(&start, a), &|e| soft::sqrt::<F64>(e, a));
        check(F64::fma(&start, a, b, c), &|e| soft::fma::<F64>(e, a, b, c));
        let (p, q, r) = (a >> 32, b >> 32, c >> 32);
        check(F32::add(&start, p, q), &|e| soft::add::<F32>(e, p, q));
        check(F32::mul(&start, p, q), &|e| soft::mul::<F32>(e, p, q));
        check(F32::div(&start, p, q), &|e| soft::div::<F32>(e, p, q));
        check(F32::sqrt(&start, p), &|e| soft::sqrt::<F32>(e, p));
        check(F32::fma(&start, p, q, r), &|e| soft::fma::<F32>(e, p, q, r));
    }

    // Directed modes enclose the exact result, and differ exactly when it is inexact.
    #[test]
    fn directed_rounding_brackets(a in f64_bits(), b in f64_bits()) {
        for op in [soft::add::<F64>, soft::mul::<F64>, soft::div::<F64>] {
            let run = |r| { let mut e = fpu(r); let v = op(&mut e, a, b); (v, e.flags) };
            let (down, flags) = run(Rounding::Down);
            let (up, _) = run(Rounding::Up);
            let (zero, _) = run(Rounding::TowardZero);
            let (near, _) = run(Rounding::NearestEven);
            if f64::from_bits(near).is_nan() { continue; }
            prop_assert!(f64::from_bits(down) <= f64::from_bits(up));
            prop_assert!(near == down || near == up);
            prop_assert!(zero == down || zero == up);
            if flags & NX != 0 {
                prop_assert_eq!(order::<F64>(down) + 1, order::<F64>(up));
            } else {
                // Equal but for the sign of an exact zero.
                prop_assert_eq!(f64::from_bits(down), f64::from_bits(up));
            }
        }
    }
}

#[test]
fn flags_of_the_standards_own_cases() {
    let one = 1f64.to_bits();
    let three = 3f64.to_bits();
    let max = f64::MAX.to_bits();
    let least = f64::MIN_POSITIVE.to_bits();
    let flags = |f: &dyn Fn(&mut Fpu) -> u64| {
        let mut e = fpu(Rounding::NearestEven);
        f(&mut e);
        e.flags
    };
    assert_eq!(flags(&|e| e.div::<F64>(one, three)), NX);
    assert_eq!(flags(&|e| e.div::<F64>(one, 0)), DZ);
    assert_eq!(flags(&|e| e.div::<F64>(0, 0)), NV);
    assert_eq!(flags(&|e| e.add::<F64>(max, max)), OF | NX);
    assert_eq!(flags(&|e| e.mul::<F64>(least, 0.3f64.to_bits())), UF | NX);
    assert_eq!(flags(&|e| e.mul::<F64>(least, 0.5f64.to_bits())), 0, "an exact subnormal raises nothing");
    assert_eq!(flags(&|e| e.sqrt::<F64>((-1f64).to_bits())), NV);
    assert_eq!(flags(&|e| e.add::<F64>(one, one)), 0);
    assert_eq!(flags(&|e| e.compare::<F64>(F64::NAN, one, Compare::Eq)), 0);
    assert_eq!(flags(&|e| e.compare::<F64>(F64::NAN, one, Compare::Lt)), NV);
    // The largest subnormal and a half rounds up to the least normal number: with an unbounded exponent it
    // would have rounded to just below it, so it is tiny; a quarter unit more and it is not.
    let below = |quarters: u64| {
        let mut e = fpu(Rounding::NearestEven);
        // (2^54 - 4 + quarters) / 2^54 times the least normal number, as a product of two doubles.
        let v = ((1u64 << 54) - 4 + quarters) as u128;
        let n = soft::Number { sign: false, exp: -1023, sig: v << 74 };
        (soft::round::<F64>(&mut e, n), e.flags)
    };
    assert_eq!(below(2), (least, UF | NX));
    assert_eq!(below(3), (least, NX));
}

#[test]
fn unboxed_singles_are_nan() {
    let mut e = fpu(Rounding::NearestEven);
    let one = u64::from(1f32.to_bits());
    assert_eq!(e.add::<F32>(one, one | NAN_BOX), F32::NAN | NAN_BOX);
    assert_eq!(e.flags, 0, "the canonical NaN is quiet");
}

#[test]
fn classes() {
    for (v, bit) in [
        (f64::NEG_INFINITY, 0),
        (-1.0, 1),
        (-5e-324, 2),
        (-0.0, 3),
        (0.0, 4),
        (5e-324, 5),
        (1.0, 6),
        (f64::INFINITY, 7),
    ] {
        assert_eq!(classify::<F64>(v.to_bits()), 1 << bit, "{v}");
    }
    assert_eq!(classify::<F64>(0x7ff0_0000_0000_0001), 1 << 8);
    assert_eq!(classify::<F64>(F64::NAN), 1 << 9);
}

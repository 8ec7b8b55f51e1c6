//! Any architecture that has no file of its own yet: the operating system's clock does the timing and
//! the core frequency stays unknown.

/// No counter is known that user programs may read.
pub const HAS_COUNTER: bool = false;

/// As the record would name it.
pub const COUNTER: &str = "counter";

/// The latency of a multiply is not known.
pub const MULTIPLY_CYCLES: Option<f64> = None;

/// Never called: there is no counter.
pub fn counter() -> u64 {
    0
}

/// Not known.
pub fn invariant() -> Option<bool> {
    None
}

/// Not known.
pub fn nominal_hz() -> Option<f64> {
    None
}

/// `n` dependent multiplies; returns how many were made.
pub fn multiply_chain(n: u64) -> u64 {
    let mut value = std::hint::black_box(3_u64);
    for _ in 0..n {
        value = std::hint::black_box(value.wrapping_mul(value));
    }
    n
}

/// `n` dependent additions; returns how many were made.
pub fn add_chain(n: u64) -> u64 {
    let mut value = std::hint::black_box(3_u64);
    for _ in 0..n {
        value = std::hint::black_box(value.wrapping_add(5));
    }
    n
}

/// `n` additions of which eight are always independent; returns how many were made.
pub fn additions(n: u64) -> u64 {
    let mut sums = [1_u64; 8];
    for turn in 0..n / 8 {
        sums.iter_mut().for_each(|sum| *sum = std::hint::black_box(sum.wrapping_add(turn)));
    }
    n / 8 * 8
}

/// Nothing to reset.
pub fn reset_float_control() {}

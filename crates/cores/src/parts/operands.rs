//! Operations that take longer with some operands than with others.

use crate::core::Core;
use crate::keys::Operation;
use tollgate_riscv::{Insn, Op};

/// How the cycles of an operation depend on its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dependence {
    /// So many cycles more for a divisor of zero.
    Divisor { zero: i32, word: bool },
    /// A divider that finds one digit of the quotient a cycle.
    Digits { signed: bool, word: bool },
    /// A serial shifter, which moves so many places at once, and one at a time when fewer are left.
    Shift { step: u32, mask: u32 },
    /// An iterative multiplication: bits of the multiplier in a cycle, whether the upper half is asked for, whether words
    /// are multiplied.
    Product { bits: u32, high: bool, word: bool },
    /// An iterative division.
    Quotient { signed: bool, remainder: bool, word: bool },
    /// A floating-point division, or a square root, one digit of the significand a cycle.
    Significand { double: bool, root: bool },
}

impl Dependence {
    /// Of an instruction in a core, if there is one.
    pub(crate) fn of(insn: &Insn, core: &Core) -> Option<Self> {
        use Op::*;
        let o = &core.operation;
        if o.iterative > 0 && is_product_or_quotient(insn.op) {
            return Some(iterative(insn.op, o.iterative));
        }
        match insn.op {
            FdivS | FsqrtS | FdivD | FsqrtD => {
                let (double, root) = (matches!(insn.op, FdivD | FsqrtD), matches!(insn.op, FsqrtS | FsqrtD));
                o.float_divide.digits.then_some(Dependence::Significand { double, root })
            }
            Div | Rem => divisor(o.divide, true, false),
            Divu | Remu => divisor(o.divide, false, false),
            Divw | Remw | Div32 | Rem32 => divisor(o.divide, true, true),
            Divuw | Remuw | Divu32 | Remu32 => divisor(o.divide, false, true),
            Sll | Srl | Sra => serial(o.shift?, 63),
            Sllw | Srlw | Sraw | Sll32 | Srl32 | Sra32 => serial(o.shift?, 31),
            _ => None,
        }
    }

    /// Whether there is one in this core.
    pub(crate) fn any(core: &Core) -> bool {
        core.operation.iterative > 0
            || core.operation.divide.by_zero > 0
            || core.operation.divide.digits
            || core.operation.float_divide.digits
            || core.operation.shift.is_some_and(|shift| shift.step > 0)
    }

    /// The cycles in EX that these operands add to the operation's, or remove.
    #[inline]
    pub(crate) fn more(self, [a, b]: [u64; 2]) -> i32 {
        match self {
            Dependence::Product { bits, high, word } => product(bits, high, word, a) as i32,
            Dependence::Quotient { signed, remainder, word } => {
                quotient(signed, remainder, word, a, b) as i32
            }
            Dependence::Divisor { zero, word } => {
                let b = if word { u64::from(b as u32) } else { b };
                if b == 0 { zero } else { 0 }
            }
            Dependence::Digits { signed, word } => {
                let extend = |value: u64| match (word, signed) {
                    (false, _) => value,
                    (true, true) => i64::from(value as i32).cast_unsigned(),
                    (true, false) => u64::from(value as u32),
                };
                digits(extend(a), extend(b), signed)
            }
            Dependence::Significand { double, root } => significand(double, root, [a, b]),
            Dependence::Shift { step, mask } => shifted(step, b as u32 & mask) as i32,
        }
    }
}

/// Whether the iterative unit does it.
pub(crate) fn is_product_or_quotient(op: Op) -> bool {
    use Op::*;
    op.by_operands()
        && !matches!(op, Sll | Srl | Sra | Sllw | Srlw | Sraw | Sll32 | Srl32 | Sra32)
        && !matches!(op, FdivS | FdivD | FsqrtS | FsqrtD)
}

fn iterative(op: Op, bits: u32) -> Dependence {
    use Op::*;
    let word = matches!(op, Mulw | Divw | Divuw | Remw | Remuw);
    match op {
        Mul | Mulw | Mul32 | Mulh | Mulhsu | Mulhu | Mulh32 | Mulhsu32 | Mulhu32 => {
            Dependence::Product { bits, high: !matches!(op, Mul | Mulw | Mul32), word }
        }
        _ => Dependence::Quotient {
            signed: matches!(op, Div | Divw | Div32 | Rem | Remw | Rem32),
            remainder: matches!(op, Rem | Remu | Remw | Remuw | Rem32 | Remu32),
            word,
        },
    }
}

/// Steps of an iterative multiplication. It ends when the rest of the multiplier is zero, after two steps at least; words
/// are multiplied in the second half of the steps.
fn product(bits: u32, high: bool, word: bool, multiplier: u64) -> u32 {
    let all = 64 / bits;
    if high {
        return all;
    }
    if word {
        // The multiplier's steps begin in the middle.
        let rest = |step: u32| (multiplier as u32).checked_shr(step * bits).unwrap_or(0);
        return (0..all / 2).find(|&step| rest(step) == 0).unwrap_or(all / 2 - 1) + 1;
    }
    (1..all - 1).find(|&step| multiplier >> (step * bits) == 0).unwrap_or(all - 1) + 1
}

/// Steps of an iterative division: one bit of the quotient in each, without its leading zeros, and one each to change the
/// sign of operands and of the result.
fn quotient(signed: bool, remainder: bool, word: bool, a: u64, b: u64) -> u32 {
    let extend = |value: u64| match (word, signed) {
        (false, _) => value,
        (true, true) => i64::from(value as i32).cast_unsigned(),
        (true, false) => u64::from(value as u32),
    };
    let (a, b) = (extend(a).cast_signed(), extend(b).cast_signed());
    let (minus_a, minus_b) = (signed && a < 0, signed && b < 0);
    let size = |value: i64, minus: bool| if minus { value.unsigned_abs() } else { value.cast_unsigned() };
    let (a, b) = (size(a, minus_a), size(b, minus_b));
    let by_zero = b == 0;
    let negate = if remainder { minus_a } else { minus_a != minus_b && !by_zero };
    let highest = |value: u64| value.checked_ilog2().unwrap_or(0);
    // How far the dividend is moved at once.
    let skipped = 63_u32.wrapping_sub(highest(a)).wrapping_add(highest(b)) & 63;
    let steps = if by_zero || skipped == 0 { 65 } else { 1 + 64 - skipped + 1 };
    steps + u32::from(minus_a || minus_b) + u32::from(negate)
}

/// By how many binary digits the dividend is longer than the divisor; a quotient of zero is one less.
fn digits(a: u64, b: u64, signed: bool) -> i32 {
    let negative = |value: u64| signed && value >> 63 != 0;
    // A negative dividend has one digit more than its complement.
    let a = match a {
        u64::MAX if signed => 1,
        a if negative(a) => !a << 1,
        a => a,
    };
    let b = if negative(b) { !b } else { b };
    match b.leading_zeros().cast_signed() - a.leading_zeros().cast_signed() {
        _ if b == 0 => 64,
        digits => digits.max(-1),
    }
}

/// A division takes one cycle more if the dividend's significand is smaller than the divisor's, a square root one less if the
/// exponent is odd. Zeros, infinities, NaNs and roots of negative numbers take no digit.
fn significand(double: bool, root: bool, operands: [u64; 2]) -> i32 {
    let (bits, none) = if double { (52, -53) } else { (23, -24) };
    let parts = operands.map(|value| Part::of(value, double, bits));
    match parts {
        [Some(a), _] if root => match (a.negative, a.exponent & 1) {
            (true, _) => none,
            (false, odd) => -odd,
        },
        [Some(a), Some(b)] if !root => i32::from(a.significand < b.significand),
        _ => none,
    }
}

/// A number that is neither zero nor infinite, normalized.
struct Part {
    negative: bool,
    exponent: i32,
    significand: u64,
}

impl Part {
    fn of(value: u64, double: bool, bits: u32) -> Option<Part> {
        // A single number that is not boxed is a NaN (unprivileged specification, 21.2).
        if !double && value >> 32 != u64::from(u32::MAX) {
            return None;
        }
        let sign = if double { 63 } else { 31 };
        let all = (1 << (sign - bits)) - 1;
        let (exponent, fraction) = (value >> bits & all, value & ((1 << bits) - 1));
        let bias = (all >> 1) as i32;
        let (exponent, significand) = match exponent {
            0 => {
                let shift = fraction.leading_zeros().saturating_sub(63 - bits);
                (1 - bias - shift as i32, fraction << shift)
            }
            exponent if exponent == all => return None,
            exponent => (exponent as i32 - bias, fraction | 1 << bits),
        };
        (significand != 0).then_some(Part { negative: value >> sign & 1 != 0, exponent, significand })
    }
}

fn divisor(divide: Operation, signed: bool, word: bool) -> Option<Dependence> {
    if divide.digits {
        return Some(Dependence::Digits { signed, word });
    }
    let zero = divide.by_zero.cast_signed() - divide.cycles.cast_signed();
    (divide.by_zero > 0).then_some(Dependence::Divisor { zero, word })
}

fn serial(shift: Operation, mask: u32) -> Option<Dependence> {
    (shift.step > 0).then_some(Dependence::Shift { step: shift.step, mask })
}

/// The cycles of a serial shifter, which moves `step` places at once, and one at a time when fewer are left.
pub(crate) fn shifted(step: u32, places: u32) -> u32 {
    match step {
        0 => 0,
        step => places / step + places % step,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_riscv::Operands;

    fn dependence(op: Op, toml: &str) -> Dependence {
        let core = Core::from_toml(toml).unwrap();
        let insn = tollgate_riscv::Decoder::new("rv64gc".parse().unwrap())
            .decode(Insn::encode(op, Operands { rd: 5, rs1: 6, rs2: 7, ..Default::default() }));
        Dependence::of(&insn.unwrap(), &core).unwrap()
    }

    #[test]
    fn a_divisor_of_zero_is_seen_in_the_width_of_the_division() {
        let toml = "[operation]\ndivide = { cycles = 37, by-zero = 2 }";
        let (high, zero) = ([9, 1 << 32], [9, 0]);
        let (long, word) = (dependence(Op::Rem, toml), dependence(Op::Remw, toml));
        assert_eq!([high, zero].map(|o| long.more(o)), [0, -35]);
        assert_eq!([high, zero].map(|o| word.more(o)), [-35, -35]);
    }

    #[test]
    fn a_divider_finds_one_digit_a_cycle() {
        let toml = "[operation]\ndivide = { cycles = 3, digits = true }";
        let (unsigned, signed) = (dependence(Op::Divu, toml), dependence(Op::Div, toml));
        // 5/7 and 7/5 have equally many digits, 100 has four more than 7, 1 fewer; and by zero all are found.
        let cases = [[5, 7], [7, 5], [100, 7], [1, 7], [u64::MAX, 1], [9, 0]];
        assert_eq!(cases.map(|o| unsigned.more(o)), [0, 0, 4, -1, 63, 64]);
        let negative = |a: i64, b: i64| [a.cast_unsigned(), b.cast_unsigned()];
        // -100 is as long as 198; -1 counts as 1, and a divisor of -7 as 6; one of -1 as 0, which has no digit to shift to.
        let cases = [negative(-100, 7), negative(-1, 1), negative(100, -7), negative(100, -1)];
        assert_eq!(cases.map(|o| signed.more(o)), [5, 0, 4, 64]);
        // Only the lower half counts.
        assert_eq!(dependence(Op::Divuw, toml).more([0xf_0000_0064, 7]), 4);
    }

    #[test]
    fn a_float_divider_finds_one_digit_a_cycle_and_none_of_what_is_no_number() {
        let toml = "base = 'rocket'";
        let [divide, root] = [Op::FdivD, Op::FsqrtD].map(|op| dependence(op, toml));
        let double = |dependence: Dependence, a: f64, b: f64| dependence.more([a.to_bits(), b.to_bits()]);
        // 1.5 has a larger significand than 1, and one as large as 3; 1 and 1.25 have smaller ones than 1.5.
        let cases = [(1.5, 1.0), (1.5, 3.0), (1.0, 1.5), (-1.25, 1.5), (5e-324, 1.5)];
        assert_eq!(cases.map(|(a, b)| double(divide, a, b)), [0, 0, 1, 1, 1]);
        let cases = [(0.0, 1.0), (1.0, 0.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)];
        assert_eq!(cases.map(|(a, b)| double(divide, a, b)), [-53; 4]);
        // 4 is 1 * 2^2, 2 is 1 * 2^1, 0.5 is 1 * 2^-1, the smallest number 2^-1074.
        let cases = [4.0, 2.0, 0.5, 5e-324, 0.0, -4.0, f64::NAN];
        assert_eq!(cases.map(|a| double(root, a, 0.0)), [0, -1, -1, 0, -53, -53, -53]);
        let single = |a: f32, b: f32| [a, b].map(|value| u64::from(value.to_bits()) | 0xffff_ffff << 32);
        let divide = dependence(Op::FdivS, toml);
        assert_eq!([(1.5, 1.0), (1.0, 1.5), (0.0, 1.0)].map(|(a, b)| divide.more(single(a, b))), [0, 1, -24]);
        assert_eq!(divide.more([u64::from(1_f32.to_bits()); 2]), -24, "not boxed");
    }

    #[test]
    fn a_serial_shifter_moves_in_steps_and_then_one_by_one() {
        let shift = dependence(Op::Srl, "[operation]\nshift = { cycles = 4, step = 4 }");
        // 0; 3 single ones; one step; 7 = 4 + 1 + 1 + 1; 31 = 7 steps and 3; the amount has six bits.
        let cycles = [0, 3, 4, 7, 31, 64].map(|places| shift.more([0, places]));
        assert_eq!(cycles, [0, 3, 1, 4, 10, 0]);
    }
}

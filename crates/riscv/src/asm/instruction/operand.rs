//! Operands by name: constants, lists of registers, vector registers; and their kinds in words.

use super::super::error::{Fault, fault, quoted};
use crate::disasm::X_NAMES;
use crate::format::{Slot, registers};
use crate::fp::CONSTANTS;

/// The number of a constant that `fli` loads, by its name or value.
pub(super) fn constant(op: &str) -> Result<u8, Fault> {
    let value = |text: &str| text.parse::<f64>().ok();
    let is_meant = |name: &&str| *name == op || value(name).is_some_and(|known| value(op) == Some(known));
    match CONSTANTS.iter().position(is_meant) {
        Some(number) => Ok(number as u8),
        None => {
            let message = format!("{} is not one of the constants {}", quoted(op), CONSTANTS.join(", "));
            fault(op, message)
        }
    }
}

/// The encoding of a list of registers like `{ra, s0-s2}`.
pub(super) fn register_list(op: &str) -> Result<u8, Fault> {
    let plain: String = op.chars().filter(|c| !c.is_whitespace()).collect();
    let named = |r: &u8| [X_NAMES[usize::from(*r)].to_owned(), format!("x{r}")];
    let is_meant = |encoded: &u8| match registers::list(*encoded) {
        [ra] => named(ra).iter().any(|ra| plain == format!("{{{ra}}}")),
        [ra, s0] => {
            let alone = |ra| named(s0).map(|s0| format!("{{{ra},{s0}}}"));
            let range = |ra| format!("{{{ra},s0-s0}}");
            named(ra).iter().any(|ra| alone(ra).contains(&plain) || range(ra) == plain)
        }
        [_, .., last] => {
            let by_name = format!("{{ra,s0-{}}}", X_NAMES[usize::from(*last)]);
            // (The numbers of s1 and s2 are not neighbors.)
            let by_number = match last {
                9 => "{x1,x8-x9}".to_owned(),
                18 => "{x1,x8-x9,x18}".to_owned(),
                last => format!("{{x1,x8-x9,x18-x{last}}}"),
            };
            [by_name, by_number].contains(&plain)
        }
        [] => false,
    };
    match (registers::FEWEST..=registers::MOST).find(is_meant) {
        Some(encoded) => Ok(encoded),
        None => fault(
            op,
            format!(
                "{} is not a list like `{{ra}}`, `{{ra, s0}}` or `{{ra, s0-s1}}`; none ends with s10",
                quoted(op)
            ),
        ),
    }
}

/// The number of a vector register.
pub(super) fn vector_register(op: &str) -> Result<u8, Fault> {
    match op.strip_prefix('v').map(str::parse) {
        Some(Ok(number @ 0..32)) if !op.starts_with("v+") => Ok(number),
        _ => fault(op, format!("{} is not a vector register: those are `v0` to `v31`", quoted(op))),
    }
}

pub(super) fn slot_name(slot: Slot) -> &'static str {
    match slot {
        Slot::Rd => "rd",
        Slot::Rs1 => "rs1",
        Slot::Rs2 => "rs2",
        Slot::Rs3 => "rs3",
        Slot::Imm | Slot::Upper | Slot::Zimm => "immediate",
        Slot::Shamt => "shift",
        Slot::Target => "target",
        Slot::Memory => "offset(rs1)",
        Slot::Address => "(rs1)",
        Slot::Pred => "predecessors",
        Slot::Succ => "successors",
        Slot::Csr => "csr",
        Slot::Constant => "constant",
        Slot::Vd => "vd",
        Slot::Vs1 => "vs1",
        Slot::Vs2 => "vs2",
        Slot::Masked => "[v0.t]",
        Slot::V0 => "v0",
        Slot::Simm | Slot::Uimm | Slot::Uimm6 => "immediate",
        Slot::Vtype => "e8 to e64, m1 to m8 or mf8 to mf2, ta or tu, ma or mu",
        Slot::Rounding => "[rounding mode]",
        Slot::Registers => "{ra, s0-sN}",
        Slot::Adjustment => "adjustment",
        Slot::SavedD | Slot::Saved1 | Slot::Saved2 | Slot::Saved3 => "s0 to s7",
    }
}

pub(super) fn kinds_in_words(kinds: &str) -> String {
    let words: Vec<_> = kinds
        .chars()
        .map(|kind| match kind {
            'r' => "a register",
            'f' => "a floating-point register",
            'm' => "an address",
            _ => "a value",
        })
        .collect();
    if words.is_empty() { "no operand".to_owned() } else { words.join(", ") }
}

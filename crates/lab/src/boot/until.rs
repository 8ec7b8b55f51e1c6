//! Where a boot is stopped: a time, a number of instructions, an address or symbol, or what the kernel prints.

use tollgate_riscv::{Elf, Machine};

/// Where to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Until {
    /// A number of instructions that have retired on all harts.
    Instructions(u64),
    /// So much simulated time has passed, in nanoseconds.
    Elapsed(u64),
    /// The instruction at this virtual address is the next one.
    Address(u64),
    /// The kernel has printed this: at the next look at the console, at most about a million instructions later.
    Text(String),
}

impl Until {
    /// Reads `1500ms`, `20000000` (instructions), `0x80200000`, a symbol of the kernel if that is an ELF file, or else text
    /// on the console; `None` if there is nothing to read.
    pub fn parse(text: &str, kernel: Option<&[u8]>) -> Option<Self> {
        if let Ok(count) = text.parse() {
            return Some(Self::Instructions(count));
        }
        for (unit, ns) in [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)] {
            let number = text.strip_suffix(unit).and_then(|number| number.parse::<u64>().ok());
            if let Some(ns) = number.and_then(|number| number.checked_mul(ns)) {
                return Some(Self::Elapsed(ns));
            }
        }
        if let Some(address) = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok())
        {
            return Some(Self::Address(address));
        }
        let symbol = kernel.and_then(|bytes| Elf::parse(bytes).ok()).and_then(|elf| elf.symbol(text));
        match symbol {
            Some(address) => Some(Self::Address(address)),
            None => Some(Self::Text(text.to_owned())).filter(|_| !text.is_empty()),
        }
    }

    /// The most steps that do not lead past it.
    pub(super) fn ahead(&self, machine: &Machine) -> u64 {
        match *self {
            Self::Instructions(count) => count.saturating_sub(machine.instret()),
            // An instruction is a nanosecond; a wait may be longer.
            Self::Elapsed(ns) => ns.saturating_sub(machine.elapsed()),
            Self::Address(_) | Self::Text(_) => u64::MAX,
        }
    }

    /// Whether the machine is there; not for text.
    pub(super) fn is_reached(&self, machine: &Machine) -> bool {
        match *self {
            Self::Instructions(_) | Self::Elapsed(_) => self.ahead(machine) == 0,
            Self::Address(address) => machine.pc() == address,
            Self::Text(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_looks_like_says_what_it_is() {
        let cases = [
            ("1500ms", Until::Elapsed(1_500_000_000)),
            ("2s", Until::Elapsed(2_000_000_000)),
            ("20000000", Until::Instructions(20_000_000)),
            ("0x80200000", Until::Address(0x8020_0000)),
            ("~ # ", Until::Text("~ # ".into())),
            ("-1", Until::Text("-1".into())),
            ("20000000000s", Until::Text("20000000000s".into())),
        ];
        for (text, expected) in cases {
            assert_eq!(Until::parse(text, Some(b"no ELF")), Some(expected));
        }
        assert_eq!(Until::parse("", None), None);
    }
}

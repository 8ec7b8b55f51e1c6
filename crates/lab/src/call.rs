//! The crossings: a system call by its number, an interrupt, a switch.

use crate::error::LabError;

/// One kind of crossing that the guests' program can repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// `ecall` from user mode with this number in a7.
    Call(u16),
    /// The hart's own software interrupt, raised by a store from user mode.
    SoftInterrupt,
    /// From one user task to the other by `sched_yield`.
    Yield,
    /// From one user task to the other by the timer.
    Timer,
}

/// The calls with a name, and what Linux numbers them on RISC-V.
static NAMED: &[(&str, u16)] = &[
    ("getpid", 172),
    ("getuid", 174),
    ("write", 64),
    ("clock_gettime", 113),
    ("gettimeofday", 169),
    ("unimplemented", 255),
    // Not among the usual ones: the number that the note measured.
    ("settimeofday", 170),
];

/// The calls that are measured by default: all that our kernel has, and one that it does not have.
pub const USUAL: &[Crossing] = &[
    Crossing::Call(172),
    Crossing::Call(174),
    Crossing::Call(64),
    Crossing::Call(113),
    Crossing::Call(169),
    Crossing::Call(255),
];

/// The kernels' table of calls ends here; see `guests/riscv/include/asm.h`.
const LAST: u16 = 4095;

impl Crossing {
    /// Reads a call's name or number.
    pub fn parse(text: &str) -> Result<Self, LabError> {
        if let Some(&(_, number)) = NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(Self::Call(number));
        }
        match text.parse() {
            // exit, exit_group and the kernels' own calls do not come back, or not alone.
            Ok(93 | 94 | 124 | 244 | 245) => Err(LabError::UnsuitableCall(text.into())),
            Ok(number) if number <= LAST => Ok(Self::Call(number)),
            _ => {
                let names: Vec<_> = NAMED.iter().map(|(name, _)| *name).collect();
                Err(LabError::UnknownCall { call: text.into(), known: names.join(", ") })
            }
        }
    }

    /// The name of the call with a number.
    pub fn call_name(number: u16) -> Option<&'static str> {
        NAMED.iter().find(|(_, n)| *n == number).map(|(name, _)| *name)
    }

    /// The number of a call.
    pub fn number(self) -> Option<u16> {
        match self {
            Self::Call(number) => Some(number),
            _ => None,
        }
    }

    /// The name in the probe's id of a record: no spaces, no number.
    pub fn slug(self) -> String {
        match self {
            Self::Call(number) => {
                Self::call_name(number).map_or_else(|| format!("call-{number}"), Into::into)
            }
            Self::SoftInterrupt => "interrupt".into(),
            Self::Yield => "yield".into(),
            Self::Timer => "timer".into(),
        }
    }

    /// Whether the crossing goes to another task and does not come back.
    pub fn is_switch(self) -> bool {
        matches!(self, Self::Yield | Self::Timer)
    }

    /// Its parameters for `guests/riscv/user/bill.c`.
    pub(crate) fn parameters(self) -> (u64, u64) {
        match self {
            Self::Call(number) => (0, u64::from(number)),
            Self::SoftInterrupt => (1, 0),
            Self::Yield => (2, 0),
            Self::Timer => (3, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_its_number_are_the_same_call() {
        assert_eq!(Crossing::parse("getpid").unwrap(), Crossing::parse("172").unwrap());
        let call = Crossing::parse("172").unwrap();
        assert_eq!((call.slug().as_str(), call.number()), ("getpid", Some(172)));
    }

    #[test]
    fn what_is_no_call_is_refused_with_the_names() {
        for text in ["getpidd", "-1", "4096", "", "172,173"] {
            let message = Crossing::parse(text).unwrap_err().to_string();
            assert!(message.contains("clock_gettime"), "{message}");
        }
        assert!(matches!(Crossing::parse("93"), Err(LabError::UnsuitableCall(_))));
    }
}

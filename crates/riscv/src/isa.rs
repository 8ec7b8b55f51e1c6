//! Which instructions a machine has: the ISA string, parsed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

mod profiles;
mod versions;

use profiles::{ABSENT_PROFILES, with_profile};
use versions::{skip_version, strip_version};

/// The width of the integer registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Xlen {
    /// 32-bit registers.
    Rv32,
    /// 64-bit registers.
    Rv64,
}

impl Xlen {
    /// A value cut to this width, as registers hold it: sign-extended to 64 bits.
    #[inline(always)]
    pub fn canonical(self, value: u64) -> u64 {
        if self == Self::Rv32 { value as i32 as u64 } else { value }
    }

    /// A value as outsiders see it: zero-extended.
    #[inline(always)]
    pub fn outside(self, value: u64) -> u64 {
        if self == Self::Rv32 { u64::from(value as u32) } else { value }
    }
}

impl fmt::Display for Xlen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if *self == Self::Rv32 { "RV32" } else { "RV64" })
    }
}

/// The extension of an instruction. `Priv` is the privileged architecture, which every machine here has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum Extension {
    /// Base integer instructions.
    I = 1 << 0,
    /// Multiply and divide.
    M = 1 << 1,
    /// Atomics.
    A = 1 << 2,
    /// Single-precision floating point.
    F = 1 << 3,
    /// Double-precision floating point.
    D = 1 << 4,
    /// 16-bit encodings.
    C = 1 << 5,
    /// Control and status register instructions.
    Zicsr = 1 << 6,
    /// Instruction-fetch fence.
    Zifencei = 1 << 7,
    /// M, S and U modes with their instructions.
    Priv = 1 << 8,
    /// Ours: the banked register file ([`crate::custom`]).
    XTollBank = 1 << 9,
    /// Ours: hardware stacking ([`crate::custom`]).
    XTollStack = 1 << 10,
    /// Bit manipulation for addresses.
    Zba = 1 << 11,
    /// Basic bit manipulation.
    Zbb = 1 << 12,
    /// Single bits.
    Zbs = 1 << 13,
    /// Cache blocks are cleaned, flushed and invalidated.
    Zicbom = 1 << 14,
    /// Cache blocks are zeroed.
    Zicboz = 1 << 15,
    /// Misaligned loads and stores of memory are done.
    Zicclsm = 1 << 16,
    /// A timer for S-mode: `stimecmp`.
    Sstc = 1 << 17,
    /// A page whose A or D bit must be set faults. This holds without any extension, too; with the name it also is on a
    /// machine that would set them.
    Svade = 1 << 18,
    /// The hardware sets the A and D bits of page table entries.
    Svadu = 1 << 19,
    /// Translations are invalidated without ordering each time.
    Svinval = 1 << 20,
    /// Page table entries name a memory type.
    Svpbmt = 1 << 21,
    /// A register, or zero where another one is zero, or is not.
    Zicond = 1 << 22,
    /// Carry-less multiplication.
    Zbc = 1 << 23,
    /// Bit manipulation for cryptography: registers are packed, bits reversed.
    Zbkb = 1 << 24,
    /// Bit manipulation for cryptography: nibbles and bytes are looked up in a register.
    Zbkx = 1 << 25,
    /// Half precision: loads, stores, moves and conversions.
    Zfhmin = 1 << 26,
    /// Half precision: arithmetic.
    Zfh = 1 << 27,
    /// Further floating point: constants, rounding to integers, comparisons that are quiet.
    Zfa = 1 << 28,
    /// Further 16-bit encodings.
    Zcb = 1 << 29,
    /// Operations that write zero until an extension redefines them.
    Zimop = 1 << 30,
    /// The same in 16 bits, which do nothing.
    Zcmop = 1 << 31,
    /// Waits for the end of a reservation.
    Zawrs = 1 << 32,
    /// Atomic compare and swap.
    Zacas = 1 << 33,
    /// Atomics of bytes and halfwords.
    Zabha = 1 << 34,
    /// Page table entries of 64 KiB.
    Svnapot = 1 << 35,
    /// Vectors, with single and double precision.
    V = 1 << 36,
    /// Vector registers have 256 bits, and not 128.
    Zvl256b = 1 << 37,
    /// Vector registers have 512 bits.
    Zvl512b = 1 << 38,
    /// Vector registers have 1,024 bits.
    Zvl1024b = 1 << 39,
    /// Vectors in half precision: conversions.
    Zvfhmin = 1 << 40,
    /// Vectors in half precision: arithmetic.
    Zvfh = 1 << 41,
    /// Bit manipulation of vectors.
    Zvbb = 1 << 42,
    /// 16-bit pushes and pops of several registers, in encodings of 16-bit loads and stores of double precision.
    Zcmp = 1 << 43,
    /// Shadow stacks.
    Zicfiss = 1 << 44,
    /// Landing pads.
    Zicfilp = 1 << 45,
    /// M-mode and S-mode say which state less privileged modes may access.
    Smstateen = 1 << 46,
    /// Counters of events raise an interrupt when they overflow, and can stop in each mode.
    Sscofpmf = 1 << 47,
    /// Pointers of M-mode are masked.
    Smmpm = 1 << 48,
    /// Pointers of S-mode are masked.
    Smnpm = 1 << 49,
    /// Pointers of U-mode are masked.
    Ssnpm = 1 << 50,
    /// Shadow stacks in 16 bits.
    ZicfissZcmop = 1 << 44 | 1 << 31,
    /// The core-local interrupt controller of CV32E40X, which the other interrupts are not there with. (Not one of all extensions.)
    Smclic = 1 << 62,
    /// Conversions between half and double precision: both are there.
    ZfhminD = 1 << 26 | 1 << 4,
    /// Zfa in double precision.
    ZfaD = 1 << 28 | 1 << 4,
    /// Zfa in half precision.
    ZfaZfh = 1 << 28 | 1 << 27,
    /// Zfa's constants in half precision, for which loads and stores of it are enough (Zfa, 1).
    ZfaZfhmin = 1 << 28 | 1 << 26,
    /// Compare and swap of bytes and halfwords.
    ZabhaZacas = 1 << 34 | 1 << 33,
}

/// A parsed ISA string: register width and extensions.
///
/// ```
/// use tollgate_riscv::{Extension, Isa, Xlen};
/// let isa: Isa = "rv64gc".parse().unwrap();
/// assert_eq!(isa.xlen(), Xlen::Rv64);
/// assert!(isa.has(Extension::D) && !isa.has(Extension::XTollBank));
/// let wrong = "rv32imq".parse::<Isa>().unwrap_err();
/// assert!(wrong.to_string().contains("'q'"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Isa {
    xlen: Xlen,
    extensions: u64,
}

/// Why an ISA string was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum IsaError {
    #[error("ISA string \"{0}\" must begin with rv32 or rv64, as in rv64gc")]
    Width(String),
    #[error("ISA string \"{isa}\" must continue with i or g after the width, not '{letter}'")]
    Base { isa: String, letter: char },
    #[error(
        "unknown letter '{letter}' in ISA string \"{isa}\": this machine has {}, b, and g for imafd",
        letters()
    )]
    Letter { isa: String, letter: char },
    #[error(
        "unknown extension \"{name}\" in ISA string \"{isa}\": after the letters come {}, each behind an underscore",
        names()
    )]
    Name { isa: String, name: String },
    #[error("ISA string \"{isa}\" has '{extension}' without '{needs}'")]
    Needs { isa: String, extension: &'static str, needs: &'static str },
    #[error("ISA string \"{isa}\" has '{extension}' with '{other}', {why}")]
    Excludes { isa: String, extension: &'static str, other: &'static str, why: &'static str },
    #[error("profile {profile} requires {requires}, which this machine does not have")]
    Profile { profile: &'static str, requires: &'static str },
}

/// The name of each extension in an ISA string, in the order of the string.
const NAMES: [(Extension, &str); 51] = [
    (Extension::I, "i"),
    (Extension::M, "m"),
    (Extension::A, "a"),
    (Extension::F, "f"),
    (Extension::D, "d"),
    (Extension::C, "c"),
    (Extension::V, "v"),
    (Extension::Zicsr, "_zicsr"),
    (Extension::Zifencei, "_zifencei"),
    (Extension::Zicbom, "_zicbom"),
    (Extension::Zicboz, "_zicboz"),
    (Extension::Zicclsm, "_zicclsm"),
    (Extension::Zicfilp, "_zicfilp"),
    (Extension::Zicfiss, "_zicfiss"),
    (Extension::Zicond, "_zicond"),
    (Extension::Zimop, "_zimop"),
    (Extension::Zabha, "_zabha"),
    (Extension::Zacas, "_zacas"),
    (Extension::Zawrs, "_zawrs"),
    (Extension::Zfa, "_zfa"),
    (Extension::Zfh, "_zfh"),
    (Extension::Zfhmin, "_zfhmin"),
    (Extension::Zcb, "_zcb"),
    (Extension::Zcmop, "_zcmop"),
    (Extension::Zcmp, "_zcmp"),
    (Extension::Zba, "_zba"),
    (Extension::Zbb, "_zbb"),
    (Extension::Zbc, "_zbc"),
    (Extension::Zbkb, "_zbkb"),
    (Extension::Zbkx, "_zbkx"),
    (Extension::Zbs, "_zbs"),
    (Extension::Zvbb, "_zvbb"),
    (Extension::Zvfh, "_zvfh"),
    (Extension::Zvfhmin, "_zvfhmin"),
    (Extension::Zvl256b, "_zvl256b"),
    (Extension::Zvl512b, "_zvl512b"),
    (Extension::Zvl1024b, "_zvl1024b"),
    (Extension::Smclic, "_smclic"),
    (Extension::Smmpm, "_smmpm"),
    (Extension::Smnpm, "_smnpm"),
    (Extension::Smstateen, "_smstateen"),
    (Extension::Sscofpmf, "_sscofpmf"),
    (Extension::Ssnpm, "_ssnpm"),
    (Extension::Sstc, "_sstc"),
    (Extension::Svade, "_svade"),
    (Extension::Svadu, "_svadu"),
    (Extension::Svinval, "_svinval"),
    (Extension::Svnapot, "_svnapot"),
    (Extension::Svpbmt, "_svpbmt"),
    (Extension::XTollBank, "_xtollbank"),
    (Extension::XTollStack, "_xtollstack"),
];

/// Names for what each machine here has anyway, or has with the extension that is named beside them.
const OTHER_NAMES: [(&str, u64); 38] = [
    // Counters are always there; those of events count where a core is timed.
    ("zicntr", 0),
    ("zihpm", 0),
    // Hints: a prefetch, a pause and a remark on locality do nothing, in encodings that every machine has.
    ("zicbop", 0),
    ("zihintpause", 0),
    ("zihintntl", 0),
    // Properties of memory: fetches, reservations and atomics of all kinds, a reservation is of one word, cache blocks have
    // 64 bytes, page tables can be anywhere.
    ("ziccif", 0),
    ("ziccrse", 0),
    ("ziccamoa", 0),
    ("za64rs", 0),
    ("za128rs", 0),
    ("zic64b", 0),
    ("ssccptr", 0),
    // Each instruction takes one cycle, unless a core is timed.
    ("zkt", 0),
    // `stvec` accepts any address, `stval` has all addresses and instructions, `scounteren` all its bits, `satp` accepts Bare.
    ("sstvecd", 0),
    ("sstvala", 0),
    ("sscounterenw", 0),
    ("svbare", 0),
    // UXL is 64.
    ("ssu64xl", 0),
    // What an environment offers: the supervisor's part of state enables, and masked pointers.
    ("ssstateen", Extension::Smstateen as u64),
    ("supm", Extension::Ssnpm as u64),
    ("sspm", Extension::Smnpm as u64),
    // Carry-less multiplication takes one cycle, too, and `zbkc` is two of its three instructions.
    ("zbkc", Extension::Zbc as u64),
    ("zmmul", Extension::M as u64),
    ("zaamo", Extension::A as u64),
    ("zalrsc", Extension::A as u64),
    ("zca", Extension::C as u64),
    ("zcd", Extension::C as u64),
    ("zcf", Extension::C as u64),
    // Parts of V and of Zvbb, which come whole.
    ("zve32x", VECTORS),
    ("zve32f", VECTORS),
    ("zve64x", VECTORS),
    ("zve64f", VECTORS),
    ("zve64d", VECTORS),
    ("zvl32b", 0),
    ("zvl64b", 0),
    ("zvl128b", 0),
    ("zvkb", Extension::Zvbb as u64 | VECTORS),
    ("zvkt", 0),
];

/// V with what it cannot be without.
const VECTORS: u64 = Extension::V as u64 | Extension::F as u64 | Extension::D as u64;

/// What an extension cannot be without.
const NEEDS: [(Extension, Extension); 18] = [
    (Extension::D, Extension::F),
    (Extension::Zfhmin, Extension::F),
    (Extension::Zfa, Extension::F),
    (Extension::Zcb, Extension::C),
    (Extension::Zcmop, Extension::C),
    (Extension::Zcmop, Extension::Zimop),
    (Extension::Zcmp, Extension::C),
    (Extension::Zicfiss, Extension::A),
    (Extension::Zicfiss, Extension::Zimop),
    (Extension::Zacas, Extension::A),
    (Extension::Zabha, Extension::A),
    (Extension::V, Extension::D),
    (Extension::Zvl256b, Extension::V),
    (Extension::Zvl512b, Extension::V),
    (Extension::Zvl1024b, Extension::V),
    (Extension::Zvfhmin, Extension::V),
    (Extension::Zvfh, Extension::Zfhmin),
    (Extension::Zvbb, Extension::V),
];

/// Extensions of which a machine can have one only.
const EXCLUDES: [(Extension, Extension, &str); 2] = [
    (Extension::Zcmp, Extension::D, "whose 16-bit loads and stores have its encodings"),
    (Extension::XTollStack, Extension::XTollBank, "and a trap either switches banks or stacks"),
];

/// The letters of an ISA string, for messages.
fn letters() -> String {
    NAMES.iter().map(|(_, name)| *name).filter(|name| name.len() == 1).collect::<Vec<_>>().join(" ")
}

/// All names, for messages.
fn names() -> String {
    let with_instructions = NAMES.iter().filter_map(|(_, name)| name.strip_prefix('_'));
    with_instructions.chain(OTHER_NAMES.map(|(name, _)| name)).collect::<Vec<_>>().join(", ")
}

impl Extension {
    /// Its name in an ISA string.
    pub(crate) fn name(self) -> &'static str {
        let row = NAMES.iter().find(|(extension, _)| *extension == self);
        row.map_or("i", |(_, name)| name.trim_start_matches('_'))
    }

    /// The name of what a machine would have to have for it; `None` if it has all.
    pub(crate) fn missing_from(self, isa: &Isa) -> Option<&'static str> {
        let is_part = |part: Extension| self as u64 & part as u64 == part as u64;
        NAMES.iter().find(|(part, _)| is_part(*part) && !isa.has(*part)).map(|(part, _)| part.name())
    }
}

impl Isa {
    /// The register width.
    pub fn xlen(&self) -> Xlen {
        self.xlen
    }

    /// Whether the registers are 64 bits wide.
    pub fn is_rv64(&self) -> bool {
        self.xlen == Xlen::Rv64
    }

    /// Whether the machine has this extension.
    pub fn has(&self, extension: Extension) -> bool {
        self.extensions & extension as u64 == extension as u64
    }

    /// The same ISA with one more extension.
    #[must_use]
    pub fn with(mut self, extension: Extension) -> Self {
        self.extensions |= extension as u64;
        self
    }

    /// All extensions, standard and our own, that one width supports, for the disassembler and tests; but for Zcmp, whose encodings
    /// are those of `c.fsdsp`.
    ///
    /// ```
    /// # use tollgate_riscv::{Extension, Isa, Xlen};
    /// assert!(Isa::everything(Xlen::Rv32).has(Extension::XTollStack));
    /// ```
    pub fn everything(xlen: Xlen) -> Self {
        let pointer_masking = Extension::Smmpm as u64 | Extension::Smnpm as u64 | Extension::Ssnpm as u64;
        let others = if xlen == Xlen::Rv32 { pointer_masking } else { 0 } | Extension::Zcmp as u64;
        Isa { xlen, extensions: ((1 << 51) - 1) & !others }
    }

    /// VLEN: the bits of a vector register, if there are any.
    ///
    /// ```
    /// # use tollgate_riscv::Isa;
    /// let vlen = |name: &str| name.parse::<Isa>().unwrap().vlen();
    /// assert_eq!([vlen("rv64gcv"), vlen("rv64gcv_zvl512b"), vlen("rv64gc")], [Some(128), Some(512), None]);
    /// ```
    pub fn vlen(&self) -> Option<u64> {
        let longer = [(Extension::Zvl1024b, 1024), (Extension::Zvl512b, 512), (Extension::Zvl256b, 256)];
        let named = longer.into_iter().find(|(extension, _)| self.has(*extension));
        self.has(Extension::V).then_some(named.map_or(128, |(_, bits)| bits))
    }

    /// The `misa` register (privileged specification, 3.1.1).
    pub(crate) fn misa(&self) -> u64 {
        let mut v = match self.xlen {
            Xlen::Rv32 => 1 << 30,
            Xlen::Rv64 => 2 << 62,
        };
        let mut bit = |c: u8| v |= 1u64 << (c - b'a');
        for (extension, name) in NAMES {
            if let [letter] = name.as_bytes()
                && self.has(extension)
            {
                bit(*letter);
            }
        }
        bit(b's');
        bit(b'u');
        if [Extension::Zba, Extension::Zbb, Extension::Zbs].into_iter().all(|it| self.has(it)) {
            bit(b'b');
        }
        if self.has(Extension::XTollBank) || self.has(Extension::XTollStack) {
            bit(b'x');
        }
        v
    }
}

impl Default for Isa {
    /// `rv64gc`.
    fn default() -> Self {
        Isa { xlen: Xlen::Rv64, extensions: 0x1ff }
    }
}

impl FromStr for Isa {
    type Err = IsaError;

    fn from_str(s: &str) -> Result<Self, IsaError> {
        let lower = s.to_ascii_lowercase();
        if let Some((profile, requires)) =
            ABSENT_PROFILES.iter().find(|(profile, _)| lower.starts_with(profile))
        {
            return Err(IsaError::Profile { profile, requires });
        }
        let lower = with_profile(lower);
        let (xlen, rest) = match lower.split_at_checked(4) {
            Some(("rv32", rest)) => (Xlen::Rv32, rest),
            Some(("rv64", rest)) => (Xlen::Rv64, rest),
            _ => return Err(IsaError::Width(s.to_string())),
        };
        let mut parts = rest.split('_');
        let letters = parts.next().unwrap_or("");
        // Control and status registers and fence.i are always there: no trap could be handled without them.
        let mut extensions = Extension::I as u64
            | Extension::Priv as u64
            | Extension::Zicsr as u64
            | Extension::Zifencei as u64;
        let mut named = Vec::new();
        let mut base = true;
        let mut letters_of = |part: &str, named: &mut Vec<String>| -> Result<(), IsaError> {
            let mut rest = part;
            while let Some(letter) = rest.chars().next() {
                if !base && (matches!(letter, 'z' | 'x') || letter == 's' && rest.len() > 1) {
                    named.push(rest.to_string());
                    return Ok(());
                }
                rest = skip_version(&rest[letter.len_utf8()..]);
                if base && !matches!(letter, 'i' | 'g') {
                    return Err(IsaError::Base { isa: s.to_string(), letter });
                }
                base = false;
                extensions |= match letter {
                    'i' | 's' | 'u' => 0,
                    'm' => Extension::M as u64,
                    'a' => Extension::A as u64,
                    'f' => Extension::F as u64,
                    'd' => Extension::D as u64,
                    'c' => Extension::C as u64,
                    'v' => Extension::V as u64,
                    'b' => Extension::Zba as u64 | Extension::Zbb as u64 | Extension::Zbs as u64,
                    'g' => {
                        Extension::M as u64 | Extension::A as u64 | Extension::F as u64 | Extension::D as u64
                    }
                    letter => return Err(IsaError::Letter { isa: s.to_string(), letter }),
                };
            }
            Ok(())
        };
        if letters.is_empty() {
            return Err(IsaError::Base { isa: s.to_string(), letter: ' ' });
        }
        letters_of(letters, &mut named)?;
        for part in parts {
            letters_of(part, &mut named)?;
        }
        for name in named {
            let bare = strip_version(&name);
            let named = NAMES.iter().filter_map(|(it, name)| Some((name.strip_prefix('_')?, *it as u64)));
            match named.chain(OTHER_NAMES).find(|(name, _)| *name == bare) {
                Some((_, bits)) => extensions |= bits,
                None => return Err(IsaError::Name { isa: s.to_string(), name: bare.to_string() }),
            }
        }
        for (all, part) in [(Extension::Zfh, Extension::Zfhmin), (Extension::Zvfh, Extension::Zvfhmin)] {
            if extensions & all as u64 != 0 {
                extensions |= part as u64;
            }
        }
        let isa = Isa { xlen, extensions };
        for (extension, needs) in NEEDS {
            if isa.has(extension) && !isa.has(needs) {
                let (extension, needs) = (extension.name(), needs.name());
                return Err(IsaError::Needs { isa: s.to_string(), extension, needs });
            }
        }
        for (extension, other, why) in EXCLUDES {
            if isa.has(extension) && isa.has(other) {
                let (extension, other) = (extension.name(), other.name());
                return Err(IsaError::Excludes { isa: s.to_string(), extension, other, why });
            }
        }
        for masking in [Extension::Smmpm, Extension::Smnpm, Extension::Ssnpm] {
            if isa.has(masking) && !isa.is_rv64() {
                return Err(IsaError::Needs { isa: s.to_string(), extension: masking.name(), needs: "rv64" });
            }
        }
        Ok(isa)
    }
}

impl From<Isa> for String {
    fn from(isa: Isa) -> Self {
        isa.to_string()
    }
}

impl TryFrom<String> for Isa {
    type Error = IsaError;

    fn try_from(text: String) -> Result<Self, IsaError> {
        text.parse()
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_rv64() { "rv64" } else { "rv32" })?;
        NAMES.iter().filter(|(extension, _)| self.has(*extension)).try_for_each(|(_, name)| f.write_str(name))
    }
}

impl fmt::Debug for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Isa({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(s: &str) -> Result<Isa, IsaError> {
        s.parse()
    }

    #[test]
    fn g_means_imafd() {
        assert_eq!(parse("rv64gc"), parse("RV64IMAFDC_zicsr_zifencei"));
        assert_eq!(parse("rv64gc"), Ok(Isa::default()));
    }

    #[test]
    fn compiler_attributes_with_versions_are_read() {
        assert_eq!(parse("rv32i2p0_m2p0_a2p0_c2p0"), parse("rv32imac"));
        assert_eq!(parse("rv64i2p1_m2p0_a2p1_f2p2_d2p2_c2p0_zicsr2p0_zifencei2p0"), parse("rv64gc"));
    }

    #[test]
    fn b_means_zba_zbb_and_zbs() {
        let isa = parse("rv64gcb").unwrap();
        assert_eq!(Ok(isa), parse("rv64gc_zba_zbb_zbs"));
        // The B bit of misa says that all three are there (bit-manipulation specification, 1.1).
        assert_eq!((isa.misa() >> 1 & 1, parse("rv64gc_zba_zbb").unwrap().misa() >> 1 & 1), (1, 0));
    }

    #[test]
    fn what_is_displayed_parses_to_the_same() {
        let virt = "rv64gc_zicbom_zicboz_zicclsm_zba_zbb_zbs_sstc_svade_svadu_svinval_svpbmt";
        for s in ["rv32i", "rv64gc", "rv32imac", "rv64imac_xtollbank", "rv32imafc_xtollstack", virt] {
            let isa = parse(s).unwrap();
            assert_eq!(parse(&isa.to_string()), Ok(isa));
        }
    }

    #[test]
    fn names_that_need_nothing_are_accepted_and_listed() {
        // The extensions that the profile RVA22S64 requires (RISC-V Profiles, 4.3) and this machine has, as a compiler
        // might write them.
        let profile = "rv64gcb_zicsr_zicntr_zihpm_ziccif_ziccrse_ziccamoa_zicclsm_za64rs_zihintpause_zic64b_zicbom_zicbop\
                       _zicboz_zkt_svbare_svade_ssccptr_sstvecd_sstvala_sscounterenw_svpbmt_svinval_zihintntl1p0";
        let plain = parse("rv64gcb_zicclsm_zicbom_zicboz_svade_svpbmt_svinval").unwrap();
        assert_eq!(parse(profile), Ok(plain));
        let listed = parse("rv64gc_zknh").unwrap_err().to_string();
        for (name, _) in OTHER_NAMES {
            assert!(listed.contains(name), "{name}");
            let masks_pointers = matches!(name, "supm" | "sspm");
            let on_rv32 = parse(&format!("rv32i_{name}1p0")).is_ok();
            assert!(parse(&format!("rv64i_{name}")).is_ok() && on_rv32 != masks_pointers, "{name}");
        }
    }

    #[test]
    fn a_profile_is_what_it_requires() {
        let rva22 = parse("rva22u64").unwrap();
        assert_eq!(Ok(rva22), parse("rv64gc_zba_zbb_zbs_zicclsm_zicbom_zicboz_zfhmin"));
        assert!(parse("RVA22S64_zicond").unwrap().has(Extension::Zicond));
        let rva23 = parse("rva23u64").unwrap();
        assert_eq!(
            (rva23.vlen(), rva23.has(Extension::Zvbb), rva23.has(Extension::Zcmop)),
            (Some(128), true, true)
        );
        assert!(rva23.has(Extension::Ssnpm));
        let refused = parse("rva23s64").unwrap_err().to_string();
        assert_eq!(
            refused,
            "profile rva23s64 requires the hypervisor extension 'h', which this machine does not have"
        );
        let rvb23 = parse("rvb23s64").unwrap();
        assert_eq!(
            (rvb23.vlen(), rvb23.has(Extension::Sscofpmf), rvb23.has(Extension::Zfhmin)),
            (None, true, false)
        );
        assert!(matches!(parse("rva24u64"), Err(IsaError::Width(_))));
    }

    #[test]
    fn errors_name_the_letter() {
        assert!(matches!(parse("rv64gch"), Err(IsaError::Letter { letter: 'h', .. })));
        assert!(matches!(parse("rv64imacv"), Err(IsaError::Needs { extension: "v", needs: "d", .. })));
        assert!(matches!(parse("rv64gcv_zvl192b"), Err(IsaError::Name { name, .. }) if name == "zvl192b"));
        assert!(matches!(parse("rv64m"), Err(IsaError::Base { letter: 'm', .. })));
        assert!(matches!(parse("rv128i"), Err(IsaError::Width(_))));
        assert!(matches!(parse(""), Err(IsaError::Width(_))));
        assert!(matches!(parse("rv64"), Err(IsaError::Base { .. })));
        assert!(matches!(parse("rv64imd"), Err(IsaError::Needs { extension: "d", .. })));
        assert!(matches!(parse("rv64gc_zknh"), Err(IsaError::Name { name, .. }) if name == "zknh"));
        assert!(matches!(parse("rv64gc_svvptc"), Err(IsaError::Name { name, .. }) if name == "svvptc"));
        assert!(
            parse("rv64gc_zknh").unwrap_err().to_string().contains("zba, zbb, zbc, zbkb, zbkx, zbs, zvbb")
        );
        for (isa, extension, needs) in
            [("rv64imac_zfh", "zfhmin", "f"), ("rv64g_zcb", "zcb", "c"), ("rv64imfc_zacas", "zacas", "a")]
        {
            let error = IsaError::Needs { isa: isa.to_owned(), extension, needs };
            assert_eq!(parse(isa), Err(error));
        }
        assert!(parse("rv64gcq").unwrap_err().to_string().contains("has i m a f d c v, b, and g"));
        assert!(matches!(parse("rv64gc\u{e9}"), Err(IsaError::Letter { letter: '\u{e9}', .. })));
        assert!(matches!(parse("rv64gc_xtollbank_xtollstack"), Err(IsaError::Excludes { .. })));
        // Zcmp, 28.13: its encodings are those of Zcd.
        assert!(matches!(
            parse("rv64gc_zcmp"),
            Err(IsaError::Excludes { extension: "zcmp", other: "d", .. })
        ));
        assert!(parse("rv64imafc_zcmp").is_ok() && parse("rv32imac_zcmp").is_ok());
        assert!(matches!(parse("rv64gc_zicfiss"), Err(IsaError::Needs { needs: "zimop", .. })));
        assert!(matches!(parse("rv32gc_ssnpm"), Err(IsaError::Needs { needs: "rv64", .. })));
    }
}

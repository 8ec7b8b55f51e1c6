//! Which tier of the machine executes: the interpreter alone, or translations of hot code as well.

use tollgate_riscv::Machine;

/// The values of `--tier`. A guest executes the same instructions on each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tier {
    /// The interpreter alone.
    Interpret,
    /// Hot code is translated; an error where that is not possible.
    Translate,
    /// Hot code is translated where that is possible.
    #[default]
    Auto,
}

/// Why code cannot be translated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum TierError {
    #[error("{0}; use --tier auto or interpret")]
    Host(String),
    #[error("this tollgate was built without the feature 'translate'; use --tier auto or interpret")]
    NotBuilt,
    #[error(
        "a trace and --check-fence need the interpreter; remove --trace or --check-fence, or use --tier auto"
    )]
    Watched,
}

impl Tier {
    /// The names on a command line, with what each means.
    pub const NAMES: [(&'static str, Self, &'static str); 3] = [
        ("interpret", Self::Interpret, "The interpreter alone"),
        ("translate", Self::Translate, "Hot code as host code; an error where that is not possible"),
        ("auto", Self::Auto, "Hot code as host code where that is possible"),
    ];

    /// Prepares a machine for this tier.
    ///
    /// # Errors
    /// [`Translate`](Self::Translate) where code cannot be translated.
    pub fn prepare(self, machine: &mut Machine) -> Result<(), TierError> {
        if self == Self::Interpret {
            return Ok(());
        }
        for hart in 0..machine.config().harts.max(1) {
            match translator() {
                Ok(translator) => machine.set_translator(hart, translator, tollgate_riscv::tier::SAMPLE),
                Err(error) if self == Self::Translate => return Err(error),
                Err(_) => {}
            }
        }
        Ok(())
    }
}

/// The translator for a hart. It generates nothing before code is hot.
fn translator() -> Result<Box<dyn tollgate_riscv::tier::Translator>, TierError> {
    #[cfg(feature = "translate")]
    return match tollgate_translate::Translations::in_background() {
        Ok(translations) => Ok(Box::new(translations)),
        Err(error) => Err(TierError::Host(error.to_string())),
    };
    #[cfg(not(feature = "translate"))]
    Err(TierError::NotBuilt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_riscv::Config;

    fn machine(isa: &str, harts: usize) -> Machine {
        let machine = tollgate_riscv::MachineKind::Virt;
        Machine::new(Config {
            isa: isa.parse().unwrap(),
            harts,
            machine,
            ram_bytes: 1 << 20,
            ..Config::default()
        })
        .unwrap()
    }

    #[test]
    fn every_machine_can_do_without() {
        for harts in [1, 2] {
            assert!(Tier::Auto.prepare(&mut machine("rv64gc", harts)).is_ok());
            assert!(Tier::Interpret.prepare(&mut machine("rv64gc", harts)).is_ok());
        }
    }

    #[test]
    #[cfg_attr(not(feature = "translate"), ignore = "built without the translator")]
    fn all_harts_are_translated() {
        for (isa, harts) in [("rv32gc", 1), ("rv64gc", 1), ("rv64gc", 2)] {
            assert!(Tier::Translate.prepare(&mut machine(isa, harts)).is_ok(), "{isa}, {harts}");
        }
    }

    #[test]
    #[cfg(not(feature = "translate"))]
    fn without_the_translator_the_error_names_the_feature() {
        let error = Tier::Translate.prepare(&mut machine("rv64gc", 1)).unwrap_err().to_string();
        assert!(error.contains("the feature 'translate'"), "{error}");
    }
}

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
    #[error("code is not translated on {0} harts, only on one; use --tier auto or interpret")]
    Harts(usize),
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
        match (self, translator(machine)) {
            (Self::Interpret, _) => {}
            (_, Ok(translator)) => machine.set_translator(translator, tollgate_riscv::tier::SAMPLE),
            (Self::Translate, Err(error)) => return Err(error),
            (Self::Auto, Err(_)) => {}
        }
        Ok(())
    }
}

/// The translator for a machine. It generates nothing before code is hot.
fn translator(machine: &Machine) -> Result<Box<dyn tollgate_riscv::tier::Translator>, TierError> {
    let config = machine.config();
    if config.harts > 1 {
        return Err(TierError::Harts(config.harts));
    }
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
    fn only_translate_insists() {
        let mut machine = machine("rv64gc", 2);
        assert!(Tier::Auto.prepare(&mut machine).is_ok());
        assert!(Tier::Interpret.prepare(&mut machine).is_ok());
        let error = Tier::Translate.prepare(&mut machine).unwrap_err().to_string();
        assert!(error.contains("on 2 harts") && error.ends_with("use --tier auto or interpret"), "{error}");
    }

    #[test]
    #[cfg_attr(not(feature = "translate"), ignore = "built without the translator")]
    fn one_hart_is_translated() {
        for isa in ["rv32gc", "rv64gc"] {
            assert!(Tier::Translate.prepare(&mut machine(isa, 1)).is_ok(), "{isa}");
        }
    }

    #[test]
    #[cfg(not(feature = "translate"))]
    fn without_the_translator_the_error_names_the_feature() {
        let error = Tier::Translate.prepare(&mut machine("rv64gc", 1)).unwrap_err().to_string();
        assert!(error.contains("the feature 'translate'"), "{error}");
    }
}

//! Skips: their one-line form, and the file that collects them.

use std::fmt;
use std::io::Write;

/// The environment variable that names the file to which each skip is appended.
pub const SKIPS: &str = "TOLLGATE_SKIPS";

/// A test, or one case of it, that did not run here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skip {
    /// The path of the test: `crate::module::test`.
    pub test: String,
    /// The case, if the test's other cases ran.
    pub case: Option<String>,
    /// Why, and what would enable it.
    pub reason: String,
}

impl fmt::Display for Skip {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "skipped: {}", self.test)?;
        if let Some(case) = &self.case {
            write!(out, " [{case}]")?;
        }
        write!(out, ": {}", self.reason)
    }
}

impl Skip {
    /// Reads the line that [`Skip`] prints; `None` for any other line.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let rest = line.strip_prefix("skipped: ")?;
        // A case may contain a colon, so its closing bracket is searched for first.
        let (test, case, reason) = match rest.split_once(" [") {
            Some((test, rest)) if !test.contains(": ") => {
                let (case, reason) = rest.split_once("]: ")?;
                (test, Some(case.to_owned()), reason)
            }
            _ => {
                let (test, reason) = rest.split_once(": ")?;
                (test, None, reason)
            }
        };
        Some(Self { test: test.to_owned(), case, reason: reason.to_owned() })
    }
}

/// For [`crate::skip!`] and [`crate::skip_case!`]: prints the line past libtest's capture, and appends it to the file that
/// [`SKIPS`] names.
pub fn skipped(here: &str, case: Option<&str>, reason: &str) {
    let line = format!("{}\n", describe(here, case, reason));
    // A closed standard error or a list that cannot be written must not fail the test.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(list) = std::env::var_os(SKIPS) {
        let opened = std::fs::OpenOptions::new().create(true).append(true).open(list);
        let _ = opened.and_then(|mut list| list.write_all(line.as_bytes()));
    }
}

fn describe(here: &str, case: Option<&str>, reason: &str) -> Skip {
    let test = here.trim_end_matches("::here").trim_end_matches("::{{closure}}");
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    Skip { test: test.to_owned(), case: case.map(one_line), reason: one_line(reason) }
}

#[cfg(test)]
mod tests {
    use super::{Skip, describe};

    #[test]
    fn the_line_is_read_back() {
        for (case, reason) in [
            (None, "qemu-riscv64 is missing: apt-get install qemu-user"),
            (Some("a tmpfs: 64 KiB"), "not root [uid 1000]: run as root"),
            (None, "an [odd] reason"),
        ] {
            let skip = describe("room::tests::name::here", case, reason);
            assert_eq!(skip.test, "room::tests::name");
            assert_eq!(Skip::parse(&skip.to_string()), Some(skip));
        }
        assert_eq!(Skip::parse("test skipped: no"), None);
        assert_eq!(Skip::parse("skipped: nothing"), None);
    }

    #[test]
    fn a_skip_is_one_line_with_the_name_of_its_test() {
        fn here() {}
        let name = std::any::type_name_of_val(&here);
        let skip = describe(name, None, "two\n lines");
        assert_eq!(skip.to_string().lines().count(), 1);
        assert!(skip.test.ends_with("::a_skip_is_one_line_with_the_name_of_its_test"), "{}", skip.test);

        let in_closure = || {
            fn here() {}
            std::any::type_name_of_val(&here)
        };
        assert_eq!(describe(in_closure(), None, "x").test, skip.test);
    }
}

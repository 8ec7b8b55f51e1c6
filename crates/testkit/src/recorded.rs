//! Files and tables in pages that tests compare with what the program gives, and that `cargo xtask bless` writes.

use std::fs;
use std::path::{Path, PathBuf};

/// The environment variable that `cargo xtask bless` sets: recorded files are written, not compared.
pub const BLESS: &str = "TOLLGATE_BLESS";

/// Something recorded: a whole file, or the lines of a page between the two marks
/// `<!-- cargo xtask bless NAME: begin -->` and `<!-- cargo xtask bless NAME: end -->`.
pub struct Recorded {
    /// What `cargo xtask bless` calls it.
    name: &'static str,
    file: String,
    in_page: bool,
}

impl Recorded {
    /// A whole file, by its path from the root of the repository.
    #[must_use]
    pub fn file(name: &'static str, file: &str) -> Self {
        Self { name, file: file.to_owned(), in_page: false }
    }

    /// The lines of a page between the marks, by the page's path from the root of the repository.
    #[must_use]
    pub fn in_page(name: &'static str, page: &str) -> Self {
        Self { name, file: page.to_owned(), in_page: true }
    }

    /// Whether the recorded text is to be written: `cargo xtask bless` runs this program.
    #[must_use]
    pub fn is_blessing() -> bool {
        std::env::var_os(BLESS).is_some_and(|value| value == "1")
    }

    /// The recorded text.
    ///
    /// # Errors
    /// When the file cannot be read or the marks are missing.
    pub fn text(&self) -> Result<String, String> {
        let page = self.read()?;
        let [start, end] = self.ends(&page)?;
        Ok(page[start..end].to_owned())
    }

    /// Compares the recorded text with what it must be, or writes it when `cargo xtask bless` runs this program.
    ///
    /// # Errors
    /// When it differs: the sentence with the command that writes it, and the first line that differs.
    pub fn check(&self, expected: &str) -> Result<(), String> {
        if Self::is_blessing() {
            return self.write(expected);
        }
        let text = self.text()?;
        if text == expected {
            return Ok(());
        }
        let mut lines = text.lines().zip(expected.lines()).filter(|(is, must)| is != must);
        let (is, must) = lines.next().unwrap_or(("another number of lines", ""));
        let Self { name, file, .. } = self;
        Err(format!("{} differs: run `cargo xtask bless {name}`\n  is:   {is}\n  must: {must}", file))
    }

    /// As [`Recorded::check`], for tests.
    ///
    /// # Panics
    /// With the error.
    #[track_caller]
    pub fn assert(&self, expected: &str) {
        if let Err(error) = self.check(expected) {
            panic!("{error}");
        }
    }

    /// Writes the recorded text.
    ///
    /// # Errors
    /// When the file cannot be written or the marks are missing.
    pub fn write(&self, text: &str) -> Result<(), String> {
        let whole = if self.in_page {
            let page = self.read()?;
            let [start, end] = self.ends(&page)?;
            format!("{}{text}{}", &page[..start], &page[end..])
        } else {
            text.to_owned()
        };
        fs::write(self.path(), whole).map_err(|error| format!("cannot write {}: {error}", self.file))
    }

    fn path(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(&self.file)
    }

    fn read(&self) -> Result<String, String> {
        fs::read_to_string(self.path()).map_err(|error| format!("cannot read {}: {error}", self.file))
    }

    /// Where the text starts and ends.
    fn ends(&self, page: &str) -> Result<[usize; 2], String> {
        if !self.in_page {
            return Ok([0, page.len()]);
        }
        let find = |mark: &str, from: usize| {
            let mark = format!("<!-- cargo xtask bless {}: {mark} -->", self.name);
            let at = page[from..].find(&mark).map(|at| [from + at, from + at + mark.len()]);
            at.ok_or_else(|| format!("{} has no line `{mark}`", self.file))
        };
        let [_, start] = find("begin", 0)?;
        let start = start + usize::from(page[start..].starts_with('\n'));
        let [end, _] = find("end", start)?;
        Ok([start, end])
    }
}

#[cfg(test)]
mod tests {
    use super::Recorded;
    use std::fs;

    #[test]
    fn the_text_between_the_marks_is_compared_and_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("page.md");
        let recorded = |in_page| Recorded { name: "rows", file: file.to_string_lossy().into(), in_page };
        let page = |rows: &str| {
            format!(
                "# Title\n\n<!-- cargo xtask bless rows: begin -->\n{rows}<!-- cargo xtask bless rows: end -->\nend\n"
            )
        };
        fs::write(&file, page("one\ntwo\n")).expect("written");
        recorded(true).check("one\ntwo\n").expect("equal");
        let error = recorded(true).check("one\n2\n").expect_err("the second line differs");
        assert!(
            error.contains("cargo xtask bless rows") && error.contains("two") && error.contains('2'),
            "{error}"
        );
        recorded(true).write("new\n").expect("written");
        assert_eq!(fs::read_to_string(&file).expect("read"), page("new\n"));
        recorded(true).check("new\n").expect("equal");
        recorded(false).write("whole\n").expect("written");
        recorded(false).check("whole\n").expect("equal");
        assert!(recorded(true).text().expect_err("no marks").contains("has no line"));
    }
}

//! Where a program's instructions are in its sources.

use std::collections::BTreeMap;

use tollgate_riscv::asm::Image;

/// A line of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The file.
    pub file: &'a str,
    /// The line, from 1.
    pub line: u32,
    /// The line itself, without the spaces around it; empty if the file's text is not there.
    pub text: &'a str,
}

/// The lines of a program; none for a program that was linked elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    image: Option<Box<Image>>,
    texts: BTreeMap<String, String>,
}

impl Lines {
    pub(super) fn new(image: Image, texts: BTreeMap<String, String>) -> Self {
        Self { image: Some(Box::new(image)), texts }
    }

    /// The line of the instruction at an address.
    pub fn at(&self, address: u64) -> Option<Place<'_>> {
        let (file, line) = self.image.as_ref()?.line(address)?;
        let text = self.texts.get(file).and_then(|text| text.lines().nth(line as usize - 1));
        Some(Place { file, line, text: text.unwrap_or_default().trim() })
    }
}

//! A source and the harness around it as one program, and which addresses belong to whom.

use std::collections::BTreeSet;
use std::ops::Range;

use strum::VariantArray;
use tollgate_cores::Cause;
use tollgate_riscv::asm::{AsmError, Image, Options, Sources, assemble};
use tollgate_riscv::{Elf, Isa};

use super::document::Document;
use super::error::ExerciseError;
use super::verdict::SourceFault;
use crate::own::phases;
use crate::phase::Phase;
use crate::symbols::Marks;

/// The names of the units; the source's shows in its errors.
pub(super) const SOURCE: &str = "solution.s";
const HARNESS: &str = "harness.s";
const CONSTANTS: &str = "constants.s";
/// The sections in which a source's code and data may be.
const SECTIONS: [&str; 6] = [".text", ".rodata", ".data", ".sdata", ".sbss", ".bss"];
/// Where the label is at which a run ends.
const DONE: &str = "done";

/// Why no program was built: the source's errors, or a mistake of the exercise.
pub(super) enum Failure {
    Source(Vec<SourceFault>),
    Exercise(ExerciseError),
}

impl From<ExerciseError> for Failure {
    fn from(error: ExerciseError) -> Self {
        Self::Exercise(error)
    }
}

/// A program that was built.
pub(super) struct Built {
    pub(super) image: Image,
    /// The source's code and data, by section.
    own: Vec<Range<u64>>,
    /// What the source may write: its data, and memory of the harness that is for it.
    writable: Vec<Range<u64>>,
    /// Labels of the harness that the source may jump to.
    pub(super) services: BTreeSet<u64>,
    pub(super) done: u64,
    pub(super) phases: Marks<Phase>,
}

impl Built {
    /// Assembles and links a source with a harness, in which the parameters are filled in.
    pub(super) fn new(document: &Document, harness: &str, source: &str, isa: Isa) -> Result<Self, Failure> {
        let edge = |which: &str| {
            let label = |section: &&str| format!(".section {section}\n{}:\n", edge_label(section, which));
            SECTIONS.iter().map(label).collect::<String>()
        };
        let sources = Sources::default()
            .file("prelude.s", include_str!("prelude.s"))
            .unit(CONSTANTS, &constants())
            .unit(HARNESS, harness)
            .unit("begin.s", &edge("begin"))
            .unit(SOURCE, source)
            .unit("end.s", &edge("end"));
        let options = Options { isa, ..Options::default() };
        let image = assemble(&sources, &options).map_err(|errors| refused(document, errors))?;
        let elf = &image.program;
        let missing = |name: &str| ExerciseError::File(format!("the harness has no label {name}"));
        let own: Vec<_> = SECTIONS
            .iter()
            .filter_map(|it| Some(elf.symbol(&edge_label(it, "begin"))?..elf.symbol(&edge_label(it, "end"))?))
            .filter(|range| !range.is_empty())
            .collect();
        let is_own = |address: u64| own.iter().any(|range| range.contains(&address));
        let of_harness = |name: &str| {
            let found = elf.symbols.iter().find(|it| it.name == name && !is_own(it.address));
            found.map(|symbol| symbol.address).ok_or_else(|| missing(name))
        };
        let entry = elf.symbols.iter().find(|it| it.name == document.entry && is_own(it.address));
        let Some(entry) = entry.map(|symbol| symbol.address) else {
            let message = format!("there is no label `{0}`: begin your code with `{0}:`", document.entry);
            return Err(Failure::Source(vec![SourceFault {
                line: 1,
                column: 1,
                message,
                text: String::new(),
            }]));
        };
        let mut writable = Vec::new();
        for name in &document.writable {
            writable.push(of_harness(name)?..of_harness(&format!("{name}_end"))?);
        }
        writable.extend(own.iter().filter(|range| !holds_code(&image, range)).cloned());
        let mut services = BTreeSet::new();
        for name in exported(harness) {
            services.insert(of_harness(name)?);
        }
        let done = of_harness(DONE)?;
        let phases = phases_of(elf, &own, entry).map_err(|why| {
            Failure::Source(vec![SourceFault { line: 1, column: 1, message: why, text: String::new() }])
        })?;
        Ok(Self { own, writable, services, done, phases, image })
    }

    /// Whether an address is of the source.
    pub(super) fn is_own(&self, address: u64) -> bool {
        self.own.iter().any(|range| range.contains(&address))
    }

    /// Whether the source may write there.
    pub(super) fn may_write(&self, address: u64, size: u64) -> bool {
        self.writable.iter().any(|range| range.contains(&address) && address + size <= range.end)
    }

    /// The address of a label, of the source or of the harness.
    pub(super) fn label(&self, name: &str, own: bool) -> Option<u64> {
        let mut labels = self.image.program.symbols.iter().filter(|it| it.name == name);
        labels.find(|it| self.is_own(it.address) == own).map(|it| it.address)
    }

    /// An address as a person finds it.
    pub(super) fn place(&self, address: u64) -> String {
        match self.image.line(address) {
            Some((SOURCE, line)) => format!("line {line}"),
            _ => {
                let symbols = &self.image.program.symbols;
                let inside = self
                    .image
                    .program
                    .segments
                    .iter()
                    .any(|it| address.wrapping_sub(it.address) < it.memory_size);
                match symbols.iter().rev().find(|it| it.address <= address).filter(|_| inside) {
                    Some(symbol) => format!("{address:#x} (the harness, at {})", symbol.name),
                    None => format!("{address:#x}"),
                }
            }
        }
    }
}

fn edge_label(section: &str, which: &str) -> String {
    format!("__{which}{section}")
}

fn holds_code(image: &Image, range: &Range<u64>) -> bool {
    image.sections.iter().any(|it| it.exec && range.start >= it.address && range.start < it.address + it.size)
}

/// The same program as one unit with what it includes, so that it can be watched: the first file is the program.
pub(super) fn files(harness: &str, source: &str) -> Vec<(&'static str, String)> {
    let program =
        format!(".include \"{CONSTANTS}\"\n{harness}\n        .text\n        .include \"{SOURCE}\"\n");
    vec![
        (HARNESS, program),
        (SOURCE, source.into()),
        ("prelude.s", include_str!("prelude.s").into()),
        (CONSTANTS, constants()),
    ]
}

/// The numbers of phases and causes, for sources that name one.
fn constants() -> String {
    let word = |name: &str| name.to_uppercase().replace(['-', ' '], "_");
    let phases = Phase::VARIANTS.iter().map(|&it| (format!("PHASE_{}", word(it.into())), it as usize));
    let causes = Cause::ALL.iter().map(|&it| (format!("CAUSE_{}", word(it.name())), it as usize));
    phases.chain(causes).map(|(name, value)| format!(".globl {name}\n.set {name}, {value}\n")).collect()
}

/// The names that a harness exports.
fn exported(harness: &str) -> impl Iterator<Item = &str> {
    let names = harness.lines().filter_map(|line| line.trim().strip_prefix(".globl"));
    let names = names.flat_map(|names| names.split('#').next().unwrap_or_default().split(','));
    names.map(str::trim).filter(|name| !name.is_empty() && *name != "_start")
}

/// The errors of the source, or of the exercise if the source is not to blame.
fn refused(document: &Document, errors: Vec<AsmError>) -> Failure {
    let entry = &document.entry;
    let of_source = errors.iter().filter(|error| error.file == SOURCE).map(|error| SourceFault {
        line: error.line,
        column: error.column,
        message: error.message.clone(),
        text: error.source.clone(),
    });
    let mut faults: Vec<_> = of_source.collect();
    // The harness uses the label that the source does not export.
    let misses_entry =
        |error: &AsmError| error.is_undefined() && error.message.contains(&format!("`{entry}`"));
    if faults.is_empty() && errors.iter().any(misses_entry) {
        faults.push(SourceFault {
            line: 1,
            column: 1,
            message: format!(
                "there is no exported label `{entry}`: write `.globl {entry}` and begin your code with `{entry}:`"
            ),
            text: String::new(),
        });
    }
    match faults.is_empty() {
        false => Failure::Source(faults),
        true => {
            let text = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            Failure::Exercise(ExerciseError::File(format!("the harness does not assemble: {text}")))
        }
    }
}

/// The phase of each address: in the source by its labels or instructions, in the harness the handler.
fn phases_of(elf: &Elf, own: &[Range<u64>], entry: u64) -> Result<Marks<Phase>, String> {
    let is_own = |address: u64| own.iter().any(|range| range.contains(&address));
    let Some(code) = own.iter().find(|range| range.contains(&entry)) else {
        return Ok(Marks::new(Phase::Handler, []));
    };
    let mut part = elf.clone();
    part.symbols.retain(|symbol| is_own(symbol.address));
    for segment in &mut part.segments {
        if segment.address <= code.start && code.end <= segment.address + segment.data.len() as u64 {
            let start = (code.start - segment.address) as usize;
            segment.data = segment.data[start..start + (code.end - code.start) as usize].to_vec();
            segment.address = code.start;
            segment.memory_size = code.end - code.start;
        }
    }
    let marks = phases::marks(&part, entry).map_err(|error| error.to_string())?;
    let marks = marks.into_iter().filter(|(address, _)| code.contains(address));
    Ok(Marks::new(Phase::Handler, marks.chain([(code.end, Phase::Handler)])))
}

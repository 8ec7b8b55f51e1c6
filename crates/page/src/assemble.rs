//! Sources: assembled, with their errors in a form for an editor.

use serde_json::{Value, json};
use tollgate_lab::own::{Own, OwnError};
use tollgate_lab::source::{Executable, Recipe, SourceError, assemble};
use tollgate_riscv::{Decoder, Elf, Insn, Isa, Symbol, text};

use crate::failure::{Answer, Failure};
use crate::request::SourceFile;

/// The most bytes of sources: an editor holds no more, and the assembler's own limits are those of a program's.
const LONGEST: usize = 4 << 20;
const MOST_LISTED: usize = 20_000;

/// A number of 64 bits.
pub(crate) fn hex(value: u64) -> String {
    format!("{value:#x}")
}

pub(crate) fn isa(name: Option<&str>) -> Result<Isa, Failure> {
    name.map_or_else(|| Ok(Isa::default()), |name| name.parse().map_err(Failure::request))
}

/// A program of its sources.
pub(crate) fn program(files: &[SourceFile], march: &str, base: Option<u64>) -> Result<Executable, Failure> {
    check_size(files)?;
    let usual = Recipe::new(march, isa(Some(march))?);
    let recipe = Recipe { base: base.unwrap_or(usual.base), ..usual };
    assemble(&pairs(files), &recipe).map_err(of_source)
}

/// A trap entry of its sources.
pub(crate) fn entry(files: &[SourceFile]) -> Result<Own, Failure> {
    check_size(files)?;
    Own::assemble(&pairs(files)).map_err(|error| match error {
        OwnError::Source(error) => of_source(error),
        error => Failure::source(error, Vec::new()),
    })
}

fn check_size(files: &[SourceFile]) -> Result<(), Failure> {
    let bytes: usize = files.iter().map(|file| file.text.len()).sum();
    match bytes {
        0..=LONGEST => Ok(()),
        _ => Err(Failure::request(format!(
            "the sources have {bytes} bytes, and at most {LONGEST} are assembled"
        ))),
    }
}

fn pairs(files: &[SourceFile]) -> Vec<(&str, &str)> {
    files.iter().map(|file| (file.name.as_str(), file.text.as_str())).collect()
}

fn of_source(error: SourceError) -> Failure {
    match error {
        SourceError::Assembly(errors) => {
            let message = match errors.len() {
                1 => "the source has an error".to_owned(),
                n => format!("the source has {n} errors"),
            };
            Failure::source(message, errors)
        }
        error => Failure::source(error, Vec::new()),
    }
}

/// Assembles without loading.
pub(crate) fn assembled(files: &[SourceFile], march: &str, base: Option<&str>, as_entry: bool) -> Answer {
    let base = base
        .map(|text| number(text).ok_or_else(|| Failure::request(format!("no address: {text}"))))
        .transpose()?;
    let result = match as_entry {
        true => entry(files).map(|own| own.source().clone()),
        false => program(files, march, base),
    };
    let executable = match result {
        Ok(executable) => executable,
        Err(failure) => {
            let mut value = failure.to_json();
            let mut errors = value["errors"].take();
            if errors.as_array().is_none_or(Vec::is_empty) {
                // About the program as a whole.
                let file = files.first().map_or("", |file| file.name.as_str());
                errors = json!([{
                    "file": file, "line": 1, "column": 1, "message": value["message"], "nearest": null, "length": 1,
                    "expansion": [],
                }]);
            }
            return Ok(
                json!({ "errors": errors, "entry": null, "symbols": [], "sections": [], "listing": [] }),
            );
        }
    };
    let elf = Elf::parse(&executable.elf).map_err(Failure::request)?;
    let isa = if as_entry { Isa::default() } else { isa(Some(march))? };
    let sections = executable.image().into_iter().flat_map(|image| &image.sections).map(|section| {
        json!({
            "name": section.name, "address": hex(section.address), "size": section.size, "code": section.exec,
            "write": section.write,
        })
    });
    Ok(json!({
        "errors": [], "entry": hex(elf.entry), "symbols": symbols(&elf.symbols),
        "sections": sections.collect::<Value>(), "listing": listing(&executable, &elf, isa),
    }))
}

/// A number in hexadecimal with `0x`, or in decimal.
pub(crate) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

pub(crate) fn symbols<'s>(symbols: impl IntoIterator<Item = &'s Symbol>) -> Value {
    symbols.into_iter().map(|symbol| json!({ "name": symbol.name, "address": hex(symbol.address) })).collect()
}

/// All instructions of sections with code.
fn listing(executable: &Executable, elf: &Elf, isa: Isa) -> Value {
    let decoder = Decoder::new(isa);
    let places = Places::new(elf);
    let is_code = |address: u64| {
        let Some(image) = executable.image() else { return true };
        image.sections.iter().any(|it| it.exec && address.wrapping_sub(it.address) < it.size)
    };
    let mut lines = Vec::new();
    for segment in &elf.segments {
        let mut at = 0;
        while let Some(&[low, high]) = segment.data.get(at..at + 2) {
            let address = segment.address + at as u64;
            let long = low & 3 == 3;
            let rest = segment.data.get(at + 2..at + 4).filter(|_| long);
            let rest = rest.map_or(0, |it| u32::from(it[0]) | u32::from(it[1]) << 8);
            at += if long { 4 } else { 2 };
            if !is_code(address) || lines.len() >= MOST_LISTED {
                continue;
            }
            let word = u32::from(low) | u32::from(high) << 8 | rest << 16;
            lines.push(listed(&decoder, &places, executable, address, Some(word), false));
        }
    }
    lines.into()
}

/// An instruction in assembly, whose target, if it jumps, is a label or an address.
pub(crate) fn text_at(insn: &Insn, address: u64, places: &Places) -> String {
    let text = text(insn);
    let Some((before, offset)) = text.rsplit_once("pc").filter(|(before, _)| before.ends_with(',')) else {
        return text;
    };
    let Ok(offset) = offset.parse::<i64>() else { return text };
    let target = address.wrapping_add(offset as u64);
    let place = places.name(target);
    format!("{before}{}", if place.is_empty() { hex(target) } else { place })
}

/// A line of a listing.
pub(crate) fn listed(
    decoder: &Decoder,
    places: &Places,
    executable: &Executable,
    address: u64,
    word: Option<u32>,
    current: bool,
) -> Value {
    let line = executable.line(address);
    let insn = word.and_then(|word| decoder.decode(word));
    let shown = match word {
        Some(word) if word & 3 == 3 => format!("{word:08x}"),
        Some(word) => format!("{:04x}", word & 0xffff),
        None => String::new(),
    };
    json!({
        "address": hex(address), "word": shown, "text": insn.as_ref().map(|insn| text_at(insn, address, places)).unwrap_or_default(),
        "place": places.name(address), "file": line.as_ref().map(|line| &line.file),
        "line": line.as_ref().map(|line| line.line), "current": current,
    })
}

/// The labels of a program, for names of addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    /// In order of addresses, one each, with the end of its segment.
    labels: Vec<(u64, u64, String)>,
}

impl Places {
    pub(crate) fn new(elf: &Elf) -> Self {
        let mut labels: Vec<(u64, u64, String)> = Vec::new();
        for symbol in &elf.symbols {
            let is_mark =
                ["phase.", "phase_", "toll.", "$", ".L"].iter().any(|it| symbol.name.starts_with(it));
            let inside =
                |it: &&tollgate_riscv::Segment| symbol.address.wrapping_sub(it.address) <= it.memory_size;
            let Some(segment) = elf.segments.iter().find(inside).filter(|_| !is_mark) else { continue };
            if labels.last().is_none_or(|last| last.0 != symbol.address) {
                labels.push((symbol.address, segment.address + segment.memory_size, symbol.name.clone()));
            }
        }
        Self { labels }
    }

    /// As `main+8`; empty where there is no label before an address.
    pub(crate) fn name(&self, address: u64) -> String {
        let next = self.labels.partition_point(|label| label.0 <= address);
        match next.checked_sub(1).map(|at| &self.labels[at]) {
            Some((at, _, name)) if *at == address => name.clone(),
            Some((at, end, name)) if address < *end => format!("{name}+{}", address - at),
            _ => String::new(),
        }
    }
}

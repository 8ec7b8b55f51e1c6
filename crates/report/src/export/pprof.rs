//! A profile in pprof's protocol buffers (google/pprof, proto/profile.proto), compressed as its readers expect. Nine fields of
//! numbers and strings, so without a library for messages.

use super::rows::{ExportError, ExportRow, Exported};
use super::stacks::{cut, stacks};
use flate2::Compression;
use flate2::write::GzEncoder;
use indexmap::IndexSet;
use std::io::Write;
use tollgate_record::family::ProgramFound;
use tollgate_record::text::printable;
use tollgate_record::{Run, Status};

pub(super) fn write(_: &Run, rows: &[ExportRow<'_>]) -> Result<Exported, ExportError> {
    let profile_of = |row: &ExportRow<'_>| {
        let found = row.result.found.program().filter(|_| row.result.status == Status::Measured)?;
        Some(Profile::of(found)).filter(|profile| !profile.samples.is_empty())
    };
    let (mut profile, mut left_out) = (None, Vec::new());
    for row in rows {
        match profile_of(row) {
            Some(found) if profile.is_none() => {
                let why = row.result.found.program().and_then(cut);
                left_out.extend(why.map(|why| (row.name.clone(), why)));
                profile = Some(found);
            }
            Some(_) => left_out.extend(row.left_out("a file contains one profile, the first one")),
            None => left_out.extend(row.left_out("it is not the profile of a RISC-V program or kernel")),
        }
    }
    let why = "only 'tollgate riscv exec', and 'riscv run' and 'riscv boot' with --profile or --core, name functions";
    let profile = profile.ok_or(ExportError::Nothing("pprof", why))?;
    let failed = |error: std::io::Error| ExportError::Unwritable("pprof", error.to_string());
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(&profile.message()).map_err(failed)?;
    Ok(Exported { bytes: packed.finish().map_err(failed)?, left_out })
}

/// Values by stacks of functions.
struct Profile {
    /// What the values are.
    unit: &'static str,
    /// The empty string comes first (profile.proto).
    strings: IndexSet<String>,
    /// The places of the functions among the strings, the innermost first, and the value.
    samples: Vec<(Vec<u64>, u64)>,
}

impl Profile {
    /// The cycles by who called whom or, if no core counted them, the instructions of each function.
    fn of(found: &ProgramFound) -> Self {
        let mut profile = Self { unit: "cycles", strings: [String::new()].into(), samples: Vec::new() };
        let is_timed = found.functions.iter().any(|function| !function.causes.is_empty());
        if found.exec.is_some() && !is_timed {
            profile.unit = "instructions";
        }
        if found.paths.is_empty() {
            profile.unit = "instructions";
            for function in found.functions.iter().filter(|function| function.instructions > 0) {
                let name = profile.string(&function.name);
                profile.samples.push((vec![name], function.instructions));
            }
            return profile;
        }
        for (stack, cycles) in stacks(found) {
            let stack = stack.into_iter().map(|name| profile.string(name)).collect();
            profile.samples.push((stack, cycles));
        }
        profile
    }

    fn string(&mut self, text: &str) -> u64 {
        self.strings.insert_full(printable(text).into_owned()).0 as u64
    }

    /// A function, and a place in it, have the number of its name.
    fn message(mut self) -> Vec<u8> {
        let mut profile = Message::default();
        let functions: IndexSet<u64> =
            self.samples.iter().flat_map(|(stack, _)| stack.iter().copied()).collect();
        let kind = [self.string(self.unit), self.string("count")];
        profile.message(1, |it| it.numbers([(1, kind[0]), (2, kind[1])]));
        for (stack, value) in &self.samples {
            profile.message(2, |it| {
                it.packed(1, stack);
                it.packed(2, &[*value]);
            });
        }
        for &function in &functions {
            profile.message(4, |it| {
                it.numbers([(1, function)]);
                it.message(4, |line| line.numbers([(1, function)]));
            });
            profile.message(5, |it| it.numbers([(1, function), (2, function), (3, function)]));
        }
        for text in &self.strings {
            profile.bytes(6, text.as_bytes());
        }
        profile.0
    }
}

/// A message as protocol buffers encode it.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn numbers<const N: usize>(&mut self, fields: [(u64, u64); N]) {
        for (field, number) in fields {
            self.number(field << 3);
            self.number(number);
        }
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.number(field << 3 | 2);
        self.number(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn packed(&mut self, field: u64, numbers: &[u64]) {
        let mut list = Self::default();
        numbers.iter().for_each(|&number| list.number(number));
        self.bytes(field, &list.0);
    }

    fn message(&mut self, field: u64, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.bytes(field, &inner.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from profile.proto and the encoding of protocol buffers.
    #[test]
    fn a_profile_is_the_message_that_the_format_describes() {
        let found = ProgramFound {
            functions: vec![tollgate_record::family::FunctionFound {
                name: "f".into(),
                instructions: 300,
                ..Default::default()
            }],
            ..Default::default()
        };
        let expected = [
            // sample_type: unit 2, "instructions" in "count", 3.
            &[0x0a, 4, 0x08, 2, 0x10, 3][..],
            // sample: location 1, value 300.
            &[0x12, 7, 0x0a, 1, 1, 0x12, 2, 0xac, 0x02],
            // location 1: a line in function 1.
            &[0x22, 6, 0x08, 1, 0x22, 2, 0x08, 1],
            // function 1: its name.
            &[0x2a, 6, 0x08, 1, 0x10, 1, 0x18, 1],
            b"\x32\0\x32\x01f\x32\x0cinstructions\x32\x05count",
        ];
        assert_eq!(Profile::of(&found).message(), expected.concat());
    }
}

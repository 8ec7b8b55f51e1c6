//! Calls that a compiler replaced by the code of the function, from the debug information (DWARF 5, 3.3.8).

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, LittleEndian, Unit, UnitOffset, constants,
};
use object::{Object, ObjectSection};

/// The most ranges of code of one file, and the deepest nest of them; damaged files have more.
const MOST: usize = 1 << 20;
const DEEPEST: usize = 32;
/// References from one entry to another on the way to a name.
const REFERENCES: usize = 8;

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;

/// An inlined call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// The function whose code it is.
    pub(super) function: String,
    /// The file and line of the call, as `main.c:12`; empty if they are not known.
    pub(super) site: String,
}

/// The inlined calls of a program or a library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Inlined {
    pub(super) calls: Vec<Call>,
    /// Where their code is: the addresses, how many other calls contain it, and the call's number.
    ranges: Vec<(Range<u64>, usize, u32)>,
}

impl Inlined {
    /// Reads those of a file; of one without debug information, or with a damaged one, as many as there are.
    pub(super) fn read<'a>(file: &impl Object<'a>) -> Self {
        let section = |id: gimli::SectionId| {
            let data = file.section_by_name(id.name()).and_then(|section| section.data().ok());
            Ok::<_, gimli::Error>(EndianSlice::new(data.unwrap_or_default(), LittleEndian))
        };
        let Ok(dwarf) = Dwarf::load(section) else { return Self::default() };
        let mut units = Vec::new();
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let Some(start) = header.debug_info_offset() else { continue };
            units.extend(dwarf.unit(header).ok().map(|unit| (start.0, unit)));
        }
        let mut reader = Reader { dwarf, units, names: HashMap::new(), found: Self::default() };
        for unit in 0..reader.units.len() {
            // What comes behind the damage of a unit is not known.
            _ = reader.read_unit(unit);
        }
        reader.found
    }

    /// The innermost call at each address from which it is another one, given where functions begin, sorted; `within` has the
    /// number of a call in a function or another call.
    pub(super) fn nested(
        &self,
        functions: Vec<(u64, u32)>,
        mut within: impl FnMut(u32, u32) -> u32,
    ) -> Vec<(u64, u32)> {
        if self.ranges.is_empty() {
            return functions;
        }
        let mut edges: Vec<(u64, bool, usize, u32)> = self
            .ranges
            .iter()
            .flat_map(|(range, depth, call)| {
                [(range.start, true, *depth, *call), (range.end, false, *depth, *call)]
            })
            .collect();
        // The end of a range comes before the beginning of the next one.
        edges.sort_unstable();
        let (mut edges, mut functions) = (edges.into_iter().peekable(), functions.into_iter().peekable());
        let mut open: BTreeSet<(usize, u32)> = BTreeSet::new();
        let (mut function, mut marks) = (None, Vec::new());
        loop {
            let next = [edges.peek().map(|edge| edge.0), functions.peek().map(|it| it.0)];
            let Some(address) = next.into_iter().flatten().min() else { break };
            while let Some((_, begins, depth, call)) = edges.next_if(|edge| edge.0 == address) {
                if begins {
                    open.insert((depth, call));
                } else {
                    open.remove(&(depth, call));
                }
            }
            while let Some((_, next)) = functions.next_if(|it| it.0 == address) {
                function = Some(next);
            }
            let Some(function) = function else { continue };
            let calls = open.iter().take(DEEPEST);
            marks.push((address, calls.fold(function, |outer, (_, call)| within(outer, *call))));
        }
        marks
    }
}

struct Reader<'a> {
    dwarf: Dwarf<Slice<'a>>,
    /// The units with where each begins.
    units: Vec<(usize, Unit<Slice<'a>>)>,
    /// The names of functions, by the unit and the entry in it.
    names: HashMap<(usize, usize), Option<String>>,
    found: Inlined,
}

impl<'a> Reader<'a> {
    fn read_unit(&mut self, at: usize) -> gimli::Result<()> {
        // The depths of the calls that contain the entry.
        let mut open: Vec<isize> = Vec::new();
        let abbreviations = self.units[at].1.abbreviations.clone();
        let mut entries = self.units[at].1.header.entries(&abbreviations);
        while let Some(entry) = entries.next_dfs()? {
            while open.last().is_some_and(|depth| *depth >= entry.depth()) {
                open.pop();
            }
            if entry.tag() != constants::DW_TAG_inlined_subroutine {
                continue;
            }
            let number = self.found.calls.len() as u32;
            let mut ranges = self.dwarf.die_ranges(&self.units[at].1, entry)?;
            while let Some(range) = ranges.next()? {
                if self.found.ranges.len() >= MOST {
                    return Ok(());
                }
                if range.begin < range.end {
                    self.found.ranges.push((range.begin..range.end, open.len(), number));
                }
            }
            open.push(entry.depth());
            let site = self.site(at, entry).unwrap_or_default();
            let function = self.name(at, entry.offset(), REFERENCES).unwrap_or_else(|| "(no name)".into());
            self.found.calls.push(Call { function, site });
        }
        Ok(())
    }

    /// The file and line of a call.
    fn site(&self, at: usize, entry: &Entry<'a>) -> Option<String> {
        let (dwarf, unit) = (&self.dwarf, &self.units[at].1);
        let line = entry.attr_value(constants::DW_AT_call_line)?.udata_value()?;
        let index = match entry.attr_value(constants::DW_AT_call_file)? {
            AttributeValue::FileIndex(index) => index,
            other => other.udata_value()?,
        };
        let file = unit.line_program.as_ref()?.header().file(index)?;
        let path = dwarf.attr_string(unit, file.path_name()).ok()?.to_string_lossy().into_owned();
        let name = path.rsplit('/').next().unwrap_or_default();
        Some(format!("{name}:{line}"))
    }

    /// The name of a function as the linker has it, else as the source has it.
    fn name(&mut self, at: usize, offset: UnitOffset, references: usize) -> Option<String> {
        if let Some(known) = self.names.get(&(at, offset.0)) {
            return known.clone();
        }
        let found = self.find_name(at, offset, references);
        self.names.insert((at, offset.0), found.clone());
        found
    }

    fn find_name(&mut self, at: usize, offset: UnitOffset, references: usize) -> Option<String> {
        let entry = self.units[at].1.entry(offset).ok()?;
        let text = |name| {
            let text = self.dwarf.attr_string(&self.units[at].1, entry.attr_value(name)?).ok()?;
            Some(text.to_string_lossy().into_owned())
        };
        if let Some(name) = text(constants::DW_AT_linkage_name) {
            return Some(name);
        }
        let own = text(constants::DW_AT_name);
        let origin = [constants::DW_AT_abstract_origin, constants::DW_AT_specification]
            .into_iter()
            .find_map(|name| entry.attr_value(name));
        let next = match origin {
            _ if references == 0 => None,
            Some(AttributeValue::UnitRef(offset)) => Some((at, offset)),
            Some(AttributeValue::DebugInfoRef(offset)) => {
                let unit = self.units.partition_point(|unit| unit.0 <= offset.0).checked_sub(1)?;
                Some((unit, UnitOffset(offset.0 - self.units[unit].0)))
            }
            _ => None,
        };
        next.and_then(|(at, offset)| self.name(at, offset, references - 1)).or(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function at 100 with a call at 110 to 140, which contains another one at 120 to 130, and a function at 150.
    #[test]
    fn the_innermost_call_holds_from_its_beginning_to_its_end() {
        let call = |name: &str| Call { function: name.into(), site: String::new() };
        let inlined = Inlined {
            calls: vec![call("inner"), call("outer")],
            ranges: vec![(120..130, 1, 0), (110..140, 0, 1)],
        };
        let marks = inlined.nested(vec![(100, 1), (150, 2)], |outer, call| 10 * outer + call + 1);
        assert_eq!(marks, [(100, 1), (110, 12), (120, 121), (130, 12), (140, 1), (150, 2)]);
        assert_eq!(Inlined::default().nested(vec![(100, 1)], |_, _| 0), [(100, 1)]);
        // Two calls that follow each other.
        let inlined = Inlined { ranges: vec![(110..120, 0, 0), (120..130, 0, 1)], ..inlined };
        let marks = inlined.nested(vec![(100, 1)], |outer, call| 10 * outer + call + 1);
        assert_eq!(marks, [(100, 1), (110, 11), (120, 12), (130, 1)]);
    }
}

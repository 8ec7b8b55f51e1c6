//! Whose code an address is: the symbols of the programs that run, each where it really runs.

use std::ops::Range;

use tollgate_riscv::Elf;

/// The proxy kernel moves itself from the start of RAM to the upper half of Sv39 (its `KVA_START`).
const PROXY_KERNEL_HIGH: u64 = 0xffff_ffc0_0000_0000;
const RAM: u64 = 0x8000_0000;
/// How far that is from where it was loaded.
pub(crate) const PROXY_KERNEL_BIAS: u64 = PROXY_KERNEL_HIGH.wrapping_sub(RAM);

/// The owner of each address: from one mark to the next.
#[derive(Clone, Debug)]
pub(crate) struct Marks<T> {
    /// Sorted by address; the first is at 0.
    marks: Vec<(u64, T)>,
    /// Index of the mark found last: most instructions follow their predecessor.
    last: usize,
}

impl<T: Copy> Marks<T> {
    /// With `none` before the first mark. Of two marks at one address, the later one holds.
    pub(crate) fn new(none: T, marks: impl IntoIterator<Item = (u64, T)>) -> Self {
        let mut marks: Vec<_> = std::iter::once((0, none)).chain(marks).collect();
        marks.sort_by_key(|mark| mark.0);
        Self { marks, last: 0 }
    }

    /// The owner of the instruction at `pc`.
    pub(crate) fn at(&mut self, pc: u64) -> T {
        let holds = |i: usize| self.marks[i].0 <= pc && self.marks.get(i + 1).is_none_or(|next| pc < next.0);
        if !holds(self.last) {
            self.last = self.marks.partition_point(|mark| mark.0 <= pc).saturating_sub(1);
        }
        self.marks[self.last].1
    }
}

/// Functions by address.
pub(crate) struct Symbols {
    /// Indices of names.
    marks: Marks<usize>,
    names: Vec<String>,
}

/// The name of code without a symbol.
pub(crate) const NAMELESS: &str = "(no symbol)";

impl Symbols {
    /// The symbols of a program and, if it runs on one, of the proxy kernel.
    pub(crate) fn new(program: &Elf, proxy_kernel: Option<&Elf>) -> Self {
        let mut names = vec![NAMELESS.into()];
        let mut ranges = Vec::new();
        add(&mut ranges, &mut names, program, 0, u64::MAX);
        if let Some(kernel) = proxy_kernel {
            add(&mut ranges, &mut names, kernel, 0, u64::MAX);
            add(&mut ranges, &mut names, kernel, PROXY_KERNEL_BIAS, RAM);
        }
        ranges.sort_by_key(|range| range.0.start);
        let mut marks = Vec::new();
        for (i, (range, name)) in ranges.iter().enumerate() {
            // A range ends where the next begins at the latest.
            let end = ranges.get(i + 1).map_or(range.end, |next| range.end.min(next.0.start));
            if range.start < end {
                marks.extend([(range.start, *name), (end, 0)]);
            }
        }
        Self { marks: Marks::new(0, marks), names }
    }

    /// Marks with the indices of their names.
    pub(crate) fn from_marks(marks: Marks<usize>, names: Vec<String>) -> Self {
        Self { marks, names }
    }

    /// Where the code of each name begins, in order, and the name; code without a symbol has the first one.
    pub(crate) fn places(&self) -> impl Iterator<Item = (u64, usize)> {
        self.marks.marks.iter().copied()
    }

    /// The index of the name of the code at `pc`.
    pub(crate) fn at(&mut self, pc: u64) -> usize {
        self.marks.at(pc)
    }

    /// The names, by index.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }
}

/// Adds the functions of one program, moved up by `bias`. Marks of phases are not functions. A symbol without a size
/// extends to the next symbol, or to the end of its segment.
fn add(ranges: &mut Vec<(Range<u64>, usize)>, names: &mut Vec<String>, elf: &Elf, bias: u64, extent: u64) {
    let code = |address: u64| {
        elf.segments.iter().find_map(|segment| {
            let end = segment.address.checked_add(segment.memory_size)?;
            (segment.address <= address && address < end).then_some(end)
        })
    };
    let mut previous = None;
    for symbol in &elf.symbols {
        let mark = symbol.name.starts_with("phase.") || symbol.name.starts_with("toll.");
        if mark || symbol.address.wrapping_sub(RAM) > extent {
            continue;
        }
        let Some(limit) = code(symbol.address) else { continue };
        if previous == Some(symbol.address) {
            continue;
        }
        previous = Some(symbol.address);
        let end = if symbol.size > 0 { symbol.address.saturating_add(symbol.size) } else { limit };
        // Few names, looked up once for each symbol; the same name comes at most three times.
        let name = names.iter().position(|known| *known == symbol.name).unwrap_or_else(|| {
            names.push(symbol.name.clone());
            names.len() - 1
        });
        ranges.push((symbol.address.wrapping_add(bias)..end.wrapping_add(bias), name));
    }
}

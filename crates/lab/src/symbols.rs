//! Whose code an address is: the symbols of the programs that run, each where it really runs.

use tollgate_riscv::Elf;

/// The proxy kernel moves itself from the start of RAM to the upper half of Sv39 (its `KVA_START`).
const PROXY_KERNEL_HIGH: u64 = 0xffff_ffc0_0000_0000;
const RAM: u64 = 0x8000_0000;

/// A range of addresses with one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// An index into [`Symbols::names`].
    pub(crate) name: usize,
}

/// Functions by address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols {
    /// Sorted by start, without overlaps.
    ranges: Vec<Range>,
    names: Vec<String>,
    last: usize,
}

/// What code without a symbol is called.
pub(crate) const NAMELESS: &str = "(no symbol)";

impl Symbols {
    /// The symbols of a program and, if it runs on one, of the proxy kernel.
    pub(crate) fn new(program: &Elf, proxy_kernel: Option<&Elf>) -> Self {
        let mut symbols = Self { names: vec![NAMELESS.into()], ..Self::default() };
        symbols.add(program, 0, u64::MAX);
        if let Some(kernel) = proxy_kernel {
            symbols.add(kernel, 0, u64::MAX);
            symbols.add(kernel, PROXY_KERNEL_HIGH.wrapping_sub(RAM), RAM);
        }
        symbols.ranges.sort_by_key(|range| range.start);
        // A range ends where the next begins at the latest.
        for i in 1..symbols.ranges.len() {
            let next = symbols.ranges[i].start;
            let end = &mut symbols.ranges[i - 1].end;
            *end = (*end).min(next);
        }
        symbols
    }

    /// Adds the functions of one program, moved up by `bias`. Marks of phases and the assembler's own symbols
    /// are not functions. A symbol without a size extends to the next symbol, or to the end of its segment.
    fn add(&mut self, elf: &Elf, bias: u64, extent: u64) {
        let code = |address: u64| {
            elf.segments.iter().find_map(|segment| {
                let end = segment.address.checked_add(segment.memory_size)?;
                (segment.address <= address && address < end).then_some(end)
            })
        };
        let mut previous = None;
        for symbol in &elf.symbols {
            let assembler = symbol.name.starts_with('$') || symbol.name.starts_with(".L");
            let mark = symbol.name.starts_with("phase.") || symbol.name.starts_with("toll.");
            if assembler || mark || symbol.name.is_empty() || symbol.address.wrapping_sub(RAM) > extent {
                continue;
            }
            let Some(limit) = code(symbol.address) else { continue };
            if previous == Some(symbol.address) {
                continue;
            }
            previous = Some(symbol.address);
            let end = if symbol.size > 0 { symbol.address.saturating_add(symbol.size) } else { limit };
            let (start, end) = (symbol.address.wrapping_add(bias), end.wrapping_add(bias));
            let name = self.name(&symbol.name);
            self.ranges.push(Range { start, end, name });
        }
    }

    fn name(&mut self, name: &str) -> usize {
        // Few names, looked up once for each symbol; the same name comes at most three times.
        if let Some(found) = self.names.iter().position(|known| known == name) {
            return found;
        }
        self.names.push(name.to_owned());
        self.names.len() - 1
    }

    /// The index of the name of the code at `pc`.
    pub(crate) fn at(&mut self, pc: u64) -> usize {
        let holds = |range: &Range| range.start <= pc && pc < range.end;
        if let Some(range) = self.ranges.get(self.last)
            && holds(range)
        {
            return range.name;
        }
        let after = self.ranges.partition_point(|range| range.start <= pc);
        self.last = after.saturating_sub(1);
        self.ranges.get(self.last).filter(|range| holds(range)).map_or(0, |range| range.name)
    }

    /// The names, by index.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }
}

//! The symbols that a Linux image contains for its own use (kallsyms), for images whose `System.map` is not at hand.
//!
//! The layout is that of Linux's scripts/kallsyms.c: `num_syms`, `names`, `markers`, `token_table`, `token_index`, and the
//! `offsets`. A name is a length and so many bytes, each of which is an entry of the token table; the first character is
//! the symbol's type. Nothing in the image points to these tables: they are found by their form. Offsets are relative
//! to their own place or to the kernel's base, so addresses are right up to a constant.

/// A function's name and its address up to a constant.
pub(crate) type Symbol = (String, u64);

/// Names between two markers.
const MARKED: usize = 256;
const TOKENS: usize = 256;
/// No kernel has more symbols, or a longer list of names.
const MOST: usize = 1 << 20;
const MOST_NAMES: usize = 1 << 24;

/// The functions of an image, sorted by address; `None` if no table is found.
pub(crate) fn read(image: &[u8]) -> Option<Vec<Symbol>> {
    // The digits are tokens of their own in every kernel.
    let digits: Vec<u8> = (b'0'..=b'9').flat_map(|digit| [digit, 0]).collect();
    let mut from = 0;
    while let Some(at) = image.get(from..).and_then(|rest| find(rest, &digits)) {
        if let Some(symbols) = tokens(image, from + at).and_then(|tokens| tokens.symbols(image)) {
            return Some(symbols);
        }
        from += at + 1;
    }
    None
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    // Only where the first byte is: windows alone take seconds.
    let mut from = 0;
    loop {
        let at = from + bytes.get(from..)?.iter().position(|byte| *byte == wanted[0])?;
        if bytes[at..].starts_with(wanted) {
            return Some(at);
        }
        from = at + 1;
    }
}

fn word(image: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(image.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The token table and where the tables around it are.
struct Tokens<'a> {
    tokens: Vec<&'a [u8]>,
    start: usize,
    /// Behind the index.
    end: usize,
}

/// The token table that has the digits at a place, if there is one with its index behind it.
fn tokens(image: &[u8], digits: usize) -> Option<Tokens<'_>> {
    let mut start = digits;
    for _ in 0..usize::from(b'0') {
        let before = &image[..start.checked_sub(1)?];
        // A token is short.
        let longest = before.len().min(64);
        start = before.len() - before.iter().rev().take(longest).position(|byte| *byte == 0)?;
    }
    let (mut at, mut tokens, mut index) = (start, Vec::new(), Vec::new());
    for _ in 0..TOKENS {
        let len = image.get(at..)?.iter().take(64).position(|byte| *byte == 0)?;
        index.extend(u16::try_from(at - start).ok()?.to_le_bytes());
        tokens.push(&image[at..at + len]);
        at += len + 1;
    }
    let place =
        (at..at + 16).find(|&place| image.get(place..).is_some_and(|rest| rest.starts_with(&index)))?;
    Some(Tokens { tokens, start, end: place + index.len() })
}

impl Tokens<'_> {
    fn symbols(&self, image: &[u8]) -> Option<Vec<Symbol>> {
        let (names, count) = self.names(image)?;
        let offsets = self.end.next_multiple_of(8);
        let mut symbols = Vec::new();
        let mut at = names;
        for n in 0..count {
            let (len, skip) = length(image, at)?;
            let bytes = image.get(at + skip..at + skip + len)?;
            let name: Vec<u8> =
                bytes.iter().flat_map(|&token| self.tokens[usize::from(token)]).copied().collect();
            at += skip + len;
            let place = offsets + 4 * n;
            // Relative to its own place, as since Linux 6.18 or so; relative to one base before, and then all are the same
            // constant away.
            let value = word(image, place)? as i32;
            symbols.push((name, i64::from(value), place as i64));
        }
        let relative = |&(_, value, place): &(Vec<u8>, i64, i64)| value + place;
        // The list is sorted by address. Only one of both readings is.
        let sorted = |key: &dyn Fn(&(Vec<u8>, i64, i64)) -> i64| {
            symbols.windows(2).filter(|two| key(&two[0]) > key(&two[1])).count()
        };
        let own = sorted(&relative) <= sorted(&|symbol| symbol.1);
        let functions =
            symbols.iter().filter(|(name, ..)| matches!(name.first(), Some(b't' | b'T' | b'w' | b'W')));
        let mut functions: Vec<Symbol> = functions
            .map(|symbol| {
                let address = if own { relative(symbol) } else { symbol.1 };
                (String::from_utf8_lossy(&symbol.0[1..]).into_owned(), address as u64)
            })
            .collect();
        functions.sort_by_key(|symbol| symbol.1 as i64);
        Some(functions)
    }

    /// Where the names are, and how many.
    fn names(&self, image: &[u8]) -> Option<(usize, usize)> {
        // Markers are offsets in the names: upwards from 0, and the table ends before the tokens.
        let last = (self.start.saturating_sub(8)..self.start)
            .rev()
            .find(|at| at % 4 == 0 && word(image, *at) != Some(0))?;
        let mut first = last;
        while word(image, first)? != 0 {
            if word(image, first.checked_sub(4)?)? >= word(image, first)? {
                return None;
            }
            first -= 4;
        }
        let markers: Vec<usize> =
            (first..=last).step_by(4).filter_map(|at| word(image, at)).map(|n| n as usize).collect();
        let begin = first.saturating_sub(markers.last()? + MOST_NAMES / 256);
        for at in (begin..first).filter(|at| at % 4 == 0) {
            let count = word(image, at)? as usize;
            if count > MOST || count.div_ceil(MARKED) != markers.len() {
                continue;
            }
            for names in [at + 4, at + 8] {
                if self.follows(image, names, count, &markers, first) {
                    return Some((names, count));
                }
            }
        }
        None
    }

    /// Whether so many names begin here, with the markers at their places, and end before `end`.
    fn follows(&self, image: &[u8], names: usize, count: usize, markers: &[usize], end: usize) -> bool {
        let mut at = names;
        for n in 0..count {
            if n % MARKED == 0 && markers[n / MARKED] != at - names {
                return false;
            }
            match length(image, at) {
                Some((len, skip)) if len > 0 => at += skip + len,
                _ => return false,
            }
            if at > end {
                return false;
            }
        }
        true
    }
}

/// How long a name is, and how many bytes say so: two if the first has its highest bit set.
fn length(image: &[u8], at: usize) -> Option<(usize, usize)> {
    let first = usize::from(*image.get(at)?);
    if first & 0x80 == 0 {
        return Some((first, 1));
    }
    Some((first & 0x7f | usize::from(*image.get(at + 1)?) << 7, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables as scripts/kallsyms.c writes them, without compression but for one token, behind some other bytes.
    fn image(symbols: &[(&str, i32)], own: bool) -> Vec<u8> {
        let mut out = b"\x13\x000\x001\x002 not a table".repeat(3);
        out.resize(out.len().next_multiple_of(8), 0);
        out.extend((symbols.len() as u32).to_le_bytes());
        out.extend([0; 4]);
        let names = out.len();
        let mut markers = Vec::new();
        for (n, (name, _)) in symbols.iter().enumerate() {
            if n % MARKED == 0 {
                markers.push((out.len() - names) as u32);
            }
            // Token 200 is "Tsys_".
            let bytes = match name.strip_prefix("Tsys_") {
                Some(rest) => [&[200], rest.as_bytes()].concat(),
                None => name.as_bytes().to_vec(),
            };
            if bytes.len() < 128 {
                out.push(bytes.len() as u8);
            } else {
                out.extend([bytes.len() as u8 & 0x7f | 0x80, (bytes.len() >> 7) as u8]);
            }
            out.extend(bytes);
        }
        out.resize(out.len().next_multiple_of(8), 0);
        out.extend(markers.iter().flat_map(|marker| marker.to_le_bytes()));
        out.resize(out.len().next_multiple_of(8), 0);
        let (start, mut index) = (out.len(), Vec::new());
        for token in 0..TOKENS {
            index.extend(((out.len() - start) as u16).to_le_bytes());
            match token {
                200 => out.extend(b"Tsys_"),
                0 => {}
                _ => out.push(token as u8),
            }
            out.push(0);
        }
        out.resize(out.len().next_multiple_of(8), 0);
        out.extend(index);
        out.resize(out.len().next_multiple_of(8), 0);
        for (_, address) in symbols {
            let at = if own { out.len() as i32 } else { 0 };
            out.extend((address - at).to_le_bytes());
        }
        out.extend([7; 64]);
        out
    }

    #[test]
    fn both_forms_of_offsets_are_read() {
        let long = format!("t{}", "x".repeat(200));
        let mut all =
            vec![("T_start", 0), ("Tsys_getpid", 0x100), ("dnot_code", 0x180), (long.as_str(), 0x200)];
        let more: Vec<String> = (0..600).map(|n| format!("tf{n}")).collect();
        all.extend(more.iter().zip(0..).map(|(name, n)| (name.as_str(), 0x300 + 4 * n)));
        for own in [true, false] {
            let found = read(&image(&all, own)).unwrap();
            let base = found[0].1;
            assert_eq!(found.len(), all.len() - 1, "{own}");
            assert_eq!((found[1].0.as_str(), found[1].1 - base), ("sys_getpid", 0x100));
            assert_eq!((&found[2].0, found[2].1 - base), (&"x".repeat(200), 0x200));
            assert_eq!((found[602].0.as_str(), found[602].1 - base), ("f599", 0x300 + 4 * 599));
        }
    }

    #[test]
    fn an_image_without_or_with_half_a_table_has_no_symbols() {
        assert_eq!(read(b""), None);
        assert_eq!(read(&vec![0; 10_000]), None);
        let whole = image(&[("T_start", 0), ("Tsys_getpid", 0x100)], true);
        assert!(read(&whole).is_some());
        for cut in (0..whole.len() - 80).step_by(7) {
            assert_eq!(read(&whole[..cut]), None, "{cut}");
        }
    }
}

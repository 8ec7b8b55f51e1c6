//! The symbols that a Linux image contains for its own use (kallsyms), for images whose `System.map` is not at hand.
//!
//! The layout is that of Linux's scripts/kallsyms.c: (in older kernels `offsets` and their base,) `num_syms`, `names`, `markers`, `token_table`, `token_index`, and the
//! `offsets`. A name is a length and that many bytes, each of which is an entry of the token table; the first character is
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
        let (number_at, names, count) = self.names(image)?;
        // Behind the index, or in older kernels before the number, with the base between them.
        let before = number_at.checked_sub(8 + 4 * count).map(|at| at & !7);
        let places = [Some(self.end.next_multiple_of(4)), before];
        // Relative to one base, so that all of them are off by the same constant; or each to its own place, and then symbols at
        // one address are out of order in the other reading.
        let addresses = |start: usize, own: bool| -> Option<Vec<i64>> {
            let address = |n: usize| {
                let at = start + 4 * n;
                Some(i64::from(word(image, at)? as i32) + if own { at as i64 } else { 0 })
            };
            (0..count).map(address).collect()
        };
        // The list is in the order of addresses, but for a few symbols that name something else.
        let disorder = |list: &Vec<i64>| list.windows(2).filter(|two| two[0] > two[1]).count();
        let readings =
            places.into_iter().flatten().flat_map(|start| [addresses(start, false), addresses(start, true)]);
        let flat = |list: &Vec<i64>| list.windows(2).filter(|two| two[0] == two[1]).count() * 2 > count;
        let addresses = readings.flatten().filter(|list| !flat(list)).min_by_key(disorder)?;
        if disorder(&addresses) * 10 > count {
            return None;
        }
        let mut symbols = Vec::new();
        let mut at = names;
        for address in addresses {
            let (len, skip) = length(image, at)?;
            let bytes = image.get(at + skip..at + skip + len)?;
            let name: Vec<u8> =
                bytes.iter().flat_map(|&token| self.tokens[usize::from(token)]).copied().collect();
            at += skip + len;
            if matches!(name.first(), Some(b't' | b'T' | b'w' | b'W')) {
                symbols.push((String::from_utf8_lossy(&name[1..]).into_owned(), address as u64));
            }
        }
        symbols.sort_by_key(|symbol| symbol.1 as i64);
        Some(symbols)
    }

    /// Where their number is, where the names are, and how many.
    fn names(&self, image: &[u8]) -> Option<(usize, usize, usize)> {
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
                    return Some((at, names, count));
                }
            }
        }
        None
    }

    /// Whether `count` names begin here, with the markers at their places, and end before `end`.
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

    /// Where the offsets are, and what they are relative to.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Form {
        Before,
        Base,
        Own,
    }

    /// The tables as scripts/kallsyms.c writes them, without compression but for one token, behind some other bytes.
    fn image(symbols: &[(&str, i32)], form: Form) -> Vec<u8> {
        let mut out = b"\x13\x000\x001\x002 not a table".repeat(3);
        out.resize(out.len().next_multiple_of(8), 0);
        if form == Form::Before {
            out.extend(symbols.iter().flat_map(|(_, address)| address.to_le_bytes()));
            out.resize(out.len().next_multiple_of(8), 0);
            out.extend([0xff; 8]);
        }
        out.extend((symbols.len() as u32).to_le_bytes());
        if form == Form::Before {
            out.extend([0; 4]);
        }
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
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend(index);
        for (_, address) in symbols.iter().filter(|_| form != Form::Before) {
            let at = if form == Form::Own { out.len() as i32 } else { 0 };
            out.extend((address - at).to_le_bytes());
        }
        out.extend([7; 64]);
        out
    }

    #[test]
    fn all_forms_of_offsets_are_read() {
        let long = format!("t{}", "x".repeat(200));
        let mut all =
            vec![("T_start", 0), ("Tsys_getpid", 0x100), ("dnot_code", 0x180), (long.as_str(), 0x200)];
        let more: Vec<String> = (0..600).map(|n| format!("tf{n}")).collect();
        all.extend(more.iter().zip(0..).map(|(name, n)| (name.as_str(), 0x300 + 4 * n)));
        for form in [Form::Before, Form::Base, Form::Own] {
            let found = read(&image(&all, form)).unwrap();
            let base = found[0].1;
            assert_eq!(found.len(), all.len() - 1, "{form:?}");
            assert_eq!((found[1].0.as_str(), found[1].1 - base), ("sys_getpid", 0x100));
            assert_eq!((&found[2].0, found[2].1 - base), (&"x".repeat(200), 0x200));
            assert_eq!((found[602].0.as_str(), found[602].1 - base), ("f599", 0x300 + 4 * 599));
        }
    }

    #[test]
    fn an_image_without_or_with_half_a_table_has_no_symbols() {
        assert_eq!(read(b""), None);
        assert_eq!(read(&vec![0; 10_000]), None);
        let names: Vec<String> = (0..300).map(|n| format!("tf{n}")).collect();
        let all: Vec<_> = names.iter().zip(0..).map(|(name, n)| (name.as_str(), 8 * n)).collect();
        let whole = image(&all, Form::Own);
        assert!(read(&whole).is_some());
        for cut in (0..whole.len() - 80).step_by(97) {
            assert_eq!(read(&whole[..cut]), None, "{cut}");
        }
    }
}

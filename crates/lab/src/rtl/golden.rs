//! The recorded runs of a core's RTL: when each instruction of a program retired.
//!
//! A file is for one core: lines of text that say which, an empty line, and a deflated list of [`Golden`]. Numbers have
//! seven bits a byte, the lowest first. Of the instructions only those are written that `Path` does not foresee, about
//! one of twenty: how many it foresaw before, and by how much it is wrong.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

/// An instruction that left a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retirement {
    /// In which cycle.
    pub cycle: u64,
    /// Its address.
    pub pc: u64,
    /// Whether it trapped instead of retiring.
    pub trapped: bool,
}

/// One program on one core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Golden {
    /// The program.
    pub program: String,
    /// Cycles that memory takes.
    pub latency: u64,
    /// In order.
    pub retired: Vec<Retirement>,
    /// Cycles in which an interrupt was raised.
    pub raised: Vec<u64>,
}

/// More instructions than any program retires. A damaged file must not ask for more memory than these take.
const MOST: usize = 1 << 22;

/// A damaged file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the golden file is damaged: {0}")]
pub struct GoldenError(&'static str);

/// The text at the beginning of a file, and the list.
///
/// # Errors
/// A damaged file.
pub fn read(file: &[u8]) -> Result<(&str, Vec<Golden>), GoldenError> {
    let end = file.windows(2).position(|pair| pair == b"\n\n").ok_or(GoldenError("no empty line"))?;
    let text = str::from_utf8(&file[..end]).map_err(|_| GoldenError("its text is not UTF-8"))?;
    let mut bytes = Vec::new();
    ZlibDecoder::new(&file[end + 2..]).read_to_end(&mut bytes).map_err(|_| GoldenError("not deflated"))?;
    let mut bytes = &bytes[..];
    let mut all = Vec::new();
    while !bytes.is_empty() {
        all.push(one(&mut bytes).ok_or(GoldenError("it ends too early"))?);
    }
    Ok((text, all))
}

/// A file of these.
#[must_use]
pub fn write(text: &str, all: &[Golden]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for golden in all {
        put(&mut bytes, golden.program.len() as u64);
        bytes.extend(golden.program.as_bytes());
        put(&mut bytes, golden.latency);
        put(&mut bytes, golden.retired.len() as u64);
        put(&mut bytes, golden.raised.len() as u64);
        let mut cycle = 0;
        for &each in &golden.raised {
            put(&mut bytes, each.wrapping_sub(cycle));
            cycle = each;
        }
        let (mut path, mut foreseen) = (Path::default(), 0);
        for each in &golden.retired {
            let wrong = path.wrong(each);
            if wrong == [0; 2] {
                foreseen += 1;
                continue;
            }
            put(&mut bytes, foreseen);
            foreseen = 0;
            wrong.into_iter().for_each(|by| put_signed(&mut bytes, by));
        }
        put(&mut bytes, foreseen);
    }
    deflated(text, &bytes)
}

fn deflated(text: &str, list: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new([text.as_bytes(), b"\n\n"].concat(), Compression::best());
    // Writing to a vector does not fail.
    let _ = encoder.write_all(list);
    encoder.finish().unwrap_or_default()
}

/// Foresees the next instruction: its address is where the last one went the time before, or 4 bytes further; its step is
/// what it was the time before after the same instruction, or a cycle. A step is twice the cycles since the last
/// instruction, and one more if this one trapped.
#[derive(Default)]
struct Path {
    pc: u64,
    cycle: u64,
    next: ByAddress<u64>,
    steps: ByAddress<u64>,
}

impl Path {
    /// By how much its address and its step differ from what is foreseen.
    fn wrong(&mut self, it: &Retirement) -> [u64; 2] {
        let step = it.cycle.wrapping_sub(self.cycle) << 1 | u64::from(it.trapped);
        let by = it.pc.wrapping_sub(self.address());
        let wrong = [by, step.wrapping_sub(self.step(it.pc))];
        self.went(it.pc, step);
        wrong
    }

    /// The instruction that differs by so much.
    fn right(&mut self, [by, steps]: [u64; 2]) -> Retirement {
        let pc = self.address().wrapping_add(by);
        let step = self.step(pc).wrapping_add(steps);
        self.went(pc, step);
        Retirement { cycle: self.cycle, pc, trapped: step & 1 != 0 }
    }

    fn address(&self) -> u64 {
        self.next.get(&self.pc).copied().unwrap_or(self.pc.wrapping_add(4))
    }

    fn step(&self, pc: u64) -> u64 {
        self.steps.get(&self.pair(pc)).copied().unwrap_or(2)
    }

    fn pair(&self, pc: u64) -> u64 {
        self.pc.rotate_left(32) ^ pc
    }

    fn went(&mut self, pc: u64, step: u64) {
        self.next.insert(self.pc, pc);
        self.steps.insert(self.pair(pc), step);
        self.pc = pc;
        self.cycle = self.cycle.wrapping_add(step >> 1);
    }
}

/// Something for each of some addresses. They are not an opponent's: the hash need not be safe, but fast.
type ByAddress<T> = HashMap<u64, T, BuildHasherDefault<Spread>>;

#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// A small number, or one that is a little less than zero.
fn put_signed(bytes: &mut Vec<u8>, number: u64) {
    put(bytes, number << 1 ^ (number.cast_signed() >> 63).cast_unsigned());
}

fn signed(bytes: &mut &[u8]) -> Option<u64> {
    number(bytes).map(|number| number >> 1 ^ (number & 1).wrapping_neg())
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.split_off_first()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn one(bytes: &mut &[u8]) -> Option<Golden> {
    let length = number(bytes)?.try_into().ok()?;
    let program = str::from_utf8(bytes.split_off(..length)?).ok()?.to_owned();
    let latency = number(bytes)?;
    let count = usize::try_from(number(bytes)?).ok().filter(|&count| count <= MOST)?;
    let mut raised = Vec::new();
    let mut cycle = 0u64;
    for _ in 0..number(bytes)? {
        cycle = cycle.wrapping_add(number(bytes)?);
        raised.push(cycle);
    }
    let (mut path, mut retired) = (Path::default(), Vec::with_capacity(count));
    loop {
        let foreseen = usize::try_from(number(bytes)?).ok().filter(|it| *it <= count - retired.len())?;
        retired.extend((0..foreseen).map(|_| path.right([0; 2])));
        if retired.len() == count {
            break;
        }
        retired.push(path.right([signed(bytes)?, signed(bytes)?]));
    }
    Some(Golden { program, latency, retired, raised })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn golden() -> Golden {
        let loop_of_two = (0..50u64).flat_map(|pass| {
            let at = |cycle, pc, trapped| Retirement { cycle, pc, trapped };
            [at(pass * 7 + 3, 0x8000_0000, false), at(pass * 7 + 9, 0x8000_0004, pass % 5 == 0)]
        });
        Golden {
            program: "trap.ecall".into(),
            latency: 20,
            retired: loop_of_two.collect(),
            raised: vec![5, 300],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let all = [
            golden(),
            Golden { program: String::new(), latency: 1, retired: Vec::new(), raised: Vec::new() },
        ];
        let file = write("core ibex\nversion 1", &all);
        assert_eq!(read(&file), Ok(("core ibex\nversion 1", all.to_vec())));
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        let mut bytes = write("core ibex", &[golden()]);
        assert!(read(&bytes[..bytes.len() - 9]).is_err());
        assert!(read(b"core ibex\n").is_err());
        bytes[11..].fill(0xff);
        assert!(read(&bytes).is_err());
    }

    #[test]
    fn more_instructions_than_a_program_has_are_an_error() {
        // No name, latency 1, one instruction, no interrupt; it was foreseen.
        let one = [0, 1, 1, 0, 1];
        assert_eq!(read(&deflated("core ibex", &one)).unwrap().1[0].retired.len(), 1);
        let mut two_foreseen = one;
        two_foreseen[4] = 2;
        assert!(read(&deflated("core ibex", &two_foreseen)).is_err());
        // The second one is at the address of the first, and foreseen from then on.
        let endless = |count: u64| {
            let mut list = vec![0, 1];
            put(&mut list, count);
            list.extend([0, 1]);
            put_signed(&mut list, 4u64.wrapping_neg());
            put_signed(&mut list, 0);
            put(&mut list, count - 2);
            read(&deflated("core ibex", &list)).map(|it| it.1[0].retired.len())
        };
        assert_eq!(endless(1000), Ok(1000));
        assert!(endless(MOST as u64 + 1).is_err());
    }
}

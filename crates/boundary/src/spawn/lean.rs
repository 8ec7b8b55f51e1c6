//! The part of this process's address space that a forked child does not need.
//!
//! The list is made before the fork, when memory may still be allocated; the child only walks it. It consists of the
//! gaps between what is kept, so it also covers what another thread maps meanwhile.

use std::{collections::BTreeSet, fs, ops::Range};

/// Gaps at the most: a program, its two libraries and the kernel's pages have about twenty.
const MOST: usize = 64;

/// Bytes of anonymous memory that are kept on either side of a needed address: of the stack, and of the thread's own
/// data, which are far closer together. The kernel joins neighboring mappings, so their bounds say nothing.
const AROUND: usize = 64 << 10;

/// A multiple of every page size.
const PAGES: usize = 64 << 10;

/// The ranges to unmap, on the stack: the heap is among them.
pub(super) struct Surplus {
    ranges: [(usize, usize); MOST],
    len: usize,
}

impl Surplus {
    /// Unmaps them. Async-signal-safe; true if all of it worked.
    ///
    /// # Safety
    /// From here on the process may only use code and data of the program and the C library, this stack and the
    /// `shared` mapping.
    pub(super) unsafe fn unmap(&self) -> bool {
        let mut all = true;
        for &(start, end) in &self.ranges[..self.len] {
            // SAFETY: the caller uses nothing of it any more.
            all &= unsafe { libc::syscall(libc::SYS_munmap, start, end - start) } == 0;
        }
        all
    }

    fn of(gaps: &[Range<usize>]) -> Option<Self> {
        let mut surplus = Self { ranges: [(0, 0); MOST], len: gaps.len() };
        for (place, gap) in surplus.ranges.get_mut(..gaps.len())?.iter_mut().zip(gaps) {
            *place = (gap.start, gap.end);
        }
        Some(surplus)
    }
}

/// The mappings that a child of the calling thread can unmap if it needs only the program, the C library, its stack and the
/// page at `shared`. `None` if the system does not show the mappings.
pub(super) fn surplus(shared: usize) -> Option<Surplus> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let local = 0_u8;
    // SAFETY: no memory is involved. 0 in a program without an interpreter.
    let linker = unsafe { libc::getauxval(libc::AT_BASE) } as usize;
    // SAFETY: the address of the calling thread's errno; nothing is read.
    let own_data = unsafe { libc::__errno_location() }.addr();
    let needs = Needs {
        code: [surplus as *const () as usize, libc::syscall as *const () as usize, linker],
        memory: [std::ptr::from_ref(&local).addr(), own_data, shared],
    };
    Surplus::of(&gaps(&parse(&maps)?, &needs)?)
}

/// Resident memory of a process, to the page.
pub(super) fn resident_kib(pid: libc::pid_t) -> Option<u64> {
    let sums = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let resident = sums.lines().find_map(|line| line.strip_prefix("Rss:"))?;
    resident.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// How many mappings a process has.
pub(super) fn mappings(pid: libc::pid_t) -> Option<u64> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    Some(maps.lines().count() as u64)
}

/// Addresses that must stay.
struct Needs {
    /// Addresses in files that are kept whole, with the zeroed data that follows them.
    code: [usize; 3],
    /// Addresses in anonymous memory that is kept around them.
    memory: [usize; 3],
}

/// A line of `/proc/self/maps`.
struct Mapped<'a> {
    range: Range<usize>,
    /// Device and inode; `None` for anonymous memory.
    file: Option<(&'a str, &'a str)>,
    /// The first word of it.
    name: &'a str,
}

fn parse(maps: &str) -> Option<Vec<Mapped<'_>>> {
    let line = |line| {
        let mut fields = str::split_whitespace(line);
        let (start, end) = fields.next()?.split_once('-')?;
        let address = |digits| usize::from_str_radix(digits, 16).ok();
        let (device, inode) = (fields.nth(2)?, fields.next()?);
        Some(Mapped {
            range: address(start)?..address(end)?,
            file: (inode != "0").then_some((device, inode)),
            name: fields.next().unwrap_or_default(),
        })
    };
    maps.lines().map(line).collect()
}

/// The gaps between the kept ranges, in order. `None` if a needed address is not mapped.
fn gaps(mapped: &[Mapped<'_>], needs: &Needs) -> Option<Vec<Range<usize>>> {
    // The last page of some architectures is not in the part of the address space that can be unmapped.
    let within: Vec<_> = mapped.iter().filter(|mapping| mapping.name != "[vsyscall]").collect();
    let (first, last) = (within.first()?.range.start, within.last()?.range.end);
    let mut gaps = Vec::new();
    let mut free = first;
    for range in kept(&within, needs)?.into_iter().chain(std::iter::once(last..last)) {
        if free < range.start {
            gaps.push(free..range.start);
        }
        free = free.max(range.end);
    }
    Some(gaps)
}

/// The ranges that must stay, in order. `None` if a needed address is not mapped.
fn kept(mapped: &[&Mapped<'_>], needs: &Needs) -> Option<Vec<Range<usize>>> {
    let holder = |address| mapped.iter().find(|mapping| mapping.range.contains(&address));
    let code = needs.code.iter().filter(|&&address| address != 0);
    let files = code.map(|&address| holder(address)?.file).collect::<Option<BTreeSet<_>>>()?;
    needs.memory.iter().try_for_each(|&address| holder(address).map(drop))?;
    let mut kept = Vec::new();
    let mut file_end = 0;
    for mapping in mapped {
        let Range { start, end } = mapping.range;
        if mapping.file.is_some_and(|file| files.contains(&file)) {
            kept.push(start..end);
            file_end = end;
            continue;
        }
        // The pages of the kernel: vdso and what it reads.
        if mapping.name.starts_with("[v") {
            kept.push(start..end);
            continue;
        }
        if file_end == start && mapping.file.is_none() {
            kept.push(start..end.min(start + AROUND));
        }
        for &address in needs.memory.iter().filter(|address| mapping.range.contains(address)) {
            let from = address.saturating_sub(AROUND) & !(PAGES - 1);
            let to = (address + AROUND).next_multiple_of(PAGES);
            kept.push(start.max(from)..end.min(to));
        }
    }
    kept.sort_by_key(|range| range.start);
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
10000-20000 r-xp 00000000 fe:00 7 /opt/a program
20000-30000 rw-p 00010000 fe:00 7 /opt/a program
30000-90000 rw-p 00000000 00:00 0
100000-900000 rw-p 00000000 00:00 0 [heap]
1000000-1010000 r--p 00000000 fe:00 8 /lib/other.so
2000000-2010000 r-xp 00000000 fe:00 9 /lib/libc.so
3000000-3001000 rw-s 00000000 00:01 44 /dev/zero (deleted)
4000000-4800000 rw-p 00000000 00:00 0
5000000-5002000 r-xp 00000000 00:00 0 [vdso]
6000000-6100000 rw-p 00000000 00:00 0 [stack]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]
";

    fn needs() -> Needs {
        Needs { code: [0x1_1000, 0x200_1000, 0], memory: [0x60f_f000, 0x440_ffff, 0x300_0000] }
    }

    #[test]
    fn only_what_is_needed_is_kept() {
        let gaps = gaps(&parse(MAPS).unwrap(), &needs()).unwrap();
        let expected = [
            0x4_0000..0x200_0000,
            0x201_0000..0x300_0000,
            0x300_1000..0x43f_0000,
            0x442_0000..0x500_0000,
            0x500_2000..0x60e_0000,
        ];
        assert_eq!(gaps, expected);
    }

    #[test]
    fn nothing_is_unmapped_when_something_needed_is_not_found() {
        let mapped = parse(MAPS).unwrap();
        assert_eq!(gaps(&mapped, &Needs { code: [0x1000, 0, 0], ..needs() }), None);
        assert_eq!(gaps(&mapped, &Needs { memory: [0x1000; 3], ..needs() }), None);
        // Code in anonymous memory has no file by which the rest of it is known.
        assert_eq!(gaps(&mapped, &Needs { code: [0x3_0000, 0, 0], ..needs() }), None);
        assert!(parse("not a mapping\n").is_none());
    }

    #[test]
    fn what_this_thread_uses_survives() {
        let word = Box::new(0_u8);
        let surplus = surplus(std::ptr::from_ref(&*word).addr()).expect("/proc is mounted");
        let local = 0_u8;
        let address = std::ptr::from_ref(&local).addr();
        assert!(surplus.ranges.iter().all(|&(start, end)| !(start..end).contains(&address)));
    }
}

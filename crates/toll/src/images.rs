//! The code mappings of each process, recorded while it ran: its address space is gone when the bill is made, its files
//! usually not.

use crate::rings::{Record, What};
use std::collections::BTreeMap;
use std::fs;
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use tollgate_measure::clock::monotonic_ns;

/// Code of a file in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    start: u64,
    end: u64,
    offset: u64,
    file: Rc<Mapped>,
}

/// A file as it was when it was first mapped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mapped {
    pub(crate) path: String,
    pub(crate) since: SystemTime,
}

/// The code of all processes. A process has a new image with each program that it executes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Images {
    current: BTreeMap<libc::pid_t, u32>,
    mapped: BTreeMap<(libc::pid_t, u32), Rc<Vec<Mapping>>>,
    /// By their paths, so that the same code in two processes is the same.
    files: BTreeMap<String, Rc<Mapped>>,
}

impl Images {
    /// The number of a process' current image.
    pub(crate) fn current(&self, pid: libc::pid_t) -> u32 {
        self.current.get(&pid).copied().unwrap_or(0)
    }

    /// Takes what the kernel reports.
    pub(crate) fn apply(&mut self, record: &Record) {
        match &record.what {
            What::Process(parent) => {
                let image = self.current(*parent);
                self.current.insert(record.pid, image);
                let mapped = self.mapped.get(&(*parent, image)).cloned().unwrap_or_default();
                self.mapped.insert((record.pid, image), mapped);
            }
            What::Exec => self.executed(record.pid),
            What::Map { start, bytes, offset, path } => {
                let ago = Duration::from_nanos(monotonic_ns().saturating_sub(record.time));
                let file = self.file(path, SystemTime::now() - ago);
                let mapping = Mapping { start: *start, end: start + bytes, offset: *offset, file };
                let image = self.current(record.pid);
                Rc::make_mut(self.mapped.entry((record.pid, image)).or_default()).push(mapping);
            }
            _ => {}
        }
    }

    /// A process has executed another program.
    pub(crate) fn executed(&mut self, pid: libc::pid_t) {
        let image = self.current(pid) + 1;
        self.current.insert(pid, image);
        self.mapped.insert((pid, image), Rc::default());
    }

    /// Reads the current mappings of a process.
    pub(crate) fn read(&mut self, pid: libc::pid_t) {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        let since = SystemTime::now();
        let mapped = maps.lines().filter_map(|line| self.mapping(line, since)).collect();
        self.mapped.insert((pid, self.current(pid)), Rc::new(mapped));
    }

    /// The file of an address, and the place in it.
    pub(crate) fn find(&self, pid: libc::pid_t, image: u32, address: u64) -> Option<(Rc<Mapped>, u64)> {
        let mapped = self.mapped.get(&(pid, image))?;
        // The newest is the one that is there.
        let mapping = mapped.iter().rev().find(|it| (it.start..it.end).contains(&address))?;
        Some((mapping.file.clone(), address - mapping.start + mapping.offset))
    }

    fn file(&mut self, path: &str, since: SystemTime) -> Rc<Mapped> {
        let mapped = || Rc::new(Mapped { path: path.into(), since });
        self.files.entry(path.into()).or_insert_with(mapped).clone()
    }

    /// A line of proc_pid_maps(5), if it is code.
    fn mapping(&mut self, line: &str, since: SystemTime) -> Option<Mapping> {
        let mut words = line.splitn(6, ' ');
        let (range, access, offset) = (words.next()?, words.next()?, words.next()?);
        let path = words.nth(2).map_or("", str::trim_start);
        let (start, end) = range.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        let file = self.file(path, since);
        let mapping = Mapping { start: number(start)?, end: number(end)?, offset: number(offset)?, file };
        access.contains('x').then_some(mapping)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(pid: libc::pid_t, what: What) -> Record {
        Record { time: 0, pid, tid: pid, what }
    }

    fn map(start: u64, path: &str) -> What {
        What::Map { start, bytes: 0x1000, offset: 0x2000, path: path.into() }
    }

    #[test]
    fn a_child_has_the_code_of_its_parent_until_it_executes() {
        let mut images = Images::default();
        for it in [
            record(1, What::Exec),
            record(1, map(0x40_0000, "/a")),
            record(2, What::Process(1)),
            record(2, map(0x50_0000, "/library")),
            record(2, What::Exec),
            record(2, map(0x40_0000, "/b")),
            record(1, map(0x40_0000, "/newer")),
        ] {
            images.apply(&it);
        }
        let find = |pid, image, address| {
            images.find(pid, image, address).map(|(file, offset)| (file.path.clone(), offset))
        };
        assert_eq!((images.current(1), images.current(2)), (1, 2));
        assert_eq!(find(2, 1, 0x40_0123), Some(("/a".into(), 0x2123)));
        assert_eq!(find(2, 1, 0x50_0000), Some(("/library".into(), 0x2000)));
        assert_eq!(find(2, 2, 0x40_0000), Some(("/b".into(), 0x2000)));
        assert_eq!(find(2, 2, 0x50_0000), None);
        assert_eq!(find(1, 1, 0x40_0fff), Some(("/newer".into(), 0x2fff)));
        assert_eq!(find(1, 1, 0x40_1000), None);
    }

    #[test]
    fn a_line_of_code_is_read_with_blanks_in_its_name() {
        let (mut images, since) = (Images::default(), SystemTime::UNIX_EPOCH);
        let line = "7f1c2a000000-7f1c2a001000 r-xp 00003000 fe:00 1234                       /a b/c.so";
        let it = images.mapping(line, since).unwrap();
        assert_eq!((it.start, it.end, it.offset), (0x7f1c_2a00_0000, 0x7f1c_2a00_1000, 0x3000));
        assert_eq!(it.file.path, "/a b/c.so");
        assert_eq!(images.mapping("7f1c2a000000-7f1c2a001000 rw-p 00000000 00:00 0", since), None);
        assert!(images.mapping("7f1c2a000000-7f1c2a001000 rwxp 00000000 00:00 0", since).is_some());
    }
}

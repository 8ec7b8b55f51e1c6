//! A page that is on disk only: the fault that reads it in, and a direct read for comparison, which costs what the
//! device costs.

use super::kind::{self, Counted, OFF_CPU, Pages, TOUCH, WALL};
use super::scratch;
use crate::map::{Map, page_bytes};
use crate::mechanism::{Mechanism, Opened};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr;
use tollgate_measure::{Meta, Refusal, Site};
use tollgate_record::Per;

/// Pages of the file: 16 MiB where a page has 4 KiB.
const PAGES: usize = 4096;
/// The most pages of one batch.
const BATCH: usize = 64;

/// The next page of a file, in an order that readahead cannot predict and that visits every page before it repeats
/// one: full period needs an odd addend and a factor that is 1 modulo 4 (Knuth, volume 2, 3.2.1.2).
struct Order(usize);

impl Order {
    fn next(&mut self) -> usize {
        self.0 = (self.0 * 1_229 + 1_031) % PAGES;
        self.0
    }
}

/// A file that is on disk and not in the page cache.
fn on_disk() -> Result<File, Refusal> {
    let file = scratch::file(PAGES * page_bytes(), 1 << 20)?;
    file.sync_all()?;
    evict(&file, 0, PAGES)?;
    Ok(file)
}

/// Drops pages from the page cache.
fn evict(file: &File, first: usize, pages: usize) -> Result<(), Refusal> {
    let at = |pages: usize| (pages * page_bytes()) as libc::off_t;
    // SAFETY: a descriptor and numbers; the call touches no memory of ours.
    match unsafe { libc::posix_fadvise(file.as_raw_fd(), at(first), at(pages), libc::POSIX_FADV_DONTNEED) } {
        0 => Ok(()),
        code => Err(Refusal::Failed(format!(
            "drop pages from the page cache: {}",
            std::io::Error::from_raw_os_error(code)
        ))),
    }
}

fn no_disk() -> Refusal {
    Refusal::skip(
        format!("the files of {} are not on a disk", std::env::temp_dir().display()),
        "set TMPDIR to a directory on a disk (for example /var/tmp)",
    )
}

struct OnDisk {
    file: File,
    map: Map,
    order: Order,
    batch: Vec<usize>,
}

impl Pages for OnDisk {
    fn arm(&mut self, passes: usize) -> Result<(), Refusal> {
        self.batch.clear();
        for _ in 0..passes {
            let page = self.order.next();
            self.map.forget(page, 1)?;
            evict(&self.file, page, 1)?;
            self.batch.push(page);
        }
        Ok(())
    }

    fn touch(&mut self, passes: usize) -> Result<(), Refusal> {
        for &page in &self.batch[..passes.min(self.batch.len())] {
            // SAFETY: the page is inside the mapping, which is readable.
            unsafe { ptr::read_volatile(self.map.page(page)) };
        }
        Ok(())
    }

    fn most(&self) -> usize {
        BATCH
    }
}

pub(crate) static MAJOR: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/major",
        what: "read of a file page that is on disk only, at random, with no readahead",
        proof: &[kind::MAJOR, OFF_CPU, WALL],
        ..TOUCH
    },
    open: open_major,
};

fn open_major(meta: &'static Meta, _: &Site) -> Opened {
    let file = on_disk()?;
    let map = Map::of_file(&file, PAGES)?;
    map.advise(0, PAGES, libc::MADV_RANDOM, "switch readahead off")?;
    let mut resident = [1_u8; 1];
    // SAFETY: one page of our own mapping, and a byte for it.
    let told = unsafe { libc::mincore(map.page(0).cast(), page_bytes(), resident.as_mut_ptr()) };
    if told == 0 && resident[0] & 1 == 1 {
        return Err(no_disk());
    }
    Counted::open(OnDisk { file, map, order: Order(0), batch: Vec::with_capacity(BATCH) }, meta.proof)
}

/// A file that is read directly, past the page cache.
struct Direct {
    file: File,
    /// One page for the device to write to.
    buffer: Map,
    order: Order,
}

impl Pages for Direct {
    fn arm(&mut self, _: usize) -> Result<(), Refusal> {
        Ok(())
    }

    fn touch(&mut self, passes: usize) -> Result<(), Refusal> {
        let bytes = self.buffer.page_bytes();
        let mut short = false;
        for _ in 0..passes {
            let at = (self.order.next() * bytes) as libc::off_t;
            // SAFETY: the buffer is one page long, writable, and no reference to it exists.
            let read = unsafe { libc::pread(self.file.as_raw_fd(), self.buffer.page(0).cast(), bytes, at) };
            short |= read != bytes as isize;
        }
        if short { Err(Refusal::os("read past the page cache")) } else { Ok(()) }
    }

    fn most(&self) -> usize {
        BATCH
    }
}

pub(crate) static DIRECT_READ: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/direct-read",
        what: "O_DIRECT read of one page at random from the same device: the floor of a major fault",
        per: Per::Operation,
        proof: &[OFF_CPU, WALL],
        ..TOUCH
    },
    open: open_direct_read,
};

fn open_direct_read(meta: &'static Meta, _: &Site) -> Opened {
    let file = on_disk()?;
    // SAFETY: the descriptor is ours; the calls take integers.
    let set = unsafe {
        let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags | libc::O_DIRECT)
    };
    if set < 0 {
        return Err(Refusal::skip(
            format!("the file system of {} has no O_DIRECT", std::env::temp_dir().display()),
            "set TMPDIR to a directory on a disk (for example /var/tmp)",
        ));
    }
    Counted::open(Direct { file, buffer: Map::private(1)?, order: Order(0) }, meta.proof)
}

#[cfg(test)]
mod tests {
    use super::{Order, PAGES};

    #[test]
    fn the_order_meets_every_page_once() {
        let mut order = Order(0);
        let mut met = vec![false; PAGES];
        (0..PAGES).for_each(|_| met[order.next()] = true);
        assert!(met.iter().all(|&met| met));
    }
}

//! A fault that another thread of the program handles through userfaultfd.

use super::kind::{Counted, MAPPED, Pages, TOUCH, write_each};
use crate::map::{Map, page_bytes};
use crate::mechanism::Mechanism;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::{io, mem, ptr};
use tollgate_measure::{Claim, Meta, Placement, Refusal, leave_room, placement};

/// One answer for each touch, counted by the answering thread.
const ANSWERS: Claim = Claim::exact("answers-per-touch");

/// Pages of the region. A touch of one more ends the thread.
const PAGES: usize = 256;

// include/uapi/linux/userfaultfd.h, which the libc crate does not have. The numbers are those of the
// architectures with the generic encoding of ioctls: x86, ARM, RISC-V.
const USER_MODE_ONLY: libc::c_int = 1;
const API: u64 = 0xAA;
const UFFDIO_API: libc::c_ulong = 0xc018_aa3f;
const UFFDIO_REGISTER: libc::c_ulong = 0xc020_aa00;
const UFFDIO_UNREGISTER: libc::c_ulong = 0x8010_aa01;
const UFFDIO_COPY: libc::c_ulong = 0xc028_aa03;
const MODE_MISSING: u64 = 1;
const EVENT_PAGEFAULT: u8 = 0x12;

#[repr(C)]
struct Register {
    start: u64,
    len: u64,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct Copy {
    dst: u64,
    src: u64,
    len: u64,
    mode: u64,
    copied: i64,
}

/// The kernel's message about one fault.
#[repr(C)]
struct Message {
    event: u8,
    _reserved: [u8; 7],
    _flags: u64,
    address: u64,
    _rest: u64,
}

/// Shared by the answering thread and the touching one.
#[derive(Default)]
struct Tally {
    answers: AtomicU64,
    /// The error that ended the thread.
    error: AtomicI32,
}

fn ioctl<T>(descriptor: &OwnedFd, request: libc::c_ulong, argument: &mut T) -> io::Result<()> {
    // SAFETY: each request above is used with the structure that the kernel's header names for it.
    match unsafe { libc::ioctl(descriptor.as_raw_fd(), request as _, ptr::from_mut(argument)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Answers faults until the one of the last page.
fn answer(descriptor: &OwnedFd, region: (u64, u64), tally: &Tally) -> io::Result<()> {
    let page = page_bytes() as u64;
    let source = vec![7_u8; page as usize];
    loop {
        // SAFETY: plain data for which all zeroes is valid.
        let mut message: Message = unsafe { mem::zeroed() };
        let size = mem::size_of::<Message>();
        // SAFETY: the message is a valid place for `size` bytes.
        let read = unsafe { libc::read(descriptor.as_raw_fd(), ptr::from_mut(&mut message).cast(), size) };
        if read != size as isize {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Err(error);
        }
        if message.event != EVENT_PAGEFAULT {
            continue;
        }
        let start = message.address & !(page - 1);
        tally.answers.fetch_add(1, Ordering::Relaxed);
        let (dst, src) = (start, source.as_ptr() as u64);
        ioctl(descriptor, UFFDIO_COPY, &mut Copy { dst, src, len: page, mode: 0, copied: 0 })?;
        if start == region.0 + region.1 - page {
            return Ok(());
        }
    }
}

/// A region whose faults a thread answers.
struct Answered {
    map: Map,
    tally: Arc<Tally>,
    thread: Option<JoinHandle<()>>,
    /// Answers before the current batch.
    before: u64,
}

impl Answered {
    fn new(cpu: usize) -> Result<Self, Refusal> {
        // SAFETY: flags only; the call gives a new descriptor or an error.
        let descriptor = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | USER_MODE_ONLY) };
        if descriptor < 0 {
            return Err(Refusal::skip(
                format!("userfaultfd is refused: {}", io::Error::last_os_error()),
                "a kernel with CONFIG_USERFAULTFD (5.11 or later), outside a sandbox that refuses the call",
            ));
        }
        // SAFETY: the descriptor is new and nothing else owns it.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor as i32) };
        let failed = |what: &str| {
            let what = what.to_owned();
            move |error: io::Error| Refusal::Failed(format!("{what}: {error}"))
        };
        let mut api = [API, 0, 0];
        ioctl(&descriptor, UFFDIO_API, &mut api).map_err(failed("begin with userfaultfd"))?;
        let map = Map::private(PAGES + 1)?;
        map.small_pages()?;
        let region = (map.page(0) as u64, ((PAGES + 1) * map.page_bytes()) as u64);
        let mut register = Register { start: region.0, len: region.1, mode: MODE_MISSING, ioctls: 0 };
        ioctl(&descriptor, UFFDIO_REGISTER, &mut register).map_err(failed("register a region"))?;
        // A thread that finds no room for its stack of signals ends the process.
        leave_room()?;
        let tally = Arc::new(Tally::default());
        let shared = Arc::clone(&tally);
        let work = move || {
            let done = placement::pin(cpu).and_then(|()| answer(&descriptor, region, &shared));
            if let Err(error) = done {
                shared.error.store(error.raw_os_error().unwrap_or(libc::EIO), Ordering::Relaxed);
                // The touching thread must not wait for ever: without the region these are ordinary faults.
                let _ = ioctl(&descriptor, UFFDIO_UNREGISTER, &mut [region.0, region.1]);
            }
        };
        let thread = thread::Builder::new().name("answers".into()).stack_size(64 << 10).spawn(work);
        let thread = thread.map_err(|error| crate::task::task_refusal("thread creation", &error))?;
        Ok(Self { map, tally, thread: Some(thread), before: 0 })
    }
}

impl Drop for Answered {
    fn drop(&mut self) {
        let _ = self.map.forget(PAGES, 1);
        // SAFETY: the last page is inside the mapping. When its fault is answered the thread ends.
        unsafe { ptr::write_volatile(self.map.page(PAGES), 1) };
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Pages for Answered {
    fn arm(&mut self, passes: usize) -> Result<(), Refusal> {
        self.before = self.tally.answers.load(Ordering::Relaxed);
        self.map.forget(0, passes)
    }

    fn touch(&mut self, passes: usize) -> Result<(), Refusal> {
        // SAFETY: the mapping has more pages, all writable.
        unsafe { write_each(self.map.page(0), self.map.page_bytes(), passes) };
        match self.tally.error.load(Ordering::Relaxed) {
            0 => Ok(()),
            code => Err(Refusal::Failed(format!(
                "the answering thread stopped: {}",
                io::Error::from_raw_os_error(code)
            ))),
        }
    }

    fn most(&self) -> usize {
        PAGES
    }

    fn mapped(&self) -> Option<u64> {
        self.map.present_count(PAGES)
    }

    fn counted(&self) -> Option<u64> {
        Some(self.tally.answers.load(Ordering::Relaxed) - self.before)
    }
}

pub(crate) static SAME_CPU: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/userfaultfd",
        what: "first write to a page that a thread on the same CPU fills through userfaultfd, there and back",
        proof: &[ANSWERS, MAPPED],
        ..TOUCH
    },
    open: |meta, site| Counted::open(Answered::new(site.cpu)?, meta.proof),
};

pub(crate) static OTHER_CPU: Mechanism = Mechanism {
    meta: &Meta {
        id: "fault/userfaultfd-other-cpu",
        what: "first write to a page that a thread on another CPU fills through userfaultfd, there and back",
        placement: Placement::Pair,
        proof: &[ANSWERS, MAPPED],
        ..TOUCH
    },
    open: |meta, site| {
        let Some(peer) = site.peer else {
            return Err(Refusal::skip("it needs two CPUs and only one may be used", "a second CPU"));
        };
        Counted::open(Answered::new(peer)?, meta.proof)
    },
};

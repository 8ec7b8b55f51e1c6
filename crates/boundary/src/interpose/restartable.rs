//! A trap inside a restartable sequence (rseq(2)), which the kernel aborts, against the same trap outside.

use super::taxed::taxed;
use crate::mechanism::{Mechanism, Opened, ROW};
use tollgate_measure::{Claim, Meta};
use tollgate_record::Per;

pub(super) static ABORT: Mechanism = Mechanism {
    meta: &Meta {
        id: "interpose/rseq-abort",
        what: "a breakpoint inside a restartable sequence: its signal is handled, the sequence aborted",
        per: Per::Operation,
        proof: &[Claim::exact("right-answers-per-operation"), Claim::exact("signals-per-operation")],
        ..ROW
    },
    open: |_, _| taxed(open(true), open(false), [2, 2]),
};

#[cfg(not(target_arch = "x86_64"))]
fn open(_: bool) -> Opened {
    Err(tollgate_measure::Refusal::skip(
        "the sequence is written in the code of another architecture",
        "an x86-64 machine",
    ))
}

#[cfg(target_arch = "x86_64")]
fn open(is_sequence: bool) -> Opened {
    machine::open(is_sequence)
}

#[cfg(target_arch = "x86_64")]
mod machine {
    use crate::mechanism::Opened;
    use crate::task::Handler;
    use std::cell::Cell;
    use std::marker::PhantomData;
    use std::{io, mem, ptr};
    use tollgate_measure::{Crossing, Refusal};

    thread_local! {
        /// How often the handler ran on this thread.
        static HANDLED: Cell<u64> = const { Cell::new(0) };
    }

    extern "C" fn handle(_: libc::c_int) {
        // A constant without a destructor is plain thread-local storage, safe to reach from a handler.
        HANDLED.with(|handled| handled.set(handled.get() + 1));
    }

    /// The four bytes before the code that an abort goes to; the C library's choice (sys/rseq.h).
    const SIGNATURE: u32 = 0x5305_3053;

    /// `struct rseq` of linux/rseq.h as of Linux 4.18.
    #[repr(C, align(32))]
    struct Area {
        processors: [u32; 2],
        sequence: *const Sequence,
        flags: u32,
    }

    /// `struct rseq_cs` of linux/rseq.h.
    #[repr(C, align(32))]
    struct Sequence {
        version: u32,
        flags: u32,
        start: u64,
        length: u64,
        abort: u64,
    }

    /// Writes rsi to what rdi points at, then stops at a breakpoint. The result is 1 if it was aborted there.
    #[unsafe(naked)]
    extern "C" fn sequence(place: *mut *const Sequence, sequence: *const Sequence) -> u64 {
        core::arch::naked_asm!(
            "mov [rdi], rsi",
            "int3",
            "xor eax, eax",
            "ret",
            ".byte 0x0f, 0xb9, 0x3d",
            ".long {signature}",
            "mov eax, 1",
            "ret",
            signature = const SIGNATURE,
        )
    }

    // Offsets in the code above. A breakpoint is reported at the instruction behind it, which is part of the sequence. The
    // signature ends where the abort goes to.
    const START: u64 = 3;
    const LENGTH: u64 = 1 + 2;
    const ABORT: u64 = START + LENGTH + 1 + 3 + 4;

    /// The area that the kernel reads for this thread.
    enum Registered {
        /// The C library's.
        Library(*mut Area),
        /// Ours, until it is dropped.
        Own(Box<Area>),
    }

    impl Registered {
        fn find() -> Result<Self, Refusal> {
            if let Some(area) = of_library() {
                return Ok(Self::Library(area));
            }
            let mut area = Box::new(Area { processors: [0; 2], sequence: ptr::null(), flags: 0 });
            match call(&mut area, 0) {
                0 => Ok(Self::Own(area)),
                _ => Err(Refusal::skip(
                    format!("the kernel takes no restartable sequences here: {}", io::Error::last_os_error()),
                    "Linux 4.18 or newer with CONFIG_RSEQ, outside a sandbox that refuses rseq",
                )),
            }
        }

        fn place(&mut self) -> *mut *const Sequence {
            match self {
                // SAFETY: the area of a thread that lives; the field is ours to write, which the kernel reads.
                Self::Library(area) => unsafe { &raw mut (**area).sequence },
                Self::Own(area) => &raw mut area.sequence,
            }
        }
    }

    impl Drop for Registered {
        fn drop(&mut self) {
            const UNREGISTER: libc::c_int = 1;
            match self {
                // SAFETY: as in `place`; the kernel must not read a sequence that is gone.
                Self::Library(area) => unsafe { (**area).sequence = ptr::null() },
                Self::Own(area) => _ = call(area, UNREGISTER),
            }
        }
    }

    fn call(area: &mut Area, flags: libc::c_int) -> libc::c_long {
        const BYTES: libc::c_int = mem::size_of::<Area>() as libc::c_int;
        // SAFETY: the area stays where it is until it is unregistered; other numbers are only compared.
        unsafe { libc::syscall(libc::SYS_rseq, ptr::from_mut(area), BYTES, flags, SIGNATURE) }
    }

    /// The area that the C library registered for this thread (glibc 2.35: `__rseq_offset` from the thread pointer).
    fn of_library() -> Option<*mut Area> {
        // SAFETY: names are C strings; the symbols have these types wherever they exist.
        let (size, offset) = unsafe {
            let size = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()).cast::<u32>();
            let offset = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()).cast::<isize>();
            (size.as_ref()?, offset.as_ref()?)
        };
        let pointer: *mut u8;
        // SAFETY: the first word of a thread's control block is its own address (System V ABI, x86-64 supplement, 3.4.2).
        unsafe {
            std::arch::asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, readonly, preserves_flags));
        }
        (*size > 0).then(|| pointer.wrapping_offset(*offset).cast())
    }

    pub(super) fn open(is_sequence: bool) -> Opened {
        let handler = Handler::install(libc::SIGTRAP, handle)?;
        let mut area = if is_sequence { Some(Registered::find()?) } else { None };
        let start = sequence as *const () as u64 + START;
        let sequence = Sequence { version: 0, flags: 0, start, length: LENGTH, abort: start - START + ABORT };
        let mut nowhere = Box::new(ptr::null());
        let place = area.as_mut().map_or(&raw mut *nowhere, Registered::place);
        Ok(Box::new(Traps {
            place,
            sequence: Box::new(sequence),
            is_sequence,
            right: 0,
            signals: 0,
            _parts: (area, nowhere, handler),
            _thread: PhantomData,
        }))
    }

    struct Traps {
        /// Where the address of the sequence is written: what the kernel reads, or memory of no meaning.
        place: *mut *const Sequence,
        sequence: Box<Sequence>,
        is_sequence: bool,
        right: u64,
        signals: u64,
        _parts: (Option<Registered>, Box<*const Sequence>, Handler),
        /// The area belongs to one thread.
        _thread: PhantomData<*const ()>,
    }

    impl Crossing for Traps {
        fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
            let before = HANDLED.get();
            let expected = u64::from(self.is_sequence);
            let trap = |_| u64::from(sequence(self.place, &raw const *self.sequence) == expected);
            self.right += (0..passes).map(trap).sum::<u64>();
            self.signals += HANDLED.get() - before;
            Ok(())
        }

        fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
            counts[0] = Some(mem::take(&mut self.right));
            counts[1] = Some(mem::take(&mut self.signals));
            Ok(())
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// The bytes of the code (Intel SDM volume 2: INT3 is cc), and linux/rseq.h: the signature is before the abort.
        #[test]
        fn the_offsets_are_those_of_the_code() {
            let code = sequence as *const u8;
            // SAFETY: the function's own code, which is longer.
            let bytes = unsafe { std::slice::from_raw_parts(code, ABORT as usize + 1) };
            assert_eq!(bytes[START as usize], 0xcc);
            let abort = ABORT as usize;
            assert_eq!(bytes[abort - 4..abort], SIGNATURE.to_le_bytes());
            assert_eq!(bytes[abort], 0xb8, "mov eax");
        }
    }
}

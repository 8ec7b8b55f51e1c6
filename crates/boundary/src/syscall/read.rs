//! A system call that goes through the file layer and copies to user memory: `read` of one byte.

use super::{ROW, raw, seccomp};
use crate::mechanism::Mechanism;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::{mem, ptr};
use tollgate_measure::{Crossing, Facts, Meta, Refusal};
use tollgate_record::family::ProbeAsked;

/// The cheapest file to read: it has no lock, wait queue, page cache or position, so only the file layer remains. A
/// pipe would have to be refilled between batches, and its mutex and wake-ups would be in the figure.
const SOURCE: &str = "/dev/zero";

pub(crate) static READ: Mechanism = Mechanism {
    meta: &Meta { id: "syscall/read", what: "system call read of one byte from /dev/zero", ..ROW },
    open: |_, _| {
        let file = File::open(SOURCE).map_err(|error| {
            // A limit of this process is not a fault of the device.
            if let limit @ Refusal::Skip { .. } = Refusal::of(&format!("open {SOURCE}"), &error) {
                return limit;
            }
            Refusal::skip(format!("open {SOURCE}: {error}"), format!("a {SOURCE} that this user may read"))
        })?;
        Ok(Box::new(OneByteReads { file, right: 0 }))
    },
};

struct OneByteReads {
    file: File,
    right: u64,
}

impl Crossing for OneByteReads {
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        let descriptor = self.file.as_raw_fd() as usize;
        let (mut byte, mut right) = (0u8, 0);
        let place = &raw mut byte;
        for _ in 0..passes {
            // SAFETY: `place` is a byte of ours to which only this loop and the system call write.
            let (result, got) = unsafe {
                ptr::write_volatile(place, 0xff);
                let result = raw::call3(libc::SYS_read, descriptor, place.expose_provenance(), 1);
                (result, ptr::read_volatile(place))
            };
            right += u64::from(result == 1 && got == 0);
        }
        self.right += right;
        Ok(())
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        counts[0] = Some(mem::take(&mut self.right));
        Ok(())
    }

    fn facts(&self) -> Facts {
        let asked = ProbeAsked { file: Some(SOURCE.into()), bytes: Some(1), ..ProbeAsked::default() };
        Facts::of_probe(asked, seccomp())
    }
}

#[cfg(test)]
mod tests {
    use super::OneByteReads;
    use std::fs::File;
    use tollgate_measure::Crossing;

    #[test]
    fn a_read_that_gives_nothing_is_not_counted() {
        let mut open = OneByteReads { file: File::open("/dev/null").unwrap(), right: 0 };
        open.cross(10).unwrap();
        let mut counts = [None];
        open.prove(&mut counts).unwrap();
        assert_eq!(counts, [Some(0)]);
    }
}

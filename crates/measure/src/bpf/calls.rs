//! Counts the system calls with one number, at the entry of all system calls, or with one result, at the exit.

use super::RawTracepoint;
use super::code::{ATOMIC, EXIT, IF_NOT_EQUAL, Instruction, LOAD, LOAD_MAP, MAP_VALUE, R0, R1, R2, SET, op};
use crate::refusal::Refusal;
use std::ffi::CStr;
use std::mem;
use std::os::fd::RawFd;
use std::sync::atomic::Ordering;

/// A BPF program on a raw tracepoint that counts system calls of all processes.
pub struct CallCounter {
    point: RawTracepoint,
    reported: u64,
}

impl CallCounter {
    /// Loads the program that counts at `sys_enter` the calls with this number. It is not attached.
    ///
    /// # Errors
    /// A skip where the kernel refuses it.
    pub fn open(number: u32) -> Result<Self, Refusal> {
        Self::load(c"sys_enter", number as i32)
    }

    /// Loads the program that counts at `sys_exit` the calls with this result. It is not attached.
    ///
    /// # Errors
    /// A skip where the kernel refuses it.
    pub fn of_results(result: i32) -> Result<Self, Refusal> {
        Self::load(c"sys_exit", result)
    }

    fn load(point: &'static CStr, value: i32) -> Result<Self, Refusal> {
        let count = |map| count_calls(map, value);
        Ok(Self { point: RawTracepoint::load(point, mem::size_of::<u64>(), count)?, reported: 0 })
    }

    /// Attaches the program, if it is not attached. From then on each system call of each process is slower.
    ///
    /// # Errors
    /// A skip where the kernel refuses it.
    pub fn attach(&mut self) -> Result<(), Refusal> {
        self.point.attach()
    }

    /// Detaches it.
    pub fn detach(&mut self) {
        self.point.detach();
    }

    /// The calls since the last report.
    pub fn count(&mut self) -> u64 {
        let now = self.point.word(0).load(Ordering::Relaxed);
        now - mem::replace(&mut self.reported, now)
    }
}

/// The arguments of the tracepoints are the registers and the call's number or result (include/trace/events/syscalls.h).
fn count_calls(map: RawFd, value: i32) -> Vec<Instruction> {
    let count = [
        op(LOAD_MAP, R1, MAP_VALUE, 0, map),
        op(0, 0, 0, 0, 0),
        op(SET, R2, 0, 0, 1),
        op(ATOMIC, R1, R2, 0, 0),
    ];
    let mut code = vec![op(LOAD, R1, R1, 8, 0), op(IF_NOT_EQUAL, R1, 0, count.len() as i16, value)];
    code.extend(count);
    code.extend([op(SET, R0, 0, 0, 0), op(EXIT, 0, 0, 0, 0)]);
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_number_jumps_to_the_end() {
        let code = count_calls(3, 7);
        let offset = u16::from_ne_bytes([code[1][2], code[1][3]]);
        assert_eq!(code[1 + 1 + usize::from(offset)], op(SET, R0, 0, 0, 0));
        assert_eq!(code.last(), Some(&op(EXIT, 0, 0, 0, 0)));
    }

    /// Where the kernel lets this process load it, it counts its own number while it is attached, and nothing else.
    #[test]
    fn only_calls_with_the_number_are_counted_while_it_is_attached() {
        const OWN: libc::c_long = 0x3ffd;
        // SAFETY: there are no such calls, so they do nothing.
        let call = |number| unsafe { libc::syscall(number) };
        counts_while_attached("number", CallCounter::open(OWN as u32), |own| call(OWN - i64::from(!own)));
    }

    /// A call that returns where it is in a file has any result that is asked for.
    #[test]
    fn only_calls_with_the_result_are_counted_while_it_is_attached() {
        const OWN: i32 = 0x3eed_5eed;
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        // SAFETY: takes integers only.
        let seek =
            |place| unsafe { libc::lseek(std::os::fd::AsRawFd::as_raw_fd(&file), place, libc::SEEK_SET) };
        counts_while_attached("result", CallCounter::of_results(OWN), |own| {
            seek(i64::from(OWN - i32::from(!own)))
        });
    }

    fn counts_while_attached(what: &str, counter: Result<CallCounter, Refusal>, call: impl Fn(bool) -> i64) {
        let mut counter = match counter {
            Ok(counter) => counter,
            Err(Refusal::Skip { reason, .. }) => return tollgate_testkit::skip_case!(what, "{reason}"),
            Err(error) => panic!("{error}"),
        };
        let call = |own, times| (0..times).for_each(|_| _ = call(own));
        call(true, 5);
        assert_eq!(counter.count(), 0, "not attached");
        counter.attach().unwrap();
        call(true, 7);
        call(false, 11);
        assert_eq!(counter.count(), 7);
        counter.detach();
        call(true, 3);
        assert_eq!(counter.count(), 0, "detached");
    }
}

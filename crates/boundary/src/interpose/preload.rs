//! A function of the C library in a program that was started with `LD_PRELOAD`, against one that was not.
//!
//! The order in which the loader searches objects is fixed when a program starts. So the calls are made by children, whose
//! program and object are in `guests/preload`.

use super::taxed::taxed_together;
use crate::mechanism::{Mechanism, Opened, ROW};
use crate::memory_file;
use crate::spawn::explain;
use crate::task::task_refusal;
use rustix::fs::MemfdFlags;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::{array, mem};
use tollgate_measure::{Claim, Crossing, Facts, Meta, Refusal};
use tollgate_record::family::{ProbeAsked, ProbeFound};

pub(super) static PRELOAD: Mechanism = Mechanism {
    meta: &Meta {
        id: "interpose/preload",
        what: "call of a C library function whose place an object of LD_PRELOAD takes: it counts and forwards",
        proof: &[Claim::exact("right-answers-per-call"), Claim::exact("hits-per-call")],
        ..ROW
    },
    open: |_, _| taxed_together(open(true), open(false), [2, 2], TOGETHER),
};

/// A call takes a few nanoseconds, and two context switches are subtracted from a span.
const TOGETHER: u64 = 50_000;

/// The program and the object for one architecture.
struct Guest {
    caller: &'static [u8],
    interposer: &'static [u8],
    /// The dynamic loader that the program names.
    loader: &'static str,
}

macro_rules! guest {
    ($arch:literal, $loader:literal) => {
        #[cfg(target_arch = $arch)]
        const GUEST: Option<Guest> = Some(Guest {
            caller: include_bytes!(concat!("../../guests/preload/images/caller-", $arch)),
            interposer: include_bytes!(concat!("../../guests/preload/images/interposer-", $arch)),
            loader: $loader,
        });
    };
}

guest!("x86_64", "/lib64/ld-linux-x86-64.so.2");
guest!("aarch64", "/lib/ld-linux-aarch64.so.1");
guest!("riscv64", "/lib/ld-linux-riscv64-lp64d.so.1");
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const GUEST: Option<Guest> = None;

fn open(is_preloaded: bool) -> Opened {
    let Some(guest) = GUEST else {
        return Err(Refusal::skip(
            format!("there is no program for the architecture {}", std::env::consts::ARCH),
            "add it to `cargo xtask guests` and to interpose/preload.rs",
        ));
    };
    if !Path::new(guest.loader).exists() {
        return Err(Refusal::skip(
            format!("the dynamic loader of the GNU C library, {}, is missing", guest.loader),
            "install the GNU C library (Debian: `apt-get install libc6`)",
        ));
    }
    let program = memory_file::executable("tollgate-caller", guest.caller, MemfdFlags::CLOEXEC)?;
    let mut command = Command::new(path(&program));
    command.env_clear();
    // The loader opens the object in the child, which must inherit it.
    let object = match is_preloaded {
        true => Some(memory_file::executable("tollgate-interposer", guest.interposer, MemfdFlags::empty())?),
        false => None,
    };
    if let Some(object) = &object {
        command.env("LD_PRELOAD", path(object));
    }
    Ok(Box::new(Caller::start(&mut command, is_preloaded)?))
}

fn path(file: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// The child, which makes the requested number of calls at each order. It ends with its input; dropping it waits for that.
struct Caller {
    child: Child,
    /// `None` when the child is to end.
    orders: Option<ChildStdin>,
    answers: ChildStdout,
    /// The sum of the results, which are 1.
    right: u64,
    /// The object's count at the last answer, and at the last proof.
    hits: [u64; 2],
}

impl Caller {
    fn start(command: &mut Command, is_preloaded: bool) -> Result<Self, Refusal> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|error| explain(task_refusal("start of a program", &error)))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(orders), Some(answers), Some(mut complaints)) = pipes else {
            return Err(Refusal::Failed("a child without its pipes".into()));
        };
        let mut caller = Self { child, orders: Some(orders), answers, right: 0, hits: [0; 2] };
        let started = caller.order(1);
        if started.is_ok() && caller.hits[0] == u64::from(is_preloaded) {
            (caller.right, caller.hits[1]) = (0, caller.hits[0]);
            return Ok(caller);
        }
        // The loader's reason, which it has printed by then.
        drop(caller);
        let mut reason = String::new();
        complaints.read_to_string(&mut reason)?;
        let reason = reason.lines().next().unwrap_or("it prints no reason");
        Err(Refusal::skip(
            format!("a program with an object in LD_PRELOAD does not start here: {reason}"),
            "mount /proc and install the GNU C library (Debian: `apt-get install libc6`)",
        ))
    }

    /// Orders these calls and sleeps until they are made.
    #[inline]
    fn order(&mut self, calls: u64) -> Result<(), Refusal> {
        let mut answer = [0; 16];
        let done = match &mut self.orders {
            Some(orders) => orders.write_all(&calls.to_ne_bytes()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        done.and_then(|()| self.answers.read_exact(&mut answer)).map_err(|error| {
            Refusal::Failed(format!("the program that makes the calls has ended: {error}"))
        })?;
        let [right, hits] = array::from_fn(|at| {
            let half = if at == 0 { &answer[..8] } else { &answer[8..] };
            half.try_into().map_or(0, u64::from_ne_bytes)
        });
        self.right += right;
        self.hits[0] = hits;
        Ok(())
    }
}

impl Crossing for Caller {
    /// An order for no call takes the same way there and back; the sampler subtracts it as the empty batch.
    fn cross(&mut self, passes: u64) -> Result<(), Refusal> {
        self.order(passes)
    }

    fn prove(&mut self, counts: &mut [Option<u64>]) -> Result<(), Refusal> {
        counts[0] = Some(mem::take(&mut self.right));
        counts[1] = Some(self.hits[0] - self.hits[1]);
        self.hits[1] = self.hits[0];
        Ok(())
    }

    fn facts(&self) -> Facts {
        let asked = ProbeAsked { function: Some("imaxabs".into()), ..ProbeAsked::default() };
        Facts::of_probe(asked, ProbeFound::default())
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        drop(self.orders.take());
        // Otherwise a child that does not read would be waited for. Both calls fail only for one that was reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many calls of ten were right, and how many the object counted.
    fn ten_calls(is_preloaded: bool) -> [Option<u64>; 2] {
        let mut open = open(is_preloaded).unwrap();
        let mut counts = [None; 2];
        open.cross(10).unwrap();
        open.prove(&mut counts).unwrap();
        counts
    }

    #[test]
    fn only_the_preloaded_object_counts() {
        if GUEST.is_none_or(|guest| !Path::new(guest.loader).exists()) {
            return tollgate_testkit::skip!("the GNU C library is missing: apt-get install libc6");
        }
        assert_eq!((ten_calls(true), ten_calls(false)), ([Some(10); 2], [Some(10), Some(0)]));
    }

    #[test]
    fn a_program_that_the_loader_refuses_is_a_skip_with_its_reason() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo no library >&2; exit 127"]);
        match Caller::start(&mut command, true) {
            Err(Refusal::Skip { reason, .. }) => assert!(reason.ends_with("no library"), "{reason}"),
            other => panic!("{:?}", other.err()),
        }
    }

    #[test]
    fn an_object_that_does_not_count_is_noticed() {
        let mut command = Command::new("/bin/sh");
        // One right result of eight bytes, and a count of 0.
        command.args(["-c", r"printf '\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'; exec cat > /dev/null"]);
        assert!(matches!(Caller::start(&mut command, true), Err(Refusal::Skip { .. })));
    }
}

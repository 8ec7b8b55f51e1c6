//! Whether the kernel's audit system records system calls.

use super::files::Files;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `NETLINK_AUDIT` (linux/netlink.h) and `AUDIT_GET` (linux/audit.h).
const NETLINK_AUDIT: i32 = 9;
const AUDIT_GET: u16 = 1000;

/// Whether audit is on, so that every task started since then has a record of its system calls: the kernel's own answer if
/// this process may request it, or else the kernel's command line. `None` if both are unknown.
pub fn audited() -> Option<bool> {
    ask().or_else(|| at_start(&Files::below("/".as_ref()).text("proc/cmdline")?))
}

/// The `audit=` of the kernel's command line; the last one counts.
fn at_start(line: &str) -> Option<bool> {
    match line.split_ascii_whitespace().filter_map(|word| word.strip_prefix("audit=")).next_back()? {
        "0" | "off" => Some(false),
        "1" | "on" => Some(true),
        _ => None,
    }
}

/// Asks the kernel, which answers those with CAP_AUDIT_CONTROL.
fn ask() -> Option<bool> {
    // SAFETY: integers only.
    let fd = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, NETLINK_AUDIT) };
    if fd < 0 {
        return None;
    }
    // SAFETY: the descriptor was just opened and nothing else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let header = libc::nlmsghdr {
        nlmsg_len: size_of::<libc::nlmsghdr>() as u32,
        nlmsg_type: AUDIT_GET,
        nlmsg_flags: libc::NLM_F_REQUEST as u16,
        nlmsg_seq: 1,
        nlmsg_pid: 0,
    };
    let mut answer = [0_u8; 256];
    let patience = libc::timeval { tv_sec: 0, tv_usec: 200_000 };
    // SAFETY: the option, the message and the buffer are valid for the lengths given.
    let got = unsafe {
        let size = size_of::<libc::timeval>() as u32;
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVTIMEO,
            (&raw const patience).cast(),
            size,
        );
        let sent = libc::send(socket.as_raw_fd(), (&raw const header).cast(), header.nlmsg_len as usize, 0);
        if sent < 0 {
            sent
        } else {
            libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0)
        }
    };
    enabled(answer.get(..usize::try_from(got).ok()?)?)
}

/// `enabled` of a `struct audit_status`, behind the header and the mask. A refusal is a message of another
/// type.
fn enabled(message: &[u8]) -> Option<bool> {
    let kind = u16::from_ne_bytes(message.get(4..6)?.try_into().ok()?);
    let enabled = u32::from_ne_bytes(message.get(20..24)?.try_into().ok()?);
    (kind == AUDIT_GET).then_some(enabled != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_answer() {
        let answer = |kind: u16, on: u32| {
            let mut message = vec![0; 24];
            message[4..6].copy_from_slice(&kind.to_ne_bytes());
            message[20..24].copy_from_slice(&on.to_ne_bytes());
            message
        };
        assert_eq!(enabled(&answer(AUDIT_GET, 1)), Some(true));
        assert_eq!(enabled(&answer(AUDIT_GET, 2)), Some(true), "2 is on and locked");
        assert_eq!(enabled(&answer(AUDIT_GET, 0)), Some(false));
        assert_eq!(enabled(&answer(2, 1)), None, "NLMSG_ERROR");
        for length in 0..24 {
            assert_eq!(enabled(&answer(AUDIT_GET, 1)[..length]), None);
        }
    }

    #[test]
    fn what_the_kernel_was_started_with() {
        assert_eq!(at_start("quiet audit=0 ro\n"), Some(false));
        assert_eq!(at_start("audit=0 audit=1"), Some(true), "the last one counts");
        for silent in ["", "quiet", "audit=", "noaudit=1", "audit=maybe"] {
            assert_eq!(at_start(silent), None, "{silent}");
        }
    }
}

//! Sockets: Unix stream and datagram, TCP over loopback, and a request with a header over a Unix socket.

use super::descriptor::{Ports, Wire};
use crate::task::media::{Passed, errno};
use crate::task::refusal;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::RawFd;
use std::os::unix::net;
use std::{io, ptr};
use tollgate_measure::Refusal;

/// Eight bytes through a Unix stream socket pair.
pub(super) enum UnixStream {}

impl Wire for UnixStream {
    fn pair() -> Result<[Ports; 2], Refusal> {
        let (one, other) = net::UnixStream::pair().map_err(|error| refusal("socketpair", &error))?;
        Ok(Ports::of_ends(one.into(), other.into()))
    }
}

/// Eight bytes through a Unix datagram socket pair.
pub(super) enum UnixDatagram {}

impl Wire for UnixDatagram {
    fn pair() -> Result<[Ports; 2], Refusal> {
        let (one, other) = net::UnixDatagram::pair().map_err(|error| refusal("socketpair", &error))?;
        Ok(Ports::of_ends(one.into(), other.into()))
    }
}

/// Eight bytes through a TCP connection over loopback, without Nagle's algorithm.
pub(super) enum Tcp {}

impl Wire for Tcp {
    fn pair() -> Result<[Ports; 2], Refusal> {
        let connected = || -> io::Result<[Ports; 2]> {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let one = TcpStream::connect(listener.local_addr()?)?;
            let own = one.local_addr()?;
            let other = loop {
                let (other, from) = listener.accept()?;
                // Anyone may connect to a port.
                if from == own {
                    break other;
                }
            };
            one.set_nodelay(true)?;
            other.set_nodelay(true)?;
            Ok(Ports::of_ends(one.into(), other.into()))
        };
        connected().map_err(|error| match error.raw_os_error() {
            Some(libc::EADDRNOTAVAIL | libc::ENETUNREACH | libc::EAFNOSUPPORT) => {
                Refusal::skip(format!("there is no loopback interface here: {error}"), "ip link set lo up")
            }
            _ => refusal("connect over loopback", &error),
        })
    }
}

/// The fixed part of a request, as D-Bus has it: it contains the length of what follows.
const HEADER: usize = 16;
/// The body.
const BODY: usize = 100;

/// A header and a body in one `sendmsg`; the header is received first, then as many bytes as it says.
pub(super) enum Request {}

impl Wire for Request {
    fn pair() -> Result<[Ports; 2], Refusal> {
        UnixStream::pair()
    }

    #[inline]
    fn put(output: RawFd) -> Passed {
        let (mut header, mut body) = ([0_u8; HEADER], [0x5a_u8; BODY]);
        header[..8].copy_from_slice(&(BODY as u64).to_ne_bytes());
        let mut parts = [
            libc::iovec { iov_base: header.as_mut_ptr().cast(), iov_len: HEADER },
            libc::iovec { iov_base: body.as_mut_ptr().cast(), iov_len: BODY },
        ];
        // SAFETY: a message of all zeroes has no address and no control data.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        (message.msg_iov, message.msg_iovlen) = (parts.as_mut_ptr(), parts.len() as _);
        // SAFETY: the message and its parts live; the kernel reads them only.
        match unsafe { libc::sendmsg(output, &message, libc::MSG_NOSIGNAL) } {
            sent if sent == (HEADER + BODY) as isize => Ok(()),
            0.. => Err(libc::EMSGSIZE),
            _ => Err(errno()),
        }
    }

    #[inline]
    fn get(input: RawFd) -> Passed {
        let (mut header, mut body) = ([0_u8; HEADER], [0_u8; BODY]);
        receive(input, &mut header)?;
        let length = header.first_chunk().map_or(0, |length| u64::from_ne_bytes(*length));
        if length != BODY as u64 {
            return Err(libc::EBADMSG);
        }
        receive(input, &mut body)
    }
}

#[inline]
fn receive(input: RawFd, into: &mut [u8]) -> Passed {
    let (at, bytes) = (into.as_mut_ptr().cast(), into.len());
    // SAFETY: the buffer is writable for its length; no address is asked for.
    match unsafe { libc::recvfrom(input, at, bytes, 0, ptr::null_mut(), ptr::null_mut()) } {
        0 => Err(libc::EPIPE),
        received if received == bytes as isize => Ok(()),
        1.. => Err(libc::EBADMSG),
        _ => Err(errno()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_request_arrives_whole_and_a_torn_one_is_refused() {
        let [one, other] = Request::pair().unwrap();
        Request::put(one.output.as_raw_fd()).unwrap();
        assert_eq!(Request::get(other.input.as_raw_fd()), Ok(()));
        // A header that announces another length.
        UnixStream::put(one.output.as_raw_fd()).unwrap();
        UnixStream::put(one.output.as_raw_fd()).unwrap();
        assert_eq!(Request::get(other.input.as_raw_fd()), Err(libc::EBADMSG));
        drop(one);
        assert_eq!(Request::get(other.input.as_raw_fd()), Err(libc::EPIPE));
    }
}

//! Wake-ups: one thread sends a message to another that sleeps, on the same CPU or on another core.
//!
//! The same round trip for every mechanism, so that the rows can be compared. The rows are not in the ladder.

mod descriptor;
mod idle;
mod parts;
mod queue;
mod readiness;
mod row;
mod signal;
mod socket;
mod timer;
mod uring;
mod word;

use crate::task::media::{Condvar, Eventfd, Futex, Pipe, Socketpair};
use descriptor::{Blocking, Through};
use idle::IdleWake;
use readiness::{Edge, Level, OneShot, Poll};
use row::Wake;
use std::time::Duration;
use tollgate_measure::Probe;
use uring::{Deferred, Polled, Read, Submitted};

type EventfdLevel = Through<descriptor::Count, Level>;

/// Every wake-up, in the order of the list.
pub(crate) const ROWS: &[&dyn Probe] = &[
    &Wake::<Futex>::here("wake/futex", "a futex wakes a thread on the same CPU"),
    &Wake::<word::Waitv>::here("wake/futex_waitv", "a futex wakes a thread that waits for two, same CPU"),
    &Wake::<Condvar>::here("wake/condvar", "a condition variable is notified, mutex held, same CPU"),
    &Wake::<Eventfd>::here("wake/eventfd", "blocking read of an eventfd, same CPU"),
    &Wake::<Pipe>::here("wake/pipe", "blocking read of a pipe, same CPU"),
    &Wake::<Socketpair>::here("wake/unix-stream", "blocking read of a Unix stream socket, same CPU"),
    &Wake::<Through<socket::UnixDatagram, Blocking>>::here(
        "wake/unix-datagram",
        "blocking read of a Unix datagram socket, same CPU",
    ),
    &Wake::<Through<socket::Tcp, Blocking>>::here(
        "wake/tcp",
        "blocking read of a TCP socket, loopback, same CPU",
    ),
    &Wake::<Through<descriptor::Count, Poll>>::here(
        "wake/poll",
        "poll of an eventfd, then its read, same CPU",
    ),
    &Wake::<EventfdLevel>::here("wake/epoll", "level-triggered epoll of an eventfd, then its read, same CPU"),
    &Wake::<Through<descriptor::Count, Edge>>::here(
        "wake/epoll-edge",
        "edge-triggered epoll of an eventfd, then its read, same CPU",
    ),
    &Wake::<Through<descriptor::Count, OneShot>>::here(
        "wake/epoll-oneshot",
        "one-shot epoll of an eventfd, its read, then armed again, same CPU",
    ),
    &Wake::<Through<socket::UnixStream, Level>>::here(
        "wake/epoll-socket",
        "level-triggered epoll of a Unix stream socket, then its read, same CPU",
    ),
    &Wake::<Through<socket::Request, Level>>::here(
        "wake/request",
        "a request of 116 bytes over a Unix socket: epoll, header, body, same CPU",
    ),
    &Wake::<signal::Signalfd>::here("wake/signalfd", "blocking read of a signal from a signalfd, same CPU"),
    &Wake::<Through<timer::Timer, Blocking>>::here(
        "wake/timerfd",
        "a timer of 1 ns is armed and read from its timerfd, same CPU",
    ),
    &Wake::<Through<queue::Posix, Blocking>>::here("wake/posix-queue", "a POSIX message queue, same CPU"),
    &Wake::<queue::SystemV>::here("wake/sysv-queue", "a System V message queue, same CPU"),
    &Wake::<Through<descriptor::Count, Polled>>::here(
        "wake/io_uring-poll",
        "io_uring polls an eventfd, then its read, same CPU",
    ),
    &Wake::<Through<descriptor::Count, Read>>::here(
        "wake/io_uring-read",
        "io_uring reads an eventfd, same CPU",
    ),
    &Wake::<Through<descriptor::Count, Deferred>>::here(
        "wake/io_uring-deferred",
        "io_uring with DEFER_TASKRUN reads an eventfd, same CPU",
    ),
    &Wake::<uring::MessageRing>::here(
        "wake/io_uring-msg_ring",
        "one io_uring posts to another by MSG_RING, same CPU",
    ),
    &Wake::<Futex>::apart("wake/futex-core", "a futex wakes a thread on another core"),
    &Wake::<word::Waitv>::apart(
        "wake/futex_waitv-core",
        "a futex wakes a thread that waits for two, other core",
    ),
    &Wake::<Condvar>::apart("wake/condvar-core", "a condition variable is notified, mutex held, other core"),
    &Wake::<Eventfd>::apart("wake/eventfd-core", "blocking read of an eventfd, other core"),
    &Wake::<Pipe>::apart("wake/pipe-core", "blocking read of a pipe, other core"),
    &Wake::<Socketpair>::apart("wake/unix-stream-core", "blocking read of a Unix stream socket, other core"),
    &Wake::<Through<socket::UnixDatagram, Blocking>>::apart(
        "wake/unix-datagram-core",
        "blocking read of a Unix datagram socket, other core",
    ),
    &Wake::<Through<socket::Tcp, Blocking>>::apart(
        "wake/tcp-core",
        "blocking read of a TCP socket, loopback, other core",
    ),
    &Wake::<Through<descriptor::Count, Poll>>::apart(
        "wake/poll-core",
        "poll of an eventfd, then its read, other core",
    ),
    &Wake::<EventfdLevel>::apart(
        "wake/epoll-core",
        "level-triggered epoll of an eventfd, then its read, other core",
    ),
    &Wake::<Through<descriptor::Count, Edge>>::apart(
        "wake/epoll-edge-core",
        "edge-triggered epoll of an eventfd, then its read, other core",
    ),
    &Wake::<Through<descriptor::Count, OneShot>>::apart(
        "wake/epoll-oneshot-core",
        "one-shot epoll of an eventfd, its read, then armed again, other core",
    ),
    &Wake::<Through<socket::UnixStream, Level>>::apart(
        "wake/epoll-socket-core",
        "level-triggered epoll of a Unix stream socket, then its read, other core",
    ),
    &Wake::<Through<socket::Request, Level>>::apart(
        "wake/request-core",
        "a request of 116 bytes over a Unix socket: epoll, header, body, other core",
    ),
    &Wake::<signal::Signalfd>::apart(
        "wake/signalfd-core",
        "blocking read of a signal from a signalfd, other core",
    ),
    &Wake::<Through<timer::Timer, Blocking>>::apart(
        "wake/timerfd-core",
        "a timer of 1 ns is armed and read from its timerfd, other core",
    ),
    &Wake::<Through<queue::Posix, Blocking>>::apart(
        "wake/posix-queue-core",
        "a POSIX message queue, other core",
    ),
    &Wake::<queue::SystemV>::apart("wake/sysv-queue-core", "a System V message queue, other core"),
    &Wake::<Through<descriptor::Count, Polled>>::apart(
        "wake/io_uring-poll-core",
        "io_uring polls an eventfd, then its read, other core",
    ),
    &Wake::<Through<descriptor::Count, Read>>::apart(
        "wake/io_uring-read-core",
        "io_uring reads an eventfd, other core",
    ),
    &Wake::<Through<descriptor::Count, Deferred>>::apart(
        "wake/io_uring-deferred-core",
        "io_uring with DEFER_TASKRUN reads an eventfd, other core",
    ),
    &Wake::<Through<descriptor::Count, Submitted>>::apart(
        "wake/io_uring-sqpoll-core",
        "io_uring with SQPOLL reads an eventfd, other core; a kernel thread submits",
    )
    .through_another(),
    &Wake::<uring::MessageRing>::apart(
        "wake/io_uring-msg_ring-core",
        "one io_uring posts to another by MSG_RING, other core",
    ),
    &Wake::<word::Spin>::apart(
        "wake/spin-core",
        "the other core spins on the word; it would sleep after 20,000 looks",
    )
    .awake(),
    &Wake::<word::SpinPause>::apart(
        "wake/spin-pause-core",
        "the other core spins with pause instructions; it would sleep after 1,000 looks",
    )
    .awake(),
    &Wake::<word::Umwait>::apart(
        "wake/umwait-core",
        "the other core waits for a write by UMWAIT; it would sleep after 16 waits",
    )
    .awake(),
    &Wake::<Futex>::sibling(
        "wake/futex-sibling",
        "a futex wakes a thread on the core's other hardware thread",
    ),
    &Wake::<Eventfd>::sibling(
        "wake/eventfd-sibling",
        "blocking read of an eventfd, the core's other hardware thread",
    ),
    &Wake::<Pipe>::sibling("wake/pipe-sibling", "blocking read of a pipe, the core's other hardware thread"),
    &Wake::<EventfdLevel>::sibling(
        "wake/epoll-sibling",
        "level-triggered epoll of an eventfd, then its read, the core's other hardware thread",
    ),
    &Wake::<Through<descriptor::Count, Read>>::sibling(
        "wake/io_uring-read-sibling",
        "io_uring reads an eventfd, the core's other hardware thread",
    ),
    &Wake::<word::Spin>::sibling(
        "wake/spin-sibling",
        "the core's other hardware thread spins on the word; it would sleep after 20,000 looks",
    )
    .awake(),
    &Wake::<word::SpinPause>::sibling(
        "wake/spin-pause-sibling",
        "the core's other hardware thread spins with pause instructions; it would sleep after 1,000 looks",
    )
    .awake(),
    &Wake::<word::Umwait>::sibling(
        "wake/umwait-sibling",
        "the core's other hardware thread waits for a write by UMWAIT; it would sleep after 16 waits",
    )
    .awake(),
    &IdleWake::<Futex>::row(
        "wake/futex-idle-0",
        "a futex wakes a thread on another core that has just answered",
        Duration::ZERO,
    ),
    &IdleWake::<Futex>::row(
        "wake/futex-idle-100us",
        "a futex wakes a thread on another core that was idle for 100 us",
        Duration::from_micros(100),
    ),
    &IdleWake::<Futex>::row(
        "wake/futex-idle-10ms",
        "a futex wakes a thread on another core that was idle for 10 ms",
        Duration::from_millis(10),
    ),
    &IdleWake::<EventfdLevel>::row(
        "wake/epoll-idle-0",
        "epoll and eventfd wake a thread on another core that has just answered",
        Duration::ZERO,
    ),
    &IdleWake::<EventfdLevel>::row(
        "wake/epoll-idle-100us",
        "epoll and eventfd wake a thread on another core that was idle for 100 us",
        Duration::from_micros(100),
    ),
    &IdleWake::<EventfdLevel>::row(
        "wake/epoll-idle-10ms",
        "epoll and eventfd wake a thread on another core that was idle for 10 ms",
        Duration::from_millis(10),
    ),
];

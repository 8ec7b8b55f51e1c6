//! Tasks that pass a token: the base of the thread, process and core crossings.
//!
//! A [`Medium`] is a way to wake the next task (a pipe, a futex, ...). A [`Ring`] is N
//! tasks, threads or processes, around which one token travels over a medium; two tasks make a
//! ping-pong. [`Switches`] counts the context switches of all of them. The measuring thread is always
//! task 0 of its ring, so that one lap starts and ends inside the caller's clock.

pub(crate) mod death;
mod mapping;
mod on_call;
mod peers;
mod ping_pong;
pub(crate) mod process;
mod refusal;
mod ring;
mod signals;
mod switches;
mod work;

pub mod media;

pub use mapping::{Mapping, Zeroed};
pub use media::{End, Ends, Give, Medium, Passed, Take, Tasks};
pub use ring::Ring;
pub use switches::Switches;
pub use work::Work;

pub(crate) use on_call::{OnCall, give_way};
pub(crate) use ping_pong::{PingPong, Proof, no_peer_cpu};
pub(crate) use refusal::{refusal, task_refusal};
pub(crate) use signals::{Blocked, Handler, only};

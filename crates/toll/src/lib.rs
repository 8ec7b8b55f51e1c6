//! The toll of a program: the cost of its crossings, counted, priced, and written as a bill.
//!
//! [`run`] starts a command as `env` and `timeout` do, waits for its end, and counts with one of the
//! [`Source`]s. [`bill`] makes a record of the counts and of the prices of this machine.

mod account;
mod accounts;
mod attach;
mod batch;
pub mod bill;
mod bpf;
mod calibrate;
mod call;
mod clock;
mod count;
mod counted;
mod events;
mod filter;
mod images;
mod inherited;
mod launch;
mod perf;
mod price;
mod repeat;
mod rings;
mod run;
mod saving;
mod signals;
mod sites;
mod snapshot;
mod sources;
mod stack;
mod start;
mod sums;
mod timeline;
mod trace;
pub mod turns;
mod watch;
mod windows;
mod witness;

pub use account::{Account, End};
pub use attach::{command_of, process_id};
pub use calibrate::Overhead;
pub use count::{Counts, Kind, Source, Stamped, Tally};
pub use counted::{Counted, Extras, Repeat};
pub use price::{PriceError, Prices, Pricing, When};
pub use repeat::repeat;
pub use run::{Wanted, join, run};
pub use signals::Signals;
pub use sites::Sites;
pub use start::StartError;
pub use timeline::Timeline;
pub use watch::Limits;

//! The session that these commands share.

use anyhow::Result;
use tollgate_measure::host;

use crate::args::Destination;
use crate::session::Session;

/// The session of a command in which nothing is drawn at random.
pub(super) fn open(destination: &Destination) -> Result<Session<'_>> {
    Session::open(destination, host::here(), 0)
}

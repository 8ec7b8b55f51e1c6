//! The terminal of somebody who types to a guest.

use std::io::{self, IsTerminal};
use std::os::fd::OwnedFd;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// A terminal that passes every key on at once and shows nothing by itself, because the guest does. Ctrl-C still
/// interrupts. It is as before when this is dropped.
#[derive(Debug)]
pub struct Terminal(Option<(OwnedFd, Termios)>);

impl Terminal {
    /// Standard input, if it is a terminal; otherwise nothing is changed.
    ///
    /// # Errors
    /// A terminal that cannot be set.
    pub fn take() -> io::Result<Self> {
        let input = io::stdin();
        if !input.is_terminal() {
            return Ok(Self(None));
        }
        let before = tcgetattr(&input)?;
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(&input, OptionalActions::Now, &modes)?;
        Ok(Self(Some((rustix::io::dup(&input)?, before))))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some((input, before)) = &self.0 {
            // Nobody is left to whom an error would matter.
            let _ = tcsetattr(input, OptionalActions::Now, before);
        }
    }
}

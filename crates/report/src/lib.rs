//! A record to the terminal: pure functions.

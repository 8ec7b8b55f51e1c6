//! The user/kernel crossing taken apart.
#![cfg_attr(not(test), expect(dead_code, reason = "the command that shows it comes with the bill"))]

pub(crate) mod hardware;

//! The user/kernel crossing taken apart: system calls in three states, a bill for each crossing, what the
//! hardware alone takes, and what others have found.

pub(crate) mod bills;
mod calls;
mod hardware;
mod literature;

use crate::head::head;
use crate::notes::ending;
use crate::sheet::{Sheet, painted};
use crate::style::{Paint, Style};
use crate::words::is_emulated;
use tollgate_record::number::plural;
use tollgate_record::{Measurement, Run};

/// The tables of a `crossing` run, and the notes. What an emulator measured and what others found is shown on request.
pub(crate) fn crossing(run: &Run, style: &Style) -> Sheet {
    let (ours, guests): (Vec<&Measurement>, Vec<&Measurement>) =
        run.results.iter().partition(|result| result.engine == "host");
    let (emulated, hardware): (Vec<&Measurement>, Vec<&Measurement>) =
        guests.iter().partition(|result| is_emulated(result));
    let guests = if style.all { &guests } else { &hardware };
    let mut text = head(run, style);
    text.extend(calls::table(&ours, style));
    text.extend(bills::table(&ours, style));
    if !guests.is_empty() || emulated.is_empty() {
        text.extend(hardware::table(guests, style));
        text.extend(hardware::parts(guests, style));
    }
    if style.all {
        text.extend(literature::table());
    }
    text.blank();
    if !style.all {
        text.extend(painted(Paint::Dim, folded(emulated.len())));
    }
    text.extend(ending(run, bills::learned(&ours, style), style));
    text
}

/// What is not shown.
fn folded(emulated: usize) -> String {
    let rows = plural(emulated, "row of an emulator", "rows of emulators");
    let rows = if emulated > 0 { format!("{rows}, ") } else { String::new() };
    format!("Folded (--all): {rows}what others found on their machines.")
}

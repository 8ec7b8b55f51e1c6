//! A record to the terminal, and to a page: pure functions from documents to text.
//!
//! Nothing here looks at the machine, measures or prints. Every string of a document is taken for
//! hostile: control characters never reach the text, and no string is long enough to break a line.

mod bar;
mod chart;
mod compare;
mod crossing;
mod exec;
pub mod export;
mod fault;
mod figure;
mod findings;
mod fleet;
mod head;
mod histogram;
mod history;
mod html;
pub mod import;
mod ladder;
mod markup;
mod namesakes;
mod notes;
mod plot;
mod probes;
mod remarks;
mod ring;
mod riscv;
#[cfg(unix)]
mod runs;
mod sheet;
mod stages;
mod style;
mod switch;
mod text;
mod view;
mod words;

pub use compare::comparison;
pub use findings::findings;
pub use fleet::{fleet_html, fleet_table};
pub use history::history_table;
pub use html::{fragment, html};
pub use probes::{ProbeRow, probes};
pub use riscv::{guest_comparison, kernel_comparison};
#[cfg(unix)]
pub use runs::runs;
pub use style::{Format, Place, Style};
pub use view::view;

//! Bills as text, in 80 columns. Pure functions from figures to strings.

mod bill;
mod designs;
mod engines;
mod icache;
mod profile;
mod stages;
mod words;

pub use bill::bills;
pub use designs::{comparison, list};
pub use engines::{engines, missing};
pub use icache::icache;
pub use profile::profile;
pub use stages::{is_stages, stages};
pub use words::{grouped, wrapped};

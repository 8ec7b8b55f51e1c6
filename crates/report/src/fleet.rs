//! A fleet of hosts, drawn.

mod page;
mod table;

pub use page::fleet_html;
pub use table::fleet_table;

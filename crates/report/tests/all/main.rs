//! The tests of this crate, in one program: it is linked once. A test that needs a process of its own is a file beside.

#[path = "../every/mod.rs"]
mod every;
#[path = "../fixture/mod.rs"]
mod fixture;
#[path = "../foreign/mod.rs"]
mod foreign;
#[path = "../page/mod.rs"]
mod page;

mod any_run;
mod browser;
mod cores;
mod fleet;
mod hostile;
mod html;
mod html_hostile;
mod html_riscv;
mod imports;
mod readers;
mod reconcile;
mod snapshots;
mod stages;
mod switch;
mod widths;

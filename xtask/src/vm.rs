//! `cargo xtask vm`: machines that are not here, under QEMU's software emulation.

mod arch;
mod boot;
mod cache;
mod cases;
mod console;
mod debian;
mod guest;
mod initramfs;

use crate::workspace;
use anyhow::Result;
use std::path::PathBuf;
use std::time::Duration;

/// Boots
#[derive(clap::Args)]
pub(crate) struct Args {
    cases: Vec<String>,
    #[arg(long)]
    consoles: Option<PathBuf>,
}

impl Args {
    pub(crate) fn run(&self) -> Result<()> {
        let root = workspace::root()?;
        let cache = root.join("target/vm");
        std::fs::create_dir_all(&cache)?;
        for case in cases::CASES.iter().filter(|case| self.cases.iter().any(|n| n == case.name)) {
            let kernel = debian::kernel(&cache, case.line, case.arch)?;
            let busybox = debian::busybox(&cache, case.arch)?;
            let programs = vec![("tollgate", PathBuf::from("/tmp/vmx/tg"))];
            let parts = guest::Parts { kernel, busybox, programs };
            let dir = tempfile::tempdir()?;
            let fs = dir.path().join("initramfs");
            guest::file_system(case, &parts, &fs)?;
            let booted = boot::boot(guest::emulator(case, &parts.kernel, &fs), Duration::from_secs(120))?;
            println!("{} {:?} {}", case.name, booted.end, booted.seconds);
            for s in console::sections(&booted.console) {
                println!("{} {} {} {}", s.name, s.status, s.seconds, s.out.len());
            }
            std::fs::write(format!("/tmp/vmx/{}.console", case.name), &booted.console)?;
        }
        Ok(())
    }
}

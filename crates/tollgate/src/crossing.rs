//! `tollgate crossing`: measures the crossings with their parts, and adds the hardware's share from a bare guest.

use crate::args::Sampling;
use crate::sampled::Sampled;
use crate::worker::List;
use std::process::ExitCode;
use tollgate_boundary::{crossing, fault};
use tollgate_measure::summary;
use tollgate_microvm::hardware::Hardware;
use tollgate_record::{Host, Warning, warning};

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  tollgate crossing\n  tollgate crossing --quick --cpu 0\n  \
                        tollgate crossing --json --out crossing.json\n\nHow to read it: docs/labs/crossing.md")]
pub(crate) struct Args {
    /// Leave out the bare guest that measures the hardware alone
    #[arg(long)]
    pub(crate) no_guest: bool,
    #[command(flatten)]
    pub(crate) sampling: Sampling,
}

pub(crate) fn crossing(args: &Args) -> anyhow::Result<ExitCode> {
    let (args, guest) = (&args.sampling, !args.no_guest);
    let (mut session, sampled) = Sampled::open_all(args, List::Crossings)?;
    let coarse = coarse(&session.run.host);
    let mut units = None;
    sampled.measure(&mut session, &mut |run, samples| {
        run.warnings.splice(0..0, coarse.clone());
        fault::move_reported(&mut run.results);
        units = summary::units(samples, sampled.source);
    })?;
    // The guest counts with the time-stamp counter, so its figures need that counter's rate.
    if let Some(units) = units.filter(|_| guest && session.run.complete) {
        let pinned = if units.ticks {
            crate::pin::pin(sampled.site.cpu).map_err(|error| error.to_string())
        } else {
            Err("it counts with the time-stamp counter, and another clock timed this run (--clock tsc)"
                .into())
        };
        // The calling thread runs the guest: without a pin there is no figure.
        match pinned {
            Ok(()) => {
                session.progress.wait("measuring the hardware's share in a bare guest");
                let hypervisor = session.run.host.hypervisor.clone();
                let rows = Hardware::here(&units, hypervisor.as_deref(), args.quick).measure();
                crossing::add_guest(&mut session.run.results, &rows);
            }
            Err(why) => {
                let text = format!("the bare guest was not run: {why}");
                session.run.warnings.push(Warning::new(warning::GUEST_NOT_RUN, text));
            }
        }
    }
    session.finish()
}

/// A warning if the kernel's clock, which makes its stamps, is not the processor's counter.
fn coarse(host: &Host) -> Option<Warning> {
    let source = host.clock.kernel_clocksource.as_deref()?;
    (!matches!(source, "tsc" | "kvm-clock" | "arch_sys_counter" | "riscv_clocksource")).then(|| {
        let text = format!(
            "the kernel's clock is {source}, not the processor's counter: parts by kernel stamps are as coarse and as \
             slow as that clock"
        );
        Warning::new(warning::KERNEL_CLOCK, text)
    })
}

//! `tollgate crossing`: measure the crossings with their parts, add what a bare guest tells of the hardware
//! alone, show the bills.

use crate::cli::{self, Sampling};
use crate::output::Sink;
use crate::run::{self, Effort, Keeper, List, Setting, new_record, noise_warnings, stop_flag, verdict};
use std::process::ExitCode;
use tollgate_boundary::{CROSSINGS, crossing};
use tollgate_measure::sampler::Plan;
use tollgate_measure::{Meta, host, session};
use tollgate_microvm::hardware::Hardware;
use tollgate_record::{Host, Measurement, Run, Status, Warning, document, warning};

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  tollgate crossing\n  tollgate crossing --quick --cpu 0\n  \
                        tollgate crossing --json --out crossing.json\n\nHow to read it: docs/labs/crossing.md")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) sampling: Sampling,
    /// Leave out the bare guest that measures the hardware alone
    #[arg(long)]
    pub(crate) no_guest: bool,
}

pub(crate) fn crossing(args: &Args) -> anyhow::Result<ExitCode> {
    let (args, guest) = (&args.sampling, !args.no_guest);
    let mut facts = host::here();
    let site = cli::site(&facts.cpu, args.cpu, args.peer_cpu)?;
    host::place("/".as_ref(), &mut facts, site.cpu, site.peer);
    let sink = Sink::open(&args.output)?;
    let seed = args.seed.unwrap_or_else(|| rand::random::<u32>().into());
    let mut run = new_record(facts, seed);
    let mut keeper = Keeper::open(args, &mut run)?;
    let stop = stop_flag()?;

    let metas: Vec<&Meta> = CROSSINGS.iter().map(|probe| probe.meta()).collect();
    let wanted: Vec<usize> = (0..metas.len()).collect();
    let source = args.clock.source();
    let setting = Setting::of(args, site, List::Crossings);
    let before: Vec<Warning> = run.warnings.iter().cloned().chain(coarse(&run.host)).collect();
    let mut units = None;
    run::measure(&metas, &wanted, &setting, &plan(args, seed), &stop, &mut |harvest, spans| {
        run.warnings.clone_from(&before);
        session::record(&mut run, &metas, harvest, source);
        run.warnings.extend(noise_warnings(spans, &metas, &wanted));
        units = session::units(harvest, source);
        keeper.save(&run);
    })?;
    // The guest counts with the time-stamp counter, so its figures need that counter's rate.
    if let Some(units) = units.filter(|_| guest && run.complete) {
        let pinned = if units.ticks {
            crate::pin::pin(site.cpu).map_err(|error| error.to_string())
        } else {
            Err("it counts with the time-stamp counter, and another clock timed this run (--clock tsc)"
                .into())
        };
        // The calling thread runs the guest: where it cannot be pinned there is no figure.
        match pinned {
            Ok(()) => {
                let hypervisor = run.host.hypervisor.clone();
                let rows = Hardware::here(&units, hypervisor.as_deref(), args.quick).measure();
                crossing::add_guest(&mut run.results, &rows);
            }
            Err(why) => {
                let text = format!("the bare guest was not run: {why}");
                run.warnings.push(Warning::new(warning::GUEST_NOT_RUN, text));
            }
        }
    }
    keeper.finish(&mut run);
    let text =
        if sink.json() { document::to_json(&run)? } else { tollgate_report::crossing(&run, &sink.style()) };
    let delivered = sink.deliver(&text);
    let asked_for = |row: &Measurement| row.status != Status::Failed || crossing::failed(&run.results, row);
    let asked =
        Run { results: run.results.iter().filter(|row| asked_for(row)).cloned().collect(), ..run.clone() };
    let verdict = verdict(&asked, &keeper, args);
    delivered.map(|()| verdict)
}

/// What the kernel's stamps are worth when its own clock is not the time-stamp counter.
fn coarse(host: &Host) -> Option<Warning> {
    let source = host.clock.kernel_clocksource.as_deref()?;
    (!matches!(source, "tsc" | "kvm-clock" | "arch_sys_counter" | "riscv_clocksource")).then(|| {
        let text = format!(
            "the kernel's clock is {source}, not the processor's counter: parts by kernel stamps are as coarse and as \
             dear as that clock"
        );
        Warning::new(warning::KERNEL_CLOCK, text)
    })
}

/// How long, how often.
fn plan(args: &Sampling, seed: u64) -> Plan {
    let effort = |epochs, seconds, singles_ns| Effort::new(epochs, epochs, seconds, 0.0, singles_ns);
    run::planned(
        args,
        seed,
        effort(6, 3.5, 500_000),
        effort(12, 14.0, 1_000_000),
        effort(30, 120.0, 2_000_000),
    )
}

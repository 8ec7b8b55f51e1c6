//! `tollgate fault kinds`: every kind of fault beside every other, in one run.

use crate::cli::{self, Sampling};
use crate::output::Sink;
use crate::run::{
    Effort, Keeper, List, Setting, measure, new_record, noise_warnings, planned, record, stop_flag, verdict,
};
use std::process::ExitCode;
use tollgate_boundary::{FAULT_KINDS, fault};
use tollgate_measure::sampler::Plan;
use tollgate_measure::{Meta, host};
use tollgate_record::document;

pub(crate) fn kinds(args: &Sampling) -> anyhow::Result<ExitCode> {
    let mut facts = host::here();
    let site = cli::site(&facts.cpu, args.cpu, args.peer_cpu)?;
    host::place("/".as_ref(), &mut facts, site.cpu, site.peer);
    let sink = Sink::open(&args.output)?;
    let seed = args.seed.unwrap_or_else(|| rand::random::<u32>().into());
    let mut run = new_record(facts, seed);
    let mut keeper = Keeper::open(args, &mut run)?;

    let metas: Vec<&Meta> = FAULT_KINDS.iter().map(|probe| probe.meta()).collect();
    let wanted: Vec<usize> = (0..metas.len()).collect();
    let setting = Setting::of(args, site, List::Faults);
    let source = args.clock.source();
    let stop = stop_flag()?;
    let before = run.warnings.clone();
    measure(&metas, &wanted, &setting, &plan(args, seed), &stop, &mut |harvest, spans| {
        run.warnings.clone_from(&before);
        record(&mut run, &metas, &wanted, harvest, source);
        run.warnings.extend(noise_warnings(spans, &metas, &wanted));
        fault::arrange(&mut run.results);
        keeper.save(&run);
    })?;
    keeper.finish(&mut run);

    let text = if sink.json() {
        document::to_json(&run)?
    } else {
        tollgate_report::fault_kinds(&run, &sink.style())
    };
    let delivered = sink.deliver(&text);
    let verdict = verdict(&run, &keeper, args);
    delivered.map(|()| verdict)
}

/// As the ladder's, with fewer epochs: each has files to write.
fn plan(args: &Sampling, seed: u64) -> Plan {
    planned(
        args,
        seed,
        Effort::new(3, 3, 3.0, 0.0, 500_000),
        Effort::new(8, 10, 30.0, 0.005, 2_000_000),
        Effort::new(20, 24, 180.0, 0.002, 4_000_000),
    )
}

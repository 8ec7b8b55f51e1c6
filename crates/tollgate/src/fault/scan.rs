//! `tollgate fault scan`: a file is mapped, a byte of each page touched, and everything told that
//! `/usr/bin/time -v` tells.

mod args;
mod child;
mod file;
mod group;
mod result;
mod touch;

pub(crate) use args::ScanArgs;
pub(crate) use touch::touch;

use crate::cli::{self, Usage};
use crate::output::Sink;
use crate::progress::Progress;
use crate::run::{Keeper, new_record, stop_flag, verdict};
use file::Scanned;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use tollgate_measure::host;
use tollgate_record::document;
use touch::Job;

pub(crate) fn scan(args: &ScanArgs) -> anyhow::Result<ExitCode> {
    let sampling = &args.sampling;
    let mut facts = host::here();
    let site = cli::site(&facts.cpu, sampling.cpu, sampling.peer_cpu)?;
    host::place("/".as_ref(), &mut facts, site.cpu, site.peer);
    args.check().map_err(Usage::error)?;
    let sink = Sink::open(&sampling.output)?;
    let mut run = new_record(facts, crate::ring::seed(sampling));
    let mut keeper = Keeper::open(sampling, &mut run)?;
    group::clean_up();
    let limit = args.memory_limit.map(group::limit).transpose()?;
    let stop = stop_flag()?;
    let progress = Progress::new();

    let sizes = args.sizes();
    let largest = sizes.iter().copied().max().unwrap_or_default();
    progress.say("writing the file".into());
    let Some(file) = Scanned::open(args.file.as_deref(), largest, &stop)? else {
        keeper.finish(&mut run);
        return Ok(verdict(&run, &keeper, sampling));
    };
    for (done, &bytes) in sizes.iter().enumerate() {
        progress.share(done as f64 / sizes.len() as f64);
        progress.say(format!("touching {bytes} bytes"));
        let job = Job {
            bytes,
            pattern: args.pattern,
            advice: args.advice,
            seed: run.seed,
            cpu: site.cpu,
            source: sampling.clock.source(),
            parent: std::process::id(),
        };
        if !args.warm {
            file.drop_from_cache()?;
        }
        let ended = child::run(&job, &file, limit.as_ref(), &stop)?;
        run.results.push(result::measurement(&job, &file, args, limit.as_ref(), ended));
        run.complete = run.results.len() == sizes.len() && !stop.load(Ordering::Relaxed);
        keeper.save(&run);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    drop(progress);
    drop(file);
    keeper.finish(&mut run);
    let text =
        if sink.json() { document::to_json(&run)? } else { tollgate_report::fault_scan(&run, &sink.style()) };
    let delivered = sink.deliver(&text);
    let verdict = verdict(&run, &keeper, sampling);
    delivered.map(|()| verdict)
}

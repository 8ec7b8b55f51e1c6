//! The staircase of refill over footprint, fitted to the finished cells: one row of the record for each cache.

use tollgate_measure::knees::{self, CacheFit, CacheLevel, RefillPoint};
use tollgate_record::family::{KneeAsked, KneeFound, LeftOut};
use tollgate_record::host::Cache;
use tollgate_record::{Asked, Estimate, Found, Measurement, Per, Run, Status, phase};

/// The id of these rows.
const PROBE: &str = "ring/knee";

/// Adds one row for each data cache of the host.
pub fn add_knees(run: &mut Run) {
    let points: Vec<RefillPoint> = run.results.iter().filter_map(point).collect();
    let with_arrays = |result: &Measurement| result.asked.ring().is_some_and(|ring| ring.size > 0);
    if !run.results.iter().any(with_arrays) {
        return;
    }
    let caches: Vec<&Cache> = run.host.caches.iter().filter(|cache| cache.kind != "Instruction").collect();
    if caches.is_empty() {
        let mut row = Measurement::empty(PROBE, "host", Per::Switch, Status::Skipped);
        row.reason =
            Some("the system does not describe the caches of this CPU (/sys/devices/system/cpu)".into());
        row.enable =
            Some("mount it: `mount -t sysfs sysfs /sys`, and a container that does not mask it".into());
        run.results.push(row);
        return;
    }
    let level = |cache: &&Cache| CacheLevel { name: format!("L{}", cache.level), bytes: cache.bytes as f64 };
    let fit = knees::fit(&points, &caches.iter().map(level).collect::<Vec<_>>());
    let guest = run.host.hypervisor.is_some();
    let mut rows: Vec<Measurement> =
        fit.levels.iter().zip(&caches).map(|(found, cache)| row(found, cache, guest)).collect();
    if let Some(prediction) = fit.prediction {
        for row in &mut rows {
            if let Found::Knee(knee) = &mut row.found {
                knee.left_out = Some(LeftOut {
                    cells: prediction.cells as u64,
                    median_error: prediction.median,
                    worst_error: prediction.worst,
                });
            }
        }
    }
    run.results.extend(rows);
}

/// A cell's refill and what it depends on.
fn point(result: &Measurement) -> Option<RefillPoint> {
    let refill = result.phases.iter().find(|it| it.name == phase::REFILL)?.ns?;
    let ring = result.asked.ring()?;
    Some(RefillPoint {
        procs: f64::from(ring.procs),
        bytes: ring.size as f64,
        refill: refill.estimate,
        error: refill.half_width(),
        total: result.ns?.estimate,
    })
}

fn row(found: &CacheFit, cache: &Cache, guest: bool) -> Measurement {
    let mut row = Measurement::empty(PROBE, "host", Per::Switch, Status::Measured);
    row.asked = Asked::Knee(KneeAsked { cache: Some(found.level.name.clone()) });
    let mut facts = KneeFound {
        expected_bytes: cache.bytes,
        shared_by: cache.shared_by.len() as u64,
        ..KneeFound::default()
    };
    match &found.knee {
        Ok(knee) => {
            let round = |bytes: f64| bytes.round() as u64;
            facts.knee_bytes = Some(round(knee.bytes));
            facts.knee_interval = Some(knee.interval.map(round));
            row.ns = Some(Estimate::within(knee.ns_per_kib, knee.ns_interval));
        }
        Err(why) => {
            row.status = Status::Skipped;
            let shared = match (cache.shared_by.len() > 1, guest) {
                (_, true) if cache.level > 2 => {
                    "; in a virtual machine such a cache is shared with machines that cannot be seen from here"
                }
                (true, _) => "; this cache is shared with other CPUs, whose programs use it too",
                _ => "",
            };
            row.reason = Some(format!("cannot be resolved here: {why}{shared}"));
            row.enable = Some("more cells around that footprint: --sizes auto with --procs 2,8,32".into());
        }
    }
    row.found = Found::Knee(facts);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_refills_gets_no_rows() {
        let cell = Measurement::empty("ring/pipe", "host", Per::Switch, Status::Measured);
        assert!(point(&cell).is_none());
    }

    #[test]
    fn what_is_not_resolved_says_why_and_what_would_help() {
        let level = CacheLevel { name: "L3".into(), bytes: 1e8 };
        let found = CacheFit { level, knee: Err("no cell is below it".into()) };
        let cache = Cache { level: 3, bytes: 100_000_000, shared_by: vec![0, 1], ..Cache::default() };
        let row = row(&found, &cache, true);
        assert_eq!(row.status, Status::Skipped);
        assert!(row.reason.as_deref().is_some_and(|why| why.contains("virtual machine")), "{row:?}");
        assert!(row.enable.is_some());
    }
}

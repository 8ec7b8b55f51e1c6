//! Reports as entries of the run document: one for each program and cache.

use std::collections::BTreeMap;

use tollgate_record::family::{Accesses, CacheShape, IcacheAsked, IcacheFound, SweepCurve};
use tollgate_record::{Asked, Found, Measurement, Per, Series, Status, Warning, counter, warning};
use tollgate_riscv::cache::Geometry;

use super::code::Mix;
use super::seen::{CacheReport, Report};
use super::settings::Count;

/// The entries of a report, one for each cache; the first has the sweep. Figures are totals over the run of the program.
pub fn measured(report: &Report) -> Vec<Measurement> {
    let mut entries: Vec<Measurement> = report.caches.iter().map(|cache| entry(report, cache)).collect();
    if let Some(first) = entries.first_mut().filter(|_| !report.sweep.is_empty()) {
        first.found = Found::Icache(IcacheFound { sweep: curves(&report.sweep) });
    }
    entries
}

fn entry(report: &Report, watched: &CacheReport) -> Measurement {
    let CacheReport { cache, causes, buffered, .. } = watched;
    let (counts, split, geometry) = (cache.counts(), causes.split(), cache.geometry());
    let mut entry = Measurement::empty("riscv-icache/program", "embedded", Per::Pass, Status::Measured);
    (entry.samples, entry.crossings) = (1, 1);
    entry.asked = Asked::Icache(IcacheAsked {
        program: report.build.name.clone(),
        isa: report.build.isa.to_string(),
        icache: shape(geometry),
        policy: cache.policy().to_string(),
        count: match report.count {
            Count::Fetch => Accesses::Fetch,
            Count::Cycle => Accesses::Cycle,
        },
    });
    for (name, value) in [
        (counter::TEXT_BYTES, Some(report.code.bytes())),
        (counter::OBJECT_TEXT_BYTES, report.build.object_text),
        (counter::ACCESSES, Some(counts.accesses())),
        (counter::MISSES, Some(counts.misses())),
        (counter::MISSES_COMPULSORY, Some(split.compulsory)),
        (counter::MISSES_CAPACITY, Some(split.capacity)),
        (counter::MISSES_CONFLICT, Some(split.conflict)),
        (counter::LINE_ACCESSES, Some(buffered.counts().accesses())),
        (counter::LINE_MISSES, Some(buffered.counts().misses())),
        (counter::FETCHED_BYTES, Some(report.dynamic_mix.bytes)),
        (counter::CYCLES, Some(report.cycles)),
        (counter::TIMED_CYCLES, watched.timing.map(|timing| timing.cycles)),
        (counter::FETCH_WAIT_CYCLES, watched.timing.map(|timing| timing.waiting)),
    ] {
        if let Some(value) = value {
            entry.count(name, value as f64);
        }
    }
    for (kind, mix) in [(counter::STATIC, &report.code.mix), (counter::DYNAMIC, &report.dynamic_mix)] {
        for (name, value) in parts(mix) {
            entry.counters.insert(kind.part(name), value as f64);
        }
    }
    if let Some(rate) = counts.hit_rate() {
        entry.count(counter::HIT_RATE, rate);
    }
    if let Some(rate) = buffered.counts().hit_rate() {
        entry.count(counter::LINE_HIT_RATE, rate);
    }
    let accesses = counts.accesses().max(1) as f64;
    let line = f64::from(geometry.line());
    let curve = causes.distances().curve();
    entry.series.push(Series {
        name: "miss-ratio".into(),
        x_unit: "bytes, fully associative LRU".into(),
        y_unit: "misses per access".into(),
        points: curve.iter().map(|&(n, misses)| [n as f64 * line, misses as f64 / accesses]).collect(),
    });
    entry.series.push(Series {
        name: "misses-by-set".into(),
        x_unit: "set".into(),
        y_unit: "misses".into(),
        points: (0..).zip(&watched.set_misses).map(|(set, &n)| [f64::from(set), n as f64]).collect(),
    });
    if !report.ended {
        let text = format!(
            "the program was stopped after {} instructions; --max-instructions gives it more",
            report.dynamic_mix.instructions
        );
        entry.warnings.push(Warning::new(warning::STOPPED, text));
    }
    entry
}

fn shape(geometry: Geometry) -> CacheShape {
    CacheShape { sets: geometry.sets(), ways: geometry.ways(), line: geometry.line() }
}

fn parts(mix: &Mix) -> [(&'static str, u64); 6] {
    [
        ("instructions", mix.instructions),
        ("compressed", mix.compressed),
        ("arithmetic", mix.arithmetic),
        ("memory", mix.memory),
        ("control", mix.control),
        ("other", mix.other),
    ]
}

/// A sweep by line and ways, each over the number of sets.
fn curves(sweep: &[(Geometry, u64)]) -> Vec<SweepCurve> {
    let mut curves = BTreeMap::<(u32, u32), Vec<(u32, u64)>>::new();
    for (geometry, misses) in sweep {
        curves.entry((geometry.line(), geometry.ways())).or_default().push((geometry.sets(), *misses));
    }
    curves.into_iter().map(|((line, ways), misses)| SweepCurve { line, ways, misses }).collect()
}

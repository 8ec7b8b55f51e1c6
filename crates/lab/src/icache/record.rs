//! Reports as entries of the run document: one for each program and cache.

use tollgate_record::family::IcacheAsked;
use tollgate_record::{Asked, Measurement, Per, Series, Status, Warning, counter, warning};

use super::seen::{CacheReport, SweepPoint};
use super::{Count, Mix, Report};

/// The entries of a report, one for each cache. Figures are totals over the run of the program.
#[must_use]
pub fn measured(report: &Report) -> Vec<Measurement> {
    report.caches.iter().map(|cache| entry(report, cache)).collect()
}

fn entry(report: &Report, cache: &CacheReport) -> Measurement {
    let mut entry = Measurement::empty("riscv-icache/program", "embedded", Per::Pass, Status::Measured);
    entry.asked = Asked::Icache(IcacheAsked {
        program: report.name.clone(),
        isa: report.isa.to_string(),
        icache: cache.geometry.to_string(),
        policy: cache.policy.to_string(),
        count: report.count.name().into(),
    });
    entry.samples = 1;
    entry.crossings = 1;
    let mut counter = |name: &str, value: u64| entry.counters.insert(name.into(), value as f64);
    counter("text-bytes", report.text);
    if let Some(bytes) = report.object_text {
        counter("object-text-bytes", bytes);
    }
    counter("accesses", cache.counts.accesses());
    counter("misses", cache.counts.misses());
    counter("misses-compulsory", cache.split.compulsory);
    counter("misses-capacity", cache.split.capacity);
    counter("misses-conflict", cache.split.conflict);
    counter("line-accesses", cache.line_counts.accesses());
    counter("line-misses", cache.line_counts.misses());
    counter("fetched-bytes", report.bytes);
    counter("cycles", report.cycles);
    if let Some(timing) = cache.timing {
        counter("timed-cycles", timing.cycles);
        counter("fetch-wait-cycles", timing.waiting);
    }
    for (kind, mix) in [("static", &report.static_mix), ("dynamic", &report.dynamic_mix)] {
        for (name, value) in parts(mix) {
            counter(&format!("{kind}/{name}"), value);
        }
    }
    if let Some(rate) = cache.counts.hit_rate() {
        entry.count(counter::HIT_RATE, rate);
    }
    if let Some(rate) = cache.line_counts.hit_rate() {
        entry.count(counter::LINE_HIT_RATE, rate);
    }
    let accesses = cache.counts.accesses().max(1) as f64;
    let line = f64::from(cache.geometry.line());
    entry.series.push(Series {
        name: "miss-ratio".into(),
        x_unit: "bytes, fully associative LRU".into(),
        y_unit: "misses per access".into(),
        points: cache.curve.iter().map(|&(n, misses)| [n as f64 * line, misses as f64 / accesses]).collect(),
    });
    entry.series.push(Series {
        name: "misses-by-set".into(),
        x_unit: "set".into(),
        y_unit: "misses".into(),
        points: (0..).zip(&cache.set_misses).map(|(set, &n)| [f64::from(set), n as f64]).collect(),
    });
    for ((line, ways), points) in curves(&report.sweep) {
        entry.series.push(Series {
            name: format!("sweep/{ways}-way/{line}-byte-lines"),
            x_unit: "sets".into(),
            y_unit: "misses".into(),
            points: points.iter().map(|p| [f64::from(p.geometry.sets()), p.misses as f64]).collect(),
        });
    }
    if !report.ended {
        let text = format!(
            "the program was stopped after {} instructions; --max-instructions gives it more",
            report.dynamic_mix.instructions
        );
        entry.warnings.push(Warning::new(warning::STOPPED, text));
    }
    entry
}

impl Count {
    /// As the command line has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fetch => "fetch",
            Self::Cycle => "cycle",
        }
    }
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
fn curves(sweep: &[SweepPoint]) -> std::collections::BTreeMap<(u32, u32), Vec<SweepPoint>> {
    let mut out = std::collections::BTreeMap::<_, Vec<_>>::new();
    for point in sweep {
        out.entry((point.geometry.line(), point.geometry.ways())).or_default().push(*point);
    }
    out
}

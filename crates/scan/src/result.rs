//! From the reports of a scan to its record.

use crate::file::ScannedFile;
use crate::memory_limit::MemoryLimit;
use crate::plan::{ScanPlan, page_bytes};
use crate::process::ScanEnd;
use crate::touch::{Mark, Touched, Usage, middle};
use tollgate_measure::summary::histogram_of;
use tollgate_record::{Estimate, Evidence, Measurement, Per, Phase, Series, Single, Status, Warning};

/// The record of one scan.
pub(crate) fn measurement(
    plan: &ScanPlan,
    bytes: u64,
    file: &ScannedFile,
    limit: Option<&MemoryLimit>,
    ended: ScanEnd,
) -> Measurement {
    let mut result = Measurement::empty("fault/scan", "host", Per::Touch, Status::Measured);
    params(&mut result, plan, bytes, file, limit);
    as_time(&mut result, &ended);
    match ended.touched {
        Ok(touched) => figures(&mut result, bytes, limit, &touched),
        Err(why) => fail(&mut result, why),
    }
    result
}

fn fail(result: &mut Measurement, why: String) {
    result.status = Status::Failed;
    result.reason = Some(why);
}

fn params(
    result: &mut Measurement,
    plan: &ScanPlan,
    bytes: u64,
    file: &ScannedFile,
    limit: Option<&MemoryLimit>,
) {
    let mut param = |key: &str, value: serde_json::Value| result.params.insert(key.into(), value);
    param("size", bytes.into());
    param("pattern", plan.pattern.name().into());
    param("advice", plan.advice.name().into());
    param("page_bytes", page_bytes().into());
    param("file_bytes", file.bytes.into());
    param("warm", plan.warm.into());
    if let Some(path) = &file.path {
        param("file", path.to_string_lossy().into());
    }
    if let Some(kib) = file.read_ahead_kib() {
        param("read_ahead_kib", kib.into());
    }
    if let Some(limit) = limit {
        param("memory_limit", limit.bytes.into());
        param("limited_by", limit.enforcer().into());
    }
}

/// What `/usr/bin/time -v` reports, from the start of the process to its end.
fn as_time(result: &mut Measurement, ended: &ScanEnd) {
    let ScanEnd { usage, elapsed, .. } = ended;
    let elapsed = elapsed.as_secs_f64();
    let (user, system) = (usage.user_ns as f64 / 1e9, usage.system_ns as f64 / 1e9);
    for (key, value) in [
        ("elapsed_s", elapsed),
        ("user_s", user),
        ("system_s", system),
        ("cpu_share", (user + system) / elapsed),
        ("major_faults", usage.major as f64),
        ("minor_faults", usage.minor as f64),
        ("voluntary_switches", usage.voluntary as f64),
        ("involuntary_switches", usage.involuntary as f64),
        ("file_system_inputs", usage.inputs as f64),
        ("maximum_resident_kib", usage.max_rss_kib as f64),
    ] {
        result.counters.insert(key.into(), value);
    }
}

/// What the scan itself reported, without the start and the end of its process.
fn figures(result: &mut Measurement, bytes: u64, limit: Option<&MemoryLimit>, touched: &Touched) {
    let (Some(first), Some(last)) = (touched.marks.first(), touched.marks.last()) else {
        return fail(result, "the scan ended before it began".into());
    };
    let touches = last.touches as f64;
    if last.touches == 0 {
        return fail(result, "it was interrupted before the first touch".into());
    }
    let page = page_bytes() as f64;
    let grown = |of: fn(&Usage) -> u64| of(&last.usage).saturating_sub(of(&first.usage)) as f64;
    let (minor, major) = (grown(|usage| usage.minor), grown(|usage| usage.major));
    let read = grown(|usage| usage.inputs) * 512.0;
    let seconds = last.ns as f64 / 1e9;
    let count = |result: &mut Measurement, key: &str, value: f64| {
        result.counters.insert(key.into(), value);
    };
    result.proof.insert("minor_per_touch".into(), minor / touches);
    result.proof.insert("major_per_touch".into(), major / touches);
    count(result, "scan_s", seconds);
    count(result, "scan_minor", minor);
    count(result, "scan_major", major);
    count(result, "pages_touched", touched.distinct as f64);
    count(result, "bytes_read", read);
    count(result, "read_per_touched", read / (touched.distinct as f64 * page));
    count(result, "pages_per_second", touches / seconds);
    if let Some(pages) = touched.resident_before {
        count(result, "resident_before", pages as f64);
    }
    let mut reads = touched.direct_read_ns.clone();
    reads.sort_unstable();
    if !reads.is_empty() {
        count(result, "direct_read_p50_ns", reads[reads.len() / 2] as f64);
    }
    if let Some(steady) = limit.and_then(|limit| steady(&touched.marks, limit.bytes as f64 / page)) {
        count(result, "steady_major_per_touch", steady);
    }
    result.crossings = last.touches;
    result.ns = Some(per_touch(&touched.marks));
    result.samples = touched.marks.len() as u64 - 1;
    result.phases = phases(first, last);
    result.series = series(&touched.marks);
    single(result, touched);
    if let Some((offset, length)) = touched.bus {
        let what = if length <= offset {
            format!("the file was cut to {length} bytes while it was mapped")
        } else {
            "the disk did not give a page of the file".into()
        };
        fail(
            result,
            format!(
                "{what}: the touch of byte {offset} brought SIGBUS after {} of {} touches; what was measured \
                 until then is kept. Leave the file alone while it is scanned",
                last.touches, touched.planned
            ),
        );
    } else if touched.stopped && last.touches < touched.planned {
        result.warnings.push(Warning::new(
            "interrupted",
            format!("{} of {} touches were made", last.touches, touched.planned),
        ));
    }
    if bytes > page_bytes()
        && touched.resident_before.is_some_and(|pages| pages as f64 * page * 20.0 > bytes as f64)
    {
        result.warnings.push(Warning::new(
            "warm",
            "more than a twentieth of the file was in the page cache before the scan began",
        ));
    }
}

/// Major faults for each touch after memory was full: from the first mark at which as many pages had been
/// read as the limit allows.
fn steady(marks: &[Mark], pages: f64) -> Option<f64> {
    let last = marks.last()?;
    let full = marks.iter().find(|mark| mark.usage.inputs as f64 * 512.0 >= pages * page_bytes() as f64)?;
    let touches = last.touches.checked_sub(full.touches).filter(|&touches| touches > 0)?;
    Some(last.usage.major.saturating_sub(full.usage.major) as f64 / touches as f64)
}

/// The mean over the whole scan. Its interval is that of the means between two marks.
fn per_touch(marks: &[Mark]) -> Estimate {
    let mut means: Vec<f64> = marks
        .windows(2)
        .map(|pair| (pair[1].ns - pair[0].ns) as f64 / (pair[1].touches - pair[0].touches).max(1) as f64)
        .collect();
    let last = marks[marks.len() - 1];
    let mean = last.ns as f64 / last.touches.max(1) as f64;
    let count = means.len() as f64;
    let variance = means.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
    let half = 1.96 * (variance / count).sqrt();
    means.sort_by(f64::total_cmp);
    let at = |q: f64| means[((means.len() - 1) as f64 * q).round() as usize];
    Estimate {
        estimate: mean,
        ci: [mean - half, mean + half],
        min: at(0.0),
        p10: at(0.1),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        mean,
    }
}

/// Where the time of a touch went: in the program, in the kernel, off the CPU.
fn phases(first: &Mark, last: &Mark) -> Vec<Phase> {
    let touches = last.touches.max(1) as f64;
    let user = (last.usage.user_ns - first.usage.user_ns) as f64;
    let system = (last.usage.system_ns - first.usage.system_ns) as f64;
    let part = |name: &str, ns: f64, evidence| {
        let ns = ns / touches;
        let ns =
            Estimate { estimate: ns, ci: [ns, ns], min: ns, p10: ns, p50: ns, p90: ns, p99: ns, mean: ns };
        Phase { ns: Some(ns), ..Phase::new(name, evidence) }
    };
    vec![
        part("user", user, Evidence::Measured),
        part("system", system, Evidence::Measured),
        part("waiting", last.ns as f64 - user - system, Evidence::Difference),
    ]
}

/// The scan over its time.
fn series(marks: &[Mark]) -> Vec<Series> {
    let first = marks[0];
    let over = |name: &str, y_unit: &str, of: &dyn Fn(&Mark) -> f64| Series {
        name: name.into(),
        x_unit: "ms".into(),
        y_unit: y_unit.into(),
        points: marks.iter().map(|mark| [mark.ns as f64 / 1e6, of(mark)]).collect(),
    };
    vec![
        over("touches", "touches", &|mark| mark.touches as f64),
        over("minor faults", "faults", &|mark| (mark.usage.minor - first.usage.minor) as f64),
        over("major faults", "faults", &|mark| (mark.usage.major - first.usage.major) as f64),
        over("bytes read", "bytes", &|mark| (mark.usage.inputs - first.usage.inputs) as f64 * 512.0),
    ]
}

/// Single touches, the clock's own time taken off.
fn single(result: &mut Measurement, touched: &Touched) {
    let to_ns = touched.ns_per_tick;
    let overhead = touched.stamp_ticks as f64;
    let values: Vec<(f64, u64)> =
        touched.buckets.iter().map(|&(bucket, count)| ((middle(bucket) - overhead) * to_ns, count)).collect();
    let count: u64 = values.iter().map(|(_, count)| count).sum();
    let at = |q: f64| {
        let wanted = (count as f64 * q).ceil().max(1.0) as u64;
        let mut met = 0;
        let found = values.iter().find(|(_, count)| {
            met += count;
            met >= wanted
        });
        found.map_or(0.0, |(ns, _)| *ns)
    };
    result.single = Some(Single {
        count,
        pair_overhead_ns: overhead * to_ns,
        pair_overhead_error_ns: to_ns,
        min: at(0.0),
        p10: at(0.1),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        max: at(1.0),
        mean: values.iter().map(|(ns, count)| ns * *count as f64).sum::<f64>() / count.max(1) as f64,
    });
    result.histogram = histogram_of(values);
}

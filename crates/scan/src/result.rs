//! From the reports of a scan to its record.

use crate::file::ScannedFile;
use crate::memory_limit::MemoryLimit;
use crate::plan::{ScanPlan, page_bytes};
use crate::process::ScanEnd;
use crate::touch::{Mark, Touched, Usage, middle};
use tollgate_measure::stats::{Window, mean_of_windows};
use tollgate_measure::summary::histogram_of;
use tollgate_record::family::{ScanAsked, ScanFound};
use tollgate_record::{
    Asked, Estimate, Evidence, Found, Measurement, Per, Phase, PhaseName, Series, Single, Status, Warning,
    counter, phase, warning,
};

/// The record of one scan.
pub(crate) fn measurement(
    plan: &ScanPlan,
    bytes: u64,
    file: &ScannedFile,
    limit: Option<&MemoryLimit>,
    ended: ScanEnd,
) -> Measurement {
    let mut result = Measurement::empty("fault/scan", "host", Per::Touch, Status::Measured);
    facts(&mut result, plan, bytes, file, limit);
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

fn facts(
    result: &mut Measurement,
    plan: &ScanPlan,
    bytes: u64,
    file: &ScannedFile,
    limit: Option<&MemoryLimit>,
) {
    result.asked = Asked::Scan(ScanAsked {
        size: bytes,
        pattern: plan.pattern.name(),
        advice: plan.advice.name().into(),
        warm: plan.warm,
        file: file.path.as_ref().map(|path| path.to_string_lossy().into()),
        memory_limit: limit.map(|limit| limit.bytes),
    });
    result.found = Found::Scan(ScanFound {
        page_bytes: page_bytes(),
        file_bytes: file.bytes,
        read_ahead_kib: file.read_ahead_kib(),
        limited_by: limit.map(|limit| limit.enforcer().into()),
    });
}

/// The figures of `/usr/bin/time -v`, from the start of the process to its end.
fn as_time(result: &mut Measurement, ended: &ScanEnd) {
    let ScanEnd { usage, elapsed, .. } = ended;
    let elapsed = elapsed.as_secs_f64();
    let (user, system) = (usage.user_ns as f64 / 1e9, usage.system_ns as f64 / 1e9);
    for (key, value) in [
        (counter::ELAPSED, elapsed),
        (counter::USER_SECONDS, user),
        (counter::SYSTEM_SECONDS, system),
        (counter::CPU_SHARE, (user + system) / elapsed),
        (counter::MAJOR_FAULTS, usage.major as f64),
        (counter::MINOR_FAULTS, usage.minor as f64),
        (counter::VOLUNTARY_SWITCHES, usage.voluntary as f64),
        (counter::INVOLUNTARY_SWITCHES, usage.involuntary as f64),
        (counter::FILE_SYSTEM_INPUTS, usage.inputs as f64),
        (counter::MAXIMUM_RESIDENT, usage.max_rss_kib as f64),
    ] {
        result.count(key, value);
    }
}

/// The figures of the scan itself, without the start and the end of its process.
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
    result.proof.insert("minor-per-touch".into(), minor / touches);
    result.proof.insert("major-per-touch".into(), major / touches);
    result.count(counter::SCAN_SECONDS, seconds);
    result.count(counter::SCAN_MINOR, minor);
    result.count(counter::SCAN_MAJOR, major);
    result.count(counter::PAGES_TOUCHED, touched.distinct as f64);
    result.count(counter::BYTES_READ, read);
    result.count(counter::READ_PER_TOUCHED, read / (touched.distinct as f64 * page));
    result.count(counter::PAGES_PER_SECOND, touches / seconds);
    if let Some(pages) = touched.resident_before {
        result.count(counter::RESIDENT_BEFORE, pages as f64);
    }
    let mut reads = touched.direct_read_ns.clone();
    reads.sort_unstable();
    if !reads.is_empty() {
        result.count(counter::DIRECT_READ, reads[reads.len() / 2] as f64);
    }
    if let Some(steady) = limit.and_then(|limit| steady(&touched.marks, limit.bytes as f64 / page)) {
        result.count(counter::STEADY_MAJOR, steady);
    }
    result.crossings = last.touches;
    result.ns = per_touch(&touched.marks);
    result.samples = touched.marks.len() as u64 - 1;
    result.phases = phases(first, last);
    result.series = series(&touched.marks);
    if !touched.buckets.is_empty() {
        single(result, touched);
    }
    if let Some((offset, length)) = touched.bus {
        let what = if length <= offset {
            format!("the file was cut to {length} bytes while it was mapped")
        } else {
            "the disk did not give a page of the file".into()
        };
        fail(
            result,
            format!(
                "{what}: the touch of byte {offset} raised SIGBUS after {} of {} touches; what was measured \
                 until then is kept. Leave the file alone while it is scanned",
                last.touches, touched.planned
            ),
        );
    } else if touched.stopped && last.touches < touched.planned {
        result.warnings.push(Warning::new(
            warning::INTERRUPTED,
            format!("{} of {} touches were made", last.touches, touched.planned),
        ));
    }
    if touched.cut {
        let planned = touched.planned;
        let text = format!("the time was up after {} of {planned} touches: --for allows more", last.touches);
        result.warnings.push(Warning::new(warning::INTERRUPTED, text));
    }
    if bytes > page_bytes()
        && touched.resident_before.is_some_and(|pages| pages as f64 * page * 20.0 > bytes as f64)
    {
        result.warnings.push(Warning::new(
            warning::WARM,
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

/// The mean over the whole scan, with the quantiles of the means between two marks. Neighboring marks are alike
/// (read-ahead, a memory that fills up), so the interval is that of batch means.
fn per_touch(marks: &[Mark]) -> Option<Estimate> {
    let windows: Vec<Window> = marks
        .windows(2)
        .map(|pair| Window {
            total: (pair[1].ns - pair[0].ns) as f64,
            count: (pair[1].touches - pair[0].touches) as f64,
        })
        .collect();
    let mut means: Vec<f64> = windows.iter().map(|window| window.total / window.count.max(1.0)).collect();
    means.sort_by(f64::total_cmp);
    let at = |q: f64| means[((means.len() - 1) as f64 * q).round() as usize];
    let mean = mean_of_windows(&windows)?;
    Some(Estimate { min: at(0.0), p10: at(0.1), p50: at(0.5), p90: at(0.9), p99: at(0.99), ..mean })
}

/// The parts of a touch's time: in the program, in the kernel, off the CPU.
fn phases(first: &Mark, last: &Mark) -> Vec<Phase> {
    let touches = last.touches.max(1) as f64;
    let user = (last.usage.user_ns - first.usage.user_ns) as f64;
    let system = (last.usage.system_ns - first.usage.system_ns) as f64;
    let part = |name: PhaseName, ns: f64, evidence| Phase {
        ns: Some(Estimate::unmeasured(ns / touches)),
        ..Phase::new(name, evidence)
    };
    vec![
        part(phase::USER, user, Evidence::Measured),
        part(phase::SYSTEM, system, Evidence::Measured),
        part(phase::WAITING, last.ns as f64 - user - system, Evidence::Difference),
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

/// Single touches, minus the clock's own time.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_scan_allows_for_neighbors_that_are_alike() {
        // One touch for each nanosecond in the first half of the scan and every third in the second: 2 ns for each.
        // Eight batches, four with means 1 and 3 each: the standard error is sqrt(8 / 7 / 8), the quantile 2.365.
        let ns = |touches: u64| if touches <= 100 { touches } else { 3 * touches - 200 };
        let marks: Vec<Mark> =
            (0..=200).map(|touches| Mark { ns: ns(touches), touches, usage: Usage::default() }).collect();
        let estimate = per_touch(&marks).unwrap();
        assert_eq!((estimate.estimate, estimate.mean), (2.0, 2.0));
        assert_eq!((estimate.min, estimate.p90), (1.0, 3.0));
        let half = 2.3646 * (1.0_f64 / 7.0).sqrt();
        assert!((estimate.ci[1] - 2.0 - half).abs() < 1e-3, "{:?}", estimate.ci);
        // As if all windows were independent: 1.96 sqrt(1 / 200) = 0.14, a sixth of that.
        assert!(estimate.ci[1] - estimate.ci[0] > 6.0 * 0.14);
    }
}

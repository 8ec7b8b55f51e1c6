//! The first lines of a comparison.

use super::explain::Part;
use super::result::{ComparedProbe, Largest, Sees, Summary, Verdict};

pub(super) fn summary(rows: &[ComparedProbe]) -> Summary {
    let count = |verdict: Verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    Summary {
        worse: count(Verdict::Worse),
        better: count(Verdict::Better),
        same: count(Verdict::Same),
        cannot_tell: count(Verdict::CannotTell),
        largest: largest(rows, true).or_else(|| largest(rows, false)),
        sees: sees(rows),
    }
}

fn largest(rows: &[ComparedProbe], certain: bool) -> Option<Largest> {
    let is_asked = |row: &ComparedProbe| {
        let cannot_tell = row.verdict == Verdict::CannotTell && row.interval.is_some() && !row.spoiled;
        if certain { row.moved() } else { cannot_tell }
    };
    let distance = |row: &ComparedProbe| row.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let all = rows.iter().enumerate().filter(|(_, row)| is_asked(row) && row.ratio.is_some());
    let (row, found) = all.max_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)))?;
    let carries = |part: &&Part| {
        let surely = part.interval.is_none_or(|[low, high]| low > 0.0 || high < 0.0);
        surely && part.share.is_some_and(|share| share >= 0.5)
    };
    let cause = found.parts.first().filter(carries).cloned();
    Some(Largest { row, certain, cause })
}

fn sees(rows: &[ComparedProbe]) -> Option<Sees> {
    let mut all: Vec<f64> =
        rows.iter().filter(|row| !row.exact).filter_map(|row| row.smallest_seen).collect();
    all.sort_by(f64::total_cmp);
    let at = |share: f64| all.get(((all.len() as f64 * share).ceil() as usize).saturating_sub(1)).copied();
    Some(Sees { half: at(0.5)?, most: at(0.9)?, rows: all.len() })
}

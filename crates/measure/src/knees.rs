//! Where a working set stops fitting: a fit of refill times against footprints, one step for each cache.
//!
//! `N` tasks that each walk over `S` bytes in turn sweep over `F = N S` bytes again and again. A cache that
//! holds `F` serves every walk; one that does not serves none, because what comes next was pushed out last.
//! So the time to get one KiB back is a staircase over the footprint, `g(F)`, with a step at each cache. The
//! walk of one task alone is already at `g(S)`, and the refill of a switch is what is left:
//!
//! `refill(N, S) = S (g(N S) - g(S))`, `g(F) = sum over caches of c ramp(ln(F / K))`
//!
//! The ramp rises from 0 to 1 over [`RAMP`] on either side of the knee `K`, as sets fill unevenly. The heights `c`
//! are found by least squares and never below zero; the knees by trying out.
//!
//! ```
//! use tollgate_measure::knees::{CacheLevel, RefillPoint, fit};
//! // Two tasks; a cache of 1 MiB, behind which each KiB takes 50 ns more.
//! let point = |kib: u32| {
//!     let bytes = f64::from(kib) * 1024.0;
//!     let refill = if kib > 512 { 50.0 * f64::from(kib) } else { 0.0 };
//!     RefillPoint { procs: 2.0, bytes, refill, error: 10.0, total: refill + 1_000.0 }
//! };
//! let points: Vec<RefillPoint> = [64, 128, 256, 400, 650, 850, 900].map(point).into();
//! let found = fit(&points, &[CacheLevel { name: "L2".into(), bytes: 1024.0 * 1024.0 }]);
//! assert!(found.levels[0].knee.is_ok());
//! ```

/// One cell of a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RefillPoint {
    /// Number of tasks.
    pub procs: f64,
    /// Size of each array in bytes.
    pub bytes: f64,
    /// Refill for a switch, in nanoseconds.
    pub refill: f64,
    /// Half the width of its interval.
    pub error: f64,
    /// The whole hop.
    pub total: f64,
}

/// A cache.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheLevel {
    /// Its name: `L2`.
    pub name: String,
    /// Its size in bytes, where the knee is expected.
    pub bytes: f64,
}

/// The fit of one cache.
#[derive(Clone, Debug, PartialEq)]
pub struct CacheFit {
    /// The cache.
    pub level: CacheLevel,
    /// The knee, or why it cannot be resolved.
    pub knee: Result<Knee, String>,
}

/// A step of the staircase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// The footprint in bytes.
    pub bytes: f64,
    /// The footprints that fit the data nearly as well: a 95 % interval.
    pub interval: [f64; 2],
    /// The extra time of a KiB above it, in nanoseconds.
    pub ns_per_kib: f64,
    /// Twice the jackknife's standard error of that, both ways.
    pub ns_interval: [f64; 2],
}

/// How well cells are predicted that had no part in the fit, each in turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Cells left out, one by one.
    pub cells: usize,
    /// Median error as a share of the whole hop.
    pub median: f64,
    /// Largest error as a share of the whole hop.
    pub worst: f64,
}

/// The result of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// One entry for each cache.
    pub levels: Vec<CacheFit>,
    /// How well it predicts; `None` with too few cells.
    pub prediction: Option<Prediction>,
}

/// Half the width of a ramp, in factors of e: from 0.6 to 1.65 of the knee.
pub const RAMP: f64 = 0.5;
/// The range in which a knee is searched, as a factor below and above its cache's size.
const RANGE: f64 = 4.0;
/// Places tried in that range.
const PLACES: usize = 33;
/// Fewest cells with arrays for a fit.
const FEWEST: usize = 4;
/// A cell's own error is at least this share of its refill: no cell is exact, and the model is not either.
const MODEL_ERROR: f64 = 0.05;
/// The same, in nanoseconds and as a share of the whole hop.
const FLOOR: (f64, f64) = (1.0, 0.01);
/// Quantiles of chi-squared with one degree of freedom: 95 and 99.9 %.
const CHI_95: f64 = 3.84;
const CHI_999: f64 = 10.83;

/// Fits the staircase to the cells. `levels` from the smallest cache to the largest. Cells without arrays and
/// cells that are not finite take no part.
pub fn fit(points: &[RefillPoint], levels: &[CacheLevel]) -> Fit {
    let usable = |point: &&RefillPoint| {
        let numbers = [point.procs, point.bytes, point.refill, point.error, point.total];
        numbers.iter().all(|number| number.is_finite()) && point.bytes > 0.0 && point.procs >= 1.0
    };
    let points: Vec<RefillPoint> = points.iter().filter(usable).copied().collect();
    let levels: Vec<CacheLevel> = levels.iter().filter(|level| level.bytes >= 1.0).cloned().collect();
    if points.len() < FEWEST {
        let why = format!("{} cells with arrays, and a fit takes {FEWEST} at least", points.len());
        let found = |level: CacheLevel| CacheFit { level, knee: Err(why.clone()) };
        return Fit { levels: levels.into_iter().map(found).collect(), prediction: None };
    }
    let best = Stairs::best(&points, &levels);
    let without: Vec<Stairs> = (0..points.len())
        .map(|out| {
            let others: Vec<RefillPoint> =
                points.iter().enumerate().filter(|(at, _)| *at != out).map(|(_, point)| *point).collect();
            Stairs::from(&others, &levels, best.knees.clone())
        })
        .collect();
    let found = levels
        .iter()
        .enumerate()
        .map(|(at, level)| CacheFit {
            level: level.clone(),
            knee: knee(&points, &levels, &best, &without, at),
        })
        .collect();
    Fit { levels: found, prediction: prediction(&points, &without) }
}

fn prediction(points: &[RefillPoint], without: &[Stairs]) -> Option<Prediction> {
    let mut errors: Vec<f64> = points
        .iter()
        .zip(without)
        .filter(|(point, _)| point.total > 0.0)
        .map(|(point, stairs)| (stairs.refill(point) - point.refill).abs() / point.total)
        .collect();
    errors.sort_unstable_by(f64::total_cmp);
    let worst = *errors.last()?;
    Some(Prediction { cells: errors.len(), median: crate::stats::median(&errors), worst })
}

/// The knee of one cache, if the cells show it.
fn knee(
    points: &[RefillPoint],
    levels: &[CacheLevel],
    best: &Stairs,
    without: &[Stairs],
    at: usize,
) -> Result<Knee, String> {
    let level = &levels[at];
    // A walk that does not fit by itself misses this cache even when it is alone.
    let telling = |point: &&RefillPoint| point.bytes < level.bytes;
    let beyond = points.iter().filter(telling).filter(|point| footprint(point) > 1.2 * level.bytes).count();
    let below = points.iter().filter(|point| footprint(point) < 0.9 * level.bytes).count();
    if beyond < 2 {
        return Err(format!("{beyond} cells beyond it have arrays that fit it alone, and 2 are needed"));
    }
    if below < 1 {
        return Err("no cell is below it".into());
    }
    let freedom = points.len().saturating_sub(2 * levels.len()).max(1) as f64;
    let scatter = (best.misfit / freedom).max(1.0);
    let flat = Stairs::heights(points, &best.knees, Some(at));
    if best.heights[at] <= 0.0 || flat.misfit - best.misfit < CHI_999 * scatter {
        return Err("the cells beyond it take no longer than their scatter explains".into());
    }
    let fits = |place: &f64| {
        let knees = moved(&best.knees, at, *place);
        Stairs::heights(points, &knees, None).misfit <= best.misfit + CHI_95 * scatter
    };
    let near: Vec<f64> = places(level).into_iter().filter(fits).collect();
    let step = (2.0 * RANGE.ln() / (PLACES - 1) as f64 / 2.0).exp();
    let bytes = best.knees[at];
    // Nothing is known between two places that were tried, so half a step is added at each end.
    let low = near.first().map_or(bytes, |low| low.min(bytes)) / step;
    let high = near.last().map_or(bytes, |high| high.max(bytes)) * step;
    if low <= level.bytes / RANGE || high >= level.bytes * RANGE {
        return Err("the cells do not limit its place within the range that was searched".into());
    }
    let heights: Vec<f64> = without.iter().map(|stairs| stairs.heights[at]).collect();
    let n = heights.len() as f64;
    let mean = heights.iter().sum::<f64>() / n;
    let spread = heights.iter().map(|height| (height - mean).powi(2)).sum::<f64>();
    let half = 2.0 * ((n - 1.0) / n * spread).sqrt();
    let height = best.heights[at];
    Ok(Knee { bytes, interval: [low, high], ns_per_kib: height, ns_interval: [height - half, height + half] })
}

fn footprint(point: &RefillPoint) -> f64 {
    point.procs * point.bytes
}

/// Places at which a cache's knee is tried, in even steps of the logarithm.
fn places(level: &CacheLevel) -> Vec<f64> {
    let at = |i: usize| level.bytes * RANGE.powf(2.0 * i as f64 / (PLACES - 1) as f64 - 1.0);
    (0..PLACES).map(at).collect()
}

fn moved(knees: &[f64], at: usize, place: f64) -> Vec<f64> {
    let mut knees = knees.to_vec();
    knees[at] = place;
    knees
}

fn ramp(footprint: f64, knee: f64) -> f64 {
    (((footprint / knee).ln() / RAMP + 1.0) / 2.0).clamp(0.0, 1.0)
}

/// A staircase, and how far from the cells it is.
#[derive(Clone, Debug)]
struct Stairs {
    knees: Vec<f64>,
    /// Nanoseconds for a KiB.
    heights: Vec<f64>,
    /// Sum of squared errors, each in units of the cell's own.
    misfit: f64,
}

impl Stairs {
    /// The best staircase from any start: knees where the caches end.
    fn best(points: &[RefillPoint], levels: &[CacheLevel]) -> Self {
        Self::from(points, levels, levels.iter().map(|level| level.bytes).collect())
    }

    /// The best staircase that moving one knee at a time from these finds.
    fn from(points: &[RefillPoint], levels: &[CacheLevel], knees: Vec<f64>) -> Self {
        let mut best = Self::heights(points, &knees, None);
        for _ in 0..4 {
            let before = best.misfit;
            for (at, level) in levels.iter().enumerate() {
                for place in places(level) {
                    let tried = Self::heights(points, &moved(&best.knees, at, place), None);
                    if tried.misfit < best.misfit {
                        best = tried;
                    }
                }
            }
            if before - best.misfit <= 1e-9 * before {
                break;
            }
        }
        best
    }

    /// The best heights for these knees, none of them below zero; `flat` stays at zero.
    fn heights(points: &[RefillPoint], knees: &[f64], flat: Option<usize>) -> Self {
        let rows: Vec<(Vec<f64>, f64)> = points
            .iter()
            .map(|point| {
                let floor = FLOOR.0 + FLOOR.1 * point.total.abs();
                let error =
                    (point.error.powi(2) + (MODEL_ERROR * point.refill).powi(2) + floor.powi(2)).sqrt();
                let row = knees.iter().map(|&knee| basis(point, knee) / error).collect();
                (row, point.refill / error)
            })
            .collect();
        let misfit = |heights: &[f64]| -> f64 {
            let error = |(row, target): &(Vec<f64>, f64)| {
                row.iter().zip(heights).map(|(a, b)| a * b).sum::<f64>() - target
            };
            rows.iter().map(|row| error(row).powi(2)).sum()
        };
        // With at most a handful of caches every choice of steps that are there can be tried.
        let mut best = Self {
            knees: knees.to_vec(),
            heights: vec![0.0; knees.len()],
            misfit: misfit(&vec![0.0; knees.len()]),
        };
        for choice in 1..1_u32 << knees.len().min(8) {
            let chosen: Vec<usize> =
                (0..knees.len()).filter(|&at| choice >> at & 1 == 1 && Some(at) != flat).collect();
            let Some(found) = solve(&rows, &chosen) else { continue };
            if found.iter().any(|height| *height < 0.0) {
                continue;
            }
            let mut heights = vec![0.0; knees.len()];
            chosen.iter().zip(found).for_each(|(&at, height)| heights[at] = height);
            let misfit = misfit(&heights);
            if misfit < best.misfit {
                best = Self { knees: knees.to_vec(), heights, misfit };
            }
        }
        best
    }

    fn refill(&self, point: &RefillPoint) -> f64 {
        self.knees.iter().zip(&self.heights).map(|(&knee, height)| height * basis(point, knee)).sum()
    }
}

/// The refill of this cell that a step of one nanosecond a KiB adds.
fn basis(point: &RefillPoint, knee: f64) -> f64 {
    point.bytes / 1024.0 * (ramp(footprint(point), knee) - ramp(point.bytes, knee))
}

/// Least squares for the chosen columns, by the normal equations. `None` when they do not determine it.
fn solve(rows: &[(Vec<f64>, f64)], chosen: &[usize]) -> Option<Vec<f64>> {
    let n = chosen.len();
    let mut a = vec![vec![0.0; n + 1]; n];
    for (row, target) in rows {
        for (i, &column) in chosen.iter().enumerate() {
            for (j, &other) in chosen.iter().enumerate() {
                a[i][j] += row[column] * row[other];
            }
            a[i][n] += row[column] * target;
        }
    }
    for i in 0..n {
        let pivot = (i..n).max_by(|&p, &q| a[p][i].abs().total_cmp(&a[q][i].abs()))?;
        a.swap(i, pivot);
        if a[i][i].abs() < 1e-12 || !a[i][i].is_finite() {
            return None;
        }
        for row in i + 1..n {
            let factor = a[row][i] / a[i][i];
            let above = a[i].clone();
            a[row].iter_mut().zip(above).for_each(|(value, above)| *value -= factor * above);
        }
    }
    let mut found = vec![0.0; n];
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| a[i][j] * found[j]).sum();
        found[i] = (a[i][n] - known) / a[i][i];
    }
    found.iter().all(|height| height.is_finite()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn levels() -> Vec<CacheLevel> {
        [("L1", 48.0), ("L2", 2_048.0)]
            .map(|(name, kib)| CacheLevel { name: name.into(), bytes: kib * 1024.0 })
            .into()
    }

    /// A matrix made by the model itself, with an error that alternates.
    fn matrix(knees: [f64; 2], heights: [f64; 2], noise: f64) -> Vec<RefillPoint> {
        let truth = Stairs { knees: knees.into(), heights: heights.into(), misfit: 0.0 };
        let mut points = Vec::new();
        for procs in [2.0, 4.0, 8.0, 16.0, 32.0] {
            for kib in [4.0, 8.0, 16.0, 24.0, 64.0, 128.0, 256.0, 512.0] {
                let mut point = RefillPoint {
                    procs,
                    bytes: kib * 1024.0,
                    refill: 0.0,
                    error: 5.0,
                    total: 2_000.0 + 20.0 * kib,
                };
                point.refill = truth.refill(&point);
                point.total += point.refill;
                let sign = if points.len() % 2 == 0 { 1.0 } else { -1.0 };
                point.refill += sign * noise * point.total;
                points.push(point);
            }
        }
        points
    }

    #[test]
    fn knees_are_found_where_they_are() {
        let knees = [60.0 * 1024.0, 1_500.0 * 1024.0];
        let fit = fit(&matrix(knees, [4.0, 30.0], 0.005), &levels());
        for (found, (knee, height)) in fit.levels.iter().zip(knees.into_iter().zip([4.0, 30.0])) {
            let got = found.knee.as_ref().expect(&found.level.name);
            assert!((got.bytes / knee).ln().abs() < 0.2, "{got:?} for {knee}");
            assert!(got.interval[0] <= knee && knee <= got.interval[1], "{got:?} for {knee}");
            assert!((got.ns_per_kib / height - 1.0).abs() < 0.15, "{got:?} for {height}");
        }
        let prediction = fit.prediction.expect("40 cells");
        assert_eq!(prediction.cells, 40);
        assert!(prediction.median < 0.02 && prediction.worst < 0.2, "{prediction:?}");
    }

    #[test]
    fn a_cache_that_shows_nothing_is_not_resolved() {
        let fit = fit(&matrix([48.0 * 1024.0, 2_048.0 * 1024.0], [0.0, 30.0], 0.002), &levels());
        assert!(fit.levels[0].knee.as_ref().is_err_and(|why| why.contains("scatter")), "{fit:?}");
        assert!(fit.levels[1].knee.is_ok());
    }

    #[test]
    fn a_cache_that_was_never_left_is_not_resolved() {
        let mut levels = levels();
        levels.push(CacheLevel { name: "L3".into(), bytes: 256.0 * 1024.0 * 1024.0 });
        let fit = fit(&matrix([48.0 * 1024.0, 2_048.0 * 1024.0], [4.0, 30.0], 0.002), &levels);
        let why = fit.levels[2].knee.as_ref().expect_err("footprints end far below it");
        assert!(why.starts_with("0 cells beyond"), "{why}");
    }

    #[test]
    fn few_cells_are_the_reason() {
        let fit = fit(&matrix([1.0, 2.0], [1.0, 1.0], 0.0)[..3], &levels());
        assert!(
            fit.levels.iter().all(|found| found.knee.as_ref().is_err_and(|why| why.starts_with("3 cells")))
        );
        assert_eq!(fit.prediction, None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

        #[test]
        fn the_second_knee_is_found_wherever_it_is(share in 0.4..2.5_f64, height in 10.0..60.0_f64) {
            let knee = 2_048.0 * 1024.0 * share;
            let fit = fit(&matrix([48.0 * 1024.0, knee], [3.0, height], 0.002), &levels());
            let found = fit.levels[1].knee.as_ref().map_err(|why| TestCaseError::fail(why.clone()))?;
            prop_assert!((found.bytes / knee).ln().abs() < 0.2, "{:?} for {}", found, knee);
            prop_assert!((found.ns_per_kib / height - 1.0).abs() < 0.15, "{:?} for {}", found, height);
        }

        #[test]
        fn nothing_panics(
            cells in prop::collection::vec((any::<f64>(), any::<f64>(), any::<f64>(), any::<f64>()), 0..12),
            sizes in prop::collection::vec(any::<f64>(), 0..4),
        ) {
            let points: Vec<RefillPoint> = cells
                .iter()
                .map(|&(procs, bytes, refill, error)| RefillPoint { procs, bytes, refill, error, total: refill })
                .collect();
            let levels: Vec<CacheLevel> =
                sizes.iter().map(|&bytes| CacheLevel { name: String::new(), bytes }).collect();
            let _ = fit(&points, &levels);
        }
    }
}

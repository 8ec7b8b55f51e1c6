//! A bill in one unit, from the phases of a measurement.

use crate::chart::Unit;
use crate::markup::clean;
use tollgate_record::number::figure;
use tollgate_record::{Estimate, Evidence, Measurement, Phase};

/// What the record calls the part that no phase accounts for, and what it is called here where the record has none.
pub(super) const REST: &str = "unattributed";

/// A rest below this share of the total is what rounding leaves.
const NOISE: f64 = 0.005;

/// Parts that add up to so many times the total, or to less than none of it, are not parts of it.
const APART: f64 = 3.0;

/// What a bill may be in; the first that any phase has is taken.
const MEASURES: [&str; 3] = ["ns", "cycles", "instructions"];

/// A phase in a measure: headline and interval.
fn of(measure: &str, phase: &Phase) -> Option<(f64, Option<[f64; 2]>)> {
    let of = |it: Option<Estimate>| it.map(|it| (it.estimate, Some(it.ci).filter(|_| it.is_measured())));
    match measure {
        "ns" => of(phase.ns),
        "cycles" => of(phase.cycles),
        _ => Some((phase.instructions?, None)),
    }
}

/// One part of a bill.
#[derive(Clone, Debug, Default)]
pub(super) struct Item {
    pub(super) name: String,
    pub(super) number: f64,
    pub(super) interval: Option<[f64; 2]>,
    pub(super) instructions: Option<f64>,
    pub(super) evidence: Option<Evidence>,
    /// What caused it, in words; of a cause, the phase that it is in.
    pub(super) causes: String,
}

/// The parts of one crossing and their total.
#[derive(Clone, Debug)]
pub(super) struct Bill {
    pub(super) measure: &'static str,
    pub(super) items: Vec<Item>,
    /// Cycles by cause, phase after phase, so that they are below their phases.
    pub(super) causes: Vec<Item>,
    pub(super) total: f64,
    /// Half of the total's interval.
    pub(super) half: Option<f64>,
}

impl Bill {
    /// The bill of a result; `None` when no phase has a number.
    pub(super) fn of(result: &Measurement) -> Option<Self> {
        let measure =
            MEASURES.into_iter().find(|it| result.phases.iter().any(|phase| of(it, phase).is_some()))?;
        let (mut items, mut by_cause) = (Vec::new(), Vec::new());
        for phase in &result.phases {
            let Some((number, interval)) = of(measure, phase) else { continue };
            let causes = phase.causes.iter().map(|(name, cycles)| format!("{name} {}", figure(*cycles)));
            items.push(Item {
                name: clean(&phase.name),
                number,
                interval,
                instructions: phase.instructions,
                evidence: Some(phase.evidence),
                causes: causes.collect::<Vec<_>>().join(", "),
            });
            by_cause.extend(phase.causes.iter().filter(|_| measure == "cycles").map(|(name, cycles)| Item {
                name: clean(name),
                number: *cycles,
                causes: clean(&phase.name),
                ..Item::default()
            }));
        }
        let whole = match measure {
            "ns" => result.ns,
            "cycles" => result.cycles,
            _ => None,
        };
        let sum: f64 = items.iter().map(|item| item.number).sum();
        let total = whole.map_or(sum, |whole| whole.estimate);
        let rest = total - sum;
        if !items.iter().any(|item| item.name == REST) && rest.abs() > NOISE * total.abs() {
            items.push(Item {
                name: REST.into(),
                number: rest,
                evidence: Some(Evidence::Difference),
                causes: "the total less the parts".into(),
                ..Item::default()
            });
        }
        let half = whole.map(|whole| whole.half_width()).filter(|half| *half > 0.0 && half.is_finite());
        Some(Self { measure, causes: by_cause, items, total, half })
    }

    pub(super) fn show(&self, number: f64) -> String {
        Unit::named(self.measure).show(number)
    }

    /// The sum of what `of` makes of the parts, without what was found missing.
    pub(super) fn sum(&self, of: fn(f64) -> f64) -> f64 {
        self.items.iter().filter(|item| item.name != REST).map(|item| of(item.number)).sum()
    }

    /// Whether the parts can be parts of this total.
    pub(super) fn adds_up(&self) -> bool {
        let sizes = self.sum(f64::abs);
        sizes.is_finite() && self.total.is_finite() && sizes <= APART * self.total.abs()
    }

    /// A part in words.
    pub(super) fn said(&self, item: &Item) -> String {
        let evidence = item.evidence.map(|it| format!(" ({})", evidence(Some(it)))).unwrap_or_default();
        // A part that nothing vouches for is a cause in a phase.
        let of = if item.evidence.is_none() { format!("{}, ", item.causes) } else { String::new() };
        format!("{of}{}: {}{}{evidence}", item.name, self.show(item.number), self.plus_minus(item))
    }

    /// Half of a part's interval, with its sign before it; nothing where there is none.
    pub(super) fn plus_minus(&self, item: &Item) -> String {
        let half = item.interval.map(|ci| (ci[1] - ci[0]) / 2.0).filter(|half| *half > 0.0);
        half.map(|half| format!(" ± {}", self.show(half))).unwrap_or_default()
    }

    /// The total as the last row of a table.
    pub(super) fn as_item(&self) -> Item {
        let interval = self.half.map(|half| [self.total - half, self.total + half]);
        Item { name: "total".into(), number: self.total, interval, ..Item::default() }
    }
}

/// How a part is known, in words.
pub(super) fn evidence(evidence: Option<Evidence>) -> &'static str {
    match evidence {
        Some(Evidence::Measured) => "measured",
        Some(Evidence::Difference) => "difference",
        Some(Evidence::KernelTimestamp) => "kernel time stamp",
        Some(Evidence::Guest) => "bare guest",
        Some(Evidence::Simulated) => "simulated",
        Some(Evidence::Accounted) => "the kernel's accounts",
        Some(Evidence::Priced) => "count times price",
        None => "",
    }
}

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

/// What a bill is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    Nanoseconds,
    Cycles,
    Instructions,
}

impl Measure {
    pub(super) fn unit(self) -> Unit {
        match self {
            Self::Nanoseconds => Unit::Nanoseconds,
            Self::Cycles => Unit::Other("cycles".into()),
            Self::Instructions => Unit::Other("instructions".into()),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Cycles => "cycles",
            Self::Instructions => "instructions",
        }
    }

    pub(super) fn show(self, number: f64) -> String {
        self.unit().show(number)
    }

    /// A phase in it: headline and interval.
    fn of(self, phase: &Phase) -> Option<(f64, Option<[f64; 2]>)> {
        match self {
            Self::Nanoseconds => phase.ns.map(|it| (it.estimate, Some(it.ci))),
            Self::Cycles => phase.cycles.map(|it| (it.estimate, Some(it.ci))),
            Self::Instructions => Some((phase.instructions?, None)),
        }
    }
}

/// One part of a bill.
#[derive(Clone, Debug)]
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
    pub(super) measure: Measure,
    pub(super) items: Vec<Item>,
    /// Cycles by cause, phase after phase, so that they are below their phases.
    pub(super) causes: Vec<Item>,
    pub(super) total: f64,
    /// Half of the total's interval.
    pub(super) half: Option<f64>,
}

impl Bill {
    /// The bill in the first unit that any phase has; `None` when no phase has a number.
    pub(super) fn of(result: &Measurement) -> Option<Self> {
        let measures = [Measure::Nanoseconds, Measure::Cycles, Measure::Instructions];
        let measure =
            measures.into_iter().find(|it| result.phases.iter().any(|phase| it.of(phase).is_some()))?;
        let mut items: Vec<Item> = Vec::new();
        let mut by_cause: Vec<Item> = Vec::new();
        for phase in &result.phases {
            let Some((number, interval)) = measure.of(phase) else { continue };
            let causes = phase.causes.iter().map(|(name, cycles)| format!("{name} {}", figure(*cycles)));
            items.push(Item {
                name: clean(&phase.name),
                number,
                interval,
                instructions: phase.instructions,
                evidence: Some(phase.evidence),
                causes: causes.collect::<Vec<_>>().join(", "),
            });
            if measure == Measure::Cycles {
                by_cause.extend(
                    phase.causes.iter().map(|(name, cycles)| Item::cause(&phase.name, name, *cycles)),
                );
            }
        }
        let whole: Option<Estimate> = match measure {
            Measure::Nanoseconds => result.ns,
            Measure::Cycles => result.cycles,
            Measure::Instructions => None,
        };
        let sum: f64 = items.iter().map(|item| item.number).sum();
        let total = whole.map_or(sum, |whole| whole.estimate);
        let rest = total - sum;
        if !items.iter().any(|item| item.name == REST) && rest.abs() > NOISE * total.abs() {
            items.push(Item {
                name: REST.into(),
                number: rest,
                interval: None,
                instructions: None,
                evidence: Some(Evidence::Difference),
                causes: "the total less the parts".into(),
            });
        }
        Some(Self {
            measure,
            causes: by_cause,
            items,
            total,
            half: whole.map(|whole| whole.half_width()).filter(|half| *half > 0.0),
        })
    }

    /// The parts without what was found missing.
    pub(super) fn sum(&self) -> f64 {
        self.items.iter().filter(|item| item.name != REST).map(|item| item.number).sum()
    }

    /// Whether the parts can be parts of this total.
    pub(super) fn adds_up(&self) -> bool {
        let sizes: f64 =
            self.items.iter().filter(|item| item.name != REST).map(|item| item.number.abs()).sum();
        sizes.is_finite() && self.total.is_finite() && sizes <= APART * self.total.abs()
    }

    /// A part in words.
    pub(super) fn said(&self, item: &Item) -> String {
        let evidence = item.evidence.map(|it| format!(" ({})", evidence(Some(it)))).unwrap_or_default();
        let measure = self.measure;
        // A part that nothing vouches for is a cause in a phase.
        let of = if item.evidence.is_none() { format!("{}, ", item.causes) } else { String::new() };
        format!("{of}{}: {}{}{evidence}", item.name, measure.show(item.number), item.plus_minus(measure))
    }
}

impl Item {
    fn cause(phase: &str, name: &str, cycles: f64) -> Self {
        Self {
            name: clean(name),
            number: cycles,
            interval: None,
            instructions: None,
            evidence: None,
            causes: clean(phase),
        }
    }

    /// The total as the last row of a table.
    pub(super) fn total(bill: &Bill) -> Self {
        Self {
            name: "total".into(),
            number: bill.total,
            interval: bill.half.map(|half| [bill.total - half, bill.total + half]),
            instructions: None,
            evidence: None,
            causes: String::new(),
        }
    }

    /// Half of the interval, with its sign before it; nothing where there is none.
    pub(super) fn plus_minus(&self, measure: Measure) -> String {
        let half = self.interval.map(|ci| (ci[1] - ci[0]) / 2.0).filter(|half| *half > 0.0);
        half.map(|half| format!(" ± {}", measure.show(half))).unwrap_or_default()
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

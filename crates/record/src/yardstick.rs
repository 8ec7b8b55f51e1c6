//! How the batches of a probe go with the yardsticks beside them, as the record keeps it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The regression of a probe's batches on the yardsticks beside them, all in logarithms, as the sums that a fit needs: those of
/// several runs add up. Only what batches of one run differ by is in it, so that what differs between runs cannot be mistaken for
/// what the machine did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Regression {
    /// Batches that have the yardsticks beside them.
    pub batches: u64,
    /// Standard deviation of what the yardsticks leave of a batch.
    pub deviation: f64,
    /// Weighted sums of the products of two yardsticks, each from its mean; rows and columns in the order of the run.
    pub squares: Vec<Vec<f64>>,
    /// The same of each yardstick and the probe.
    pub products: Vec<f64>,
    /// The same of the probe with itself.
    pub square: f64,
}

/// A batch of an epoch as it typically was, with the weights of the regression.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TypicalFigure {
    /// Geometric mean of the batches, in nanoseconds for each crossing.
    pub ns: f64,
    /// Geometric mean of what each of the run's yardsticks took beside them, in nanoseconds; in the order of the run.
    pub yardsticks: Vec<f64>,
}

impl Regression {
    /// The same with these yardsticks only, by their places. `None` if one is not there, or a figure is of no use.
    pub fn with(&self, places: &[usize]) -> Option<Self> {
        let pick = |row: &Vec<f64>| places.iter().map(|place| row.get(*place).copied()).collect();
        let rows: Option<Vec<&Vec<f64>>> = places.iter().map(|place| self.squares.get(*place)).collect();
        let found = Self {
            squares: rows?.into_iter().map(pick).collect::<Option<_>>()?,
            products: pick(&self.products)?,
            ..self.clone()
        };
        let mut values = found.squares.iter().flatten().chain(&found.products);
        (found.deviation > 0.0 && found.square.is_finite() && values.all(|it| it.is_finite()))
            .then_some(found)
    }

    /// Whether every figure is finite.
    pub(crate) fn is_finite(&self) -> bool {
        let mut values = self.squares.iter().flatten().chain(&self.products);
        self.deviation.is_finite() && self.square.is_finite() && values.all(|it| it.is_finite())
    }
}

impl TypicalFigure {
    /// Whether every figure is finite.
    pub(crate) fn is_finite(&self) -> bool {
        self.ns.is_finite() && self.yardsticks.iter().all(|it| it.is_finite())
    }
}

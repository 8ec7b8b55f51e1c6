//! Results of one name, and the parameters that tell them apart.

use serde_json::Value;
use std::collections::BTreeMap;
use tollgate_record::Measurement;

/// How many results of one name have a parameter, its first value, and whether others differ.
struct Parameter {
    results: usize,
    first: Value,
    differs: bool,
}

/// The results of each name: their number and their parameters.
pub(crate) struct Namesakes {
    name: fn(&Measurement) -> String,
    by_name: BTreeMap<String, (usize, BTreeMap<String, Parameter>)>,
}

impl Namesakes {
    /// The results that `name` gives the same name. The time is proportional to their number.
    pub(crate) fn of<'a>(
        results: impl IntoIterator<Item = &'a Measurement>,
        name: fn(&Measurement) -> String,
    ) -> Self {
        let mut by_name: BTreeMap<_, (usize, BTreeMap<String, Parameter>)> = BTreeMap::new();
        for result in results {
            let (count, parameters) = by_name.entry(name(result)).or_default();
            *count += 1;
            for (key, value) in result.asked.fields() {
                let new = || Parameter { results: 0, first: value.clone(), differs: false };
                let parameter = parameters.entry(key).or_insert_with(new);
                parameter.results += 1;
                parameter.differs |= parameter.first != value;
            }
        }
        Self { name, by_name }
    }

    /// The parameters of a result that not all of its namesakes have with the same value.
    pub(crate) fn telling(&self, result: &Measurement) -> Vec<(String, Value)> {
        let Some((count, parameters)) = self.by_name.get(&(self.name)(result)) else { return Vec::new() };
        let tells = |key: &String| parameters.get(key).is_some_and(|it| it.differs || it.results < *count);
        result.asked.fields().into_iter().filter(|(key, _)| tells(key)).collect()
    }
}

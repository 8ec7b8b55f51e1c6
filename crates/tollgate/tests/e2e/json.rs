//! Reading records in tests.

use serde_json::Value;

/// The status of every result, in order.
pub(crate) fn statuses(run: &Value) -> Vec<String> {
    let results = run["results"].as_array().expect("results");
    results.iter().map(|result| result["status"].as_str().expect("a status").to_owned()).collect()
}

/// The result of a probe.
pub(crate) fn result<'a>(run: &'a Value, probe: &str) -> &'a Value {
    let results = run["results"].as_array().expect("results");
    results.iter().find(|result| result["probe"] == probe).unwrap_or_else(|| panic!("no {probe}"))
}

/// The text of a warning.
pub(crate) fn warning<'a>(warnings: &'a Value, code: &str) -> Option<&'a str> {
    warnings.as_array()?.iter().find(|warning| warning["code"] == code)?["text"].as_str()
}

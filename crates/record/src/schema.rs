//! The published JSON schema, generated from the types so that the two cannot drift.

use crate::Run;

/// The JSON schema of [`Run`], draft 2020-12, with a newline at its end.
///
/// ```
/// let schema: serde_json::Value = serde_json::from_str(&tollgate_record::schema::json()).unwrap();
/// assert_eq!(schema["title"], "Run");
/// ```
pub fn json() -> String {
    let schema = schemars::schema_for!(Run);
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

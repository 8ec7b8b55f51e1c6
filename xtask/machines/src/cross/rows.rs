//! The rows of a record, with the fields that are checked.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// The rows of a record.
pub(super) struct Rows(Vec<Row>);

/// One row.
pub(super) struct Row {
    pub(super) probe: String,
    /// Why it was not measured.
    pub(super) skipped: Option<String>,
    status: String,
    reason: String,
    enable: String,
    has_figure: bool,
    disagrees: Option<String>,
}

impl Rows {
    /// Reads a record.
    pub(super) fn read(json: &str) -> Result<Self> {
        let run: Value = serde_json::from_str(json).context("its output is not JSON")?;
        let results = run["results"].as_array().context("its record has no results")?;
        ensure!(!results.is_empty(), "its record has no rows");
        // Other engines run guests of their own, whose architecture is another one.
        let own = |row: &&Value| row["engine"].as_str().is_none_or(|engine| engine == "host");
        Ok(Self(results.iter().filter(own).map(Row::read).collect()))
    }

    /// Checks that each row is measured and proved, or skipped with a reason.
    pub(super) fn hold(&self) -> Result<()> {
        let wrong: Vec<String> = self.0.iter().filter_map(Row::wrong).collect();
        ensure!(wrong.is_empty(), "{}", wrong.join("; "));
        Ok(())
    }

    /// Checks that this row was measured.
    pub(super) fn measured(&self, probe: &str) -> Result<()> {
        let row = self.0.iter().find(|row| row.probe == probe);
        let row = row.with_context(|| format!("there is no row {probe}"))?;
        ensure!(row.skipped.is_none(), "{probe} was skipped: {}", row.reason);
        Ok(())
    }

    /// All rows.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Row> {
        self.0.iter()
    }
}

impl Row {
    fn read(value: &Value) -> Self {
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let status = text("status");
        let warnings = value["warnings"].as_array().map_or(&[][..], Vec::as_slice);
        let disagrees = warnings
            .iter()
            .filter(|warning| warning["code"] == "proof-disagrees")
            .filter_map(|warning| warning["text"].as_str())
            .find(|text| short(text));
        Self {
            probe: text("probe"),
            skipped: (status == "skipped").then(|| text("reason")),
            reason: text("reason"),
            enable: text("enable"),
            has_figure: value["ns"]["estimate"].is_number(),
            disagrees: disagrees.map(str::to_owned),
            status,
        }
    }

    fn wrong(&self) -> Option<String> {
        let Self { probe, reason, .. } = self;
        match self.status.as_str() {
            "measured" if !self.has_figure => Some(format!("{probe} was measured and has no figure")),
            "measured" => self.disagrees.as_ref().map(|text| format!("{probe} was not proved: {text}")),
            "skipped" if reason.is_empty() || self.enable.is_empty() => {
                Some(format!("{probe} was skipped without a reason and what would enable it"))
            }
            "skipped" => None,
            status => Some(format!("{probe} {status}: {reason}")),
        }
    }
}

/// Whether `... : X counted where Y was claimed` says that fewer than half were counted. Other programs on a busy machine
/// add switches and faults, but never remove any.
fn short(text: &str) -> bool {
    let Some((found, claimed)) = text.split_once(" counted where ") else { return true };
    let number = |word: Option<&str>| word.and_then(|word| word.parse::<f64>().ok());
    let found = number(found.rsplit(' ').next());
    let claimed = number(claimed.split(' ').next());
    found.zip(claimed).is_none_or(|(found, claimed)| found < claimed / 2.0)
}

#[cfg(test)]
mod tests {
    use super::Rows;

    fn rows(results: &str) -> Rows {
        Rows::read(&format!("{{\"results\": [{results}]}}")).unwrap()
    }

    const GOOD: &str = r#"{"probe": "a/b", "status": "measured", "ns": {"estimate": 1.5}, "warnings": []}"#;
    const SKIPPED: &str =
        r#"{"probe": "a/c", "status": "skipped", "reason": "no such call", "enable": "a kernel"}"#;

    #[test]
    fn good_rows_hold() {
        let rows = rows(&format!("{GOOD}, {SKIPPED}"));
        rows.hold().unwrap();
        rows.measured("a/b").unwrap();
        assert_eq!(rows.measured("a/c").unwrap_err().to_string(), "a/c was skipped: no such call");
        assert!(rows.measured("a/d").is_err());
    }

    #[test]
    fn counts_may_be_too_large_but_not_too_small() {
        assert!(!super::short("switches per crossing: 1.333 counted where 1 was claimed"));
        assert!(super::short("switches per crossing: 0.450 counted where 1 was claimed"));
        assert!(super::short("something else"));
    }

    #[test]
    fn each_kind_of_wrong_row_is_an_error() {
        for (row, sentence) in [
            (r#"{"probe": "p", "status": "failed", "reason": "boom"}"#, "p failed: boom"),
            (r#"{"probe": "p", "status": "measured"}"#, "p was measured and has no figure"),
            (
                r#"{"probe": "p", "status": "skipped", "reason": "why"}"#,
                "p was skipped without a reason and what would enable it",
            ),
            (
                r#"{"probe": "p", "status": "measured", "ns": {"estimate": 1},
                    "warnings": [{"code": "proof-disagrees", "text": "minor per touch: 0.000 counted where 1 was claimed"}]}"#,
                "p was not proved: minor per touch: 0.000 counted where 1 was claimed",
            ),
        ] {
            assert_eq!(rows(row).hold().unwrap_err().to_string(), sentence);
        }
        assert!(Rows::read("not json").is_err());
        assert!(Rows::read("{\"results\": []}").is_err());
    }
}

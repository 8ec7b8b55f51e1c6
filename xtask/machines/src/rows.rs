//! What must hold for each row of a record, on any machine.

use anyhow::{Context, Result, ensure};
use tollgate_record::{Measurement, Status, document};

/// The rows of a record that were measured on the machine itself. Other engines run guests of their own, whose architecture
/// is another one.
pub(crate) fn host_rows(json: &str) -> Result<Vec<Measurement>> {
    let run = document::from_json(json.as_bytes())?;
    ensure!(!run.results.is_empty(), "its record has no rows");
    Ok(run.results.into_iter().filter(|row| row.engine == "host").collect())
}

/// Checks that this row was measured.
pub(crate) fn must_be_measured(rows: &[Measurement], probe: &str) -> Result<()> {
    let row = rows.iter().find(|row| row.probe == probe);
    let row = row.with_context(|| format!("there is no row {probe}"))?;
    let reason = row.reason.as_deref().unwrap_or_default();
    ensure!(row.status == Status::Measured, "{probe} was skipped: {reason}");
    Ok(())
}

/// What is wrong with a row: it must be measured with a figure, or skipped with a reason.
pub(crate) fn problem(row: &Measurement) -> Option<String> {
    let reason = row.reason.as_deref().unwrap_or_default();
    let problem = match row.status {
        Status::Failed => format!("failed: {reason}"),
        Status::Skipped if reason.is_empty() => "skipped without a reason".into(),
        Status::Skipped if row.enable.as_deref().unwrap_or_default().is_empty() => {
            format!("skipped ({reason}) without what would enable it")
        }
        Status::Skipped if row.ns.is_some() => "skipped with a figure".into(),
        Status::Skipped => return None,
        Status::Measured => {
            let figures = [row.ns, row.cycles, row.ticks];
            let mut figures = figures.iter().flatten().peekable();
            if figures.peek().is_none() {
                "measured without a figure".into()
            } else if figures.all(|figure| figure.estimate.is_finite()) {
                return None;
            } else {
                "a figure is not a number".into()
            }
        }
    };
    Some(format!("{}: {problem}", row.probe))
}

/// The warning that the proof disagrees, if fewer than half of the claimed events were counted. Other programs on a busy
/// machine add switches and faults, but never remove any.
pub(crate) fn missing_proof(row: &Measurement) -> Option<String> {
    let mut warnings = row.warnings.iter().filter(|warning| warning.code == "proof-disagrees");
    warnings.find(|warning| is_short(&warning.text)).map(|warning| format!("{}: {}", row.probe, warning.text))
}

/// Whether `... : X counted where Y was claimed` has an X below half of Y.
fn is_short(text: &str) -> bool {
    let Some((found, claimed)) = text.split_once(" counted where ") else { return true };
    let number = |word: Option<&str>| word.and_then(|word| word.parse::<f64>().ok());
    let found = number(found.rsplit(' ').next());
    let claimed = number(claimed.split(' ').next());
    found.zip(claimed).is_none_or(|(found, claimed)| found < claimed / 2.0)
}

#[cfg(test)]
mod tests {
    use super::{host_rows, is_short, missing_proof, must_be_measured, problem};
    use tollgate_record::{Estimate, Measurement, Per, Status, Warning};

    fn row(status: Status, reason: &str, enable: &str) -> Measurement {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let empty = Measurement::empty("p", "host", Per::Switch, status);
        Measurement { reason: text(reason), enable: text(enable), ..empty }
    }

    fn measured(ns: f64) -> Measurement {
        Measurement { ns: Some(Estimate::point(ns)), ..row(Status::Measured, "", "") }
    }

    #[test]
    fn good_rows_pass() {
        assert_eq!(problem(&measured(1.5)), None);
        assert_eq!(problem(&row(Status::Skipped, "no such call", "a kernel")), None);
        assert_eq!(missing_proof(&measured(1.5)), None);
    }

    #[test]
    fn each_kind_of_wrong_row_is_found() {
        for (row, sentence) in [
            (row(Status::Failed, "boom", ""), "p: failed: boom"),
            (row(Status::Measured, "", ""), "p: measured without a figure"),
            (measured(f64::NAN), "p: a figure is not a number"),
            (row(Status::Skipped, "", ""), "p: skipped without a reason"),
            (row(Status::Skipped, "why", ""), "p: skipped (why) without what would enable it"),
            (
                Measurement { ns: Some(Estimate::point(1.0)), ..row(Status::Skipped, "why", "that") },
                "p: skipped with a figure",
            ),
        ] {
            assert_eq!(problem(&row).unwrap(), sentence);
        }
    }

    #[test]
    fn counts_may_be_too_large_but_not_too_small() {
        assert!(!is_short("switches per crossing: 1.333 counted where 1 was claimed"));
        assert!(is_short("switches per crossing: 0.450 counted where 1 was claimed"));
        assert!(is_short("something else"));
        let text = "minor per touch: 0.000 counted where 1 was claimed";
        let mut row = measured(1.0);
        row.warnings.push(Warning { code: "proof-disagrees".into(), text: text.into() });
        assert_eq!(missing_proof(&row).unwrap(), format!("p: {text}"));
    }

    #[test]
    fn a_required_row_must_be_there_and_measured() {
        must_be_measured(&[measured(1.0)], "p").unwrap();
        let error = must_be_measured(&[row(Status::Skipped, "no such call", "a kernel")], "p").unwrap_err();
        assert_eq!(error.to_string(), "p was skipped: no such call");
        assert!(must_be_measured(&[], "p").is_err());
    }

    #[test]
    fn a_text_that_is_not_a_record_is_an_error() {
        assert!(host_rows("not json").is_err());
        assert!(host_rows("{\"results\": []}").is_err());
    }
}

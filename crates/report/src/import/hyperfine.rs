//! What `hyperfine --export-json` writes: commands run as a whole, with every run's time.

use super::figures::{Imported, Importer, SECOND, Told, alone, ask, sampled};
use serde_json::Value;
use tollgate_record::{Per, Warning, warning};

pub(super) const IMPORTER: Importer =
    Importer { name: "hyperfine", what: "what `hyperfine --export-json` writes", detect, read };

const ENGINE: &str = "imported-hyperfine";

fn detect(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"results\"") && text.contains("\"command\"")
}

fn read(text: &str, _: &Told) -> Result<Imported, String> {
    let document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let results = document["results"].as_array().ok_or("it has no list \"results\"")?;
    let mut imported = Imported::default();
    for (place, result) in results.iter().enumerate() {
        let command = result["command"].as_str().ok_or_else(|| format!("result {place} has no command"))?;
        let times = result["times"].as_array().into_iter().flatten();
        let samples: Option<Vec<f64>> =
            times.map(|time| time.as_f64().map(|seconds| seconds * SECOND)).collect();
        let samples = samples.ok_or_else(|| format!("result {place} has a time that is not a number"))?;
        let row = sampled("spawn/hyperfine", ENGINE, Per::Task, &samples);
        // Without the times of the runs there is the mean alone.
        let mean =
            || result["mean"].as_f64().map(|mean| alone("spawn/hyperfine", ENGINE, Per::Task, mean * SECOND));
        let Some(mut row) = row.or_else(mean) else {
            return Err(format!("result {place} has neither times nor a mean"));
        };
        ask(&mut row, |asked| {
            asked.command = Some(command.into());
            for (key, value) in result["parameters"].as_object().into_iter().flatten() {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                asked.parameters.insert(key.clone(), value);
            }
        });
        // hyperfine's `null`: a signal ended the command.
        let ends = result["exit_codes"].as_array().map_or(&[][..], Vec::as_slice);
        let failed = ends.iter().filter(|end| end.as_i64() != Some(0)).count();
        if failed > 0 {
            let killed = ends.iter().filter(|end| end.is_null()).count();
            let text = format!(
                "{failed} of {} runs of the command failed ({killed} of them killed by a signal), and their times are in the \
                 figure",
                ends.len()
            );
            row.warnings.push(Warning::new(warning::RUNS_FAILED, text));
        }
        imported.results.push(row);
    }
    Ok(imported)
}

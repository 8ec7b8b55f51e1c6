//! What `hyperfine --export-json` writes: commands run as a whole, with every run's time.

use super::figures::{SECOND, alone, asked, sampled};
use super::importer::{ImportError, Imported, Importer, Told};
use serde_json::Value;
use tollgate_record::Per;

pub(super) const IMPORTER: Importer =
    Importer { name: "hyperfine", what: "what `hyperfine --export-json` writes", detect, read };

const ENGINE: &str = "imported-hyperfine";

fn detect(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"results\"") && text.contains("\"command\"")
}

fn read(text: &str, _: &Told) -> Result<Imported, ImportError> {
    let wrong = |what: String| ImportError::Wrong { format: IMPORTER.name, what };
    let document: Value = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let results = document["results"].as_array().ok_or_else(|| wrong("it has no list \"results\"".into()))?;
    let mut imported = Imported::default();
    for (place, result) in results.iter().enumerate() {
        let command =
            result["command"].as_str().ok_or_else(|| wrong(format!("result {place} has no command")))?;
        let times: Option<Vec<f64>> =
            result["times"].as_array().map(|times| times.iter().filter_map(Value::as_f64).collect());
        let samples =
            times.unwrap_or_default().into_iter().map(|seconds| seconds * SECOND).collect::<Vec<_>>();
        let row = sampled("spawn/hyperfine", ENGINE, Per::Task, &samples);
        // Without the times of the runs there is the mean alone.
        let mean =
            || result["mean"].as_f64().map(|mean| alone("spawn/hyperfine", ENGINE, Per::Task, mean * SECOND));
        let Some(mut row) = row.or_else(mean) else {
            return Err(wrong(format!("result {place} has neither times nor a mean")));
        };
        let asked = asked(&mut row);
        asked.command = Some(command.into());
        for (key, value) in result["parameters"].as_object().into_iter().flatten() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            asked.parameters.insert(key.clone(), value);
        }
        imported.results.push(row);
    }
    Ok(imported)
}

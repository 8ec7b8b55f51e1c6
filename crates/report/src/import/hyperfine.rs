//! What `hyperfine --export-json` writes: commands run as a whole, with every run's time.

use super::figures::{Imported, Importer, SECOND, Told, alone, ask, sampled};
use serde_json::Value;
use tollgate_record::Per;

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
        let times = result["times"].as_array().into_iter().flatten().filter_map(Value::as_f64);
        let samples: Vec<f64> = times.map(|seconds| seconds * SECOND).collect();
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
        imported.results.push(row);
    }
    Ok(imported)
}

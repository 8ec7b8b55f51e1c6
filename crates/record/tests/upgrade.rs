//! Records of `tollgate/1`, as earlier versions wrote them, read as this version's.

use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use tollgate_record::{Run, SCHEMA, document, warning};

/// Records that earlier versions measured. They stay as they are.
fn recorded() -> Vec<(PathBuf, String)> {
    let report = concat!(env!("CARGO_MANIFEST_DIR"), "/../report/tests");
    let found = ["records", "runs"].iter().flat_map(|directory| {
        fs::read_dir(format!("{report}/{directory}")).expect("the records are in the tree").map(|entry| {
            let path = entry.expect("it can be listed").path();
            (path.clone(), fs::read_to_string(path).expect("it can be read"))
        })
    });
    let old: Vec<_> = found.filter(|(_, text)| text.contains("\"tollgate/1\"")).collect();
    assert!(old.len() >= 12, "{} records", old.len());
    old
}

fn read(text: &str) -> Run {
    document::from_json(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_recorded_run_is_read_and_nothing_of_it_is_left_out() {
    for (path, text) in recorded() {
        let run = read(&text);
        assert_eq!(run.schema, SCHEMA);
        let old: Value = serde_json::from_str(&text).unwrap();
        let lost = run.results.iter().filter(|result| result.has_warning(warning::UPGRADED)).count();
        assert_eq!(lost, 0, "{}: {:?}", path.display(), run.warnings);
        // Every parameter is found again under what was asked or found, but for those that follow from others.
        for (result, old) in run.results.iter().zip(old["results"].as_array().unwrap()) {
            let facts: Value = [result.asked.fields(), result.found.fields()].into_iter().flatten().collect();
            for (key, value) in old["params"].as_object().into_iter().flatten() {
                let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let same = match key.as_str() {
                    "footprint" | "unit" => true,
                    "per_counted" => result.per_counted.as_deref() == value.as_str(),
                    key if key.starts_with("with_") => {
                        let by = key.trim_start_matches("with_").trim_end_matches("_ns");
                        result.instrumented_ns.get(by) == value.as_f64().as_ref()
                    }
                    key if key.starts_with("left_out_") => {
                        facts["left_out"][key.trim_start_matches("left_out_")].as_f64() == value.as_f64()
                    }
                    "mxcsr" => facts["float_control"] == format!("mxcsr {}", text(value)),
                    // Pages as text with one digit became a number.
                    key => {
                        text(&facts[key]) == text(value) || facts[key].as_f64() == text(value).parse().ok()
                    }
                };
                assert!(same, "{}: {} {key}: {value} became {facts}", path.display(), result.probe);
            }
            assert_eq!(result.proof.len(), old["proof"].as_object().map_or(0, |proof| proof.len()));
            assert_eq!(result.counters.len(), old["counters"].as_object().map_or(0, |all| all.len()));
        }
        let again = read(&document::to_json(&run).unwrap());
        assert_eq!(again, run, "{}", path.display());
    }
}

#[test]
fn what_has_no_place_is_named_in_a_warning() {
    let (_, text) = &recorded()[0];
    let mut old: Value = serde_json::from_str(text).unwrap();
    old["results"][0]["params"]["surprise"] = json!(7);
    let run = read(&old.to_string());
    let warning = run.results[0].warnings.iter().find(|it| it.code == warning::UPGRADED).unwrap();
    assert!(warning.text.ends_with("surprise"), "{}", warning.text);
}

#[test]
fn a_misspelt_key_is_refused_by_its_name() {
    let (_, text) = &recorded()[0];
    for (key, wrong) in [(r#""single":"#, "singel"), (r#""status":"#, "sttus"), (r#""host":"#, "hots")] {
        let spoilt = text.replacen(key, &format!(r#""{wrong}":"#), 1);
        assert_ne!(&spoilt, text, "{key}");
        let error = document::from_json(spoilt.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(wrong) || error.contains("missing field"), "{error}");
    }
}

//! `tollgate/1` documents, read as `tollgate/2`.
//!
//! `tollgate/1` had one map, `params`, for what was asked and what was found, and kept some numbers as text.

mod riscv;

use crate::vocabulary::{phase, warning};
use crate::{Asked, Found};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// The schema that is upgraded.
pub(crate) const OLD: &str = "tollgate/1";

type Object = Map<String, Value>;

/// The beginning of a probe's name, and the families of what was asked and found. The first that fits; the last fits
/// everything.
static FAMILIES: [(&str, &str, &str); 11] = [
    ("ring/knee", "knee", "knee"),
    ("ring/", "ring", "ring"),
    ("fault/scan", "scan", "scan"),
    ("switch/", "runtime", "runtime"),
    ("riscv-trap/", "trap", "trap"),
    ("riscv-workload/", "workload", "nothing"),
    ("riscv-pipeline/interrupt-latency", "latency", "nothing"),
    ("riscv-pipeline/", "pipeline", "nothing"),
    ("riscv-icache/", "icache", "nothing"),
    ("hardware/", "nothing", "guest"),
    ("", "probe", "probe"),
];

/// The schemas of [`Asked`] and [`Found`]: a parameter went where its family has a field of that name.
static SCHEMAS: LazyLock<[Value; 2]> =
    LazyLock::new(|| [schemars::schema_for!(Asked).into(), schemars::schema_for!(Found).into()]);

/// The schema of a field of a family.
fn field<'s>(schema: &'s Value, family: &str, name: &str) -> Option<&'s Value> {
    let mut families = schema["oneOf"].as_array()?.iter().map(|it| &it["properties"]);
    families.find(|fields| fields["family"]["const"] == family)?.get(name)
}

/// Parameters that follow from others, and are not kept.
static DERIVED: &[&str] = &["footprint", "unit"];

/// Turns a document of `tollgate/1` into one of this version. What is not as that schema has it is left to the
/// reader of this one, who refuses it.
pub(crate) fn upgrade(document: &mut Value) {
    let Some(run) = document.as_object_mut() else { return };
    run.insert("schema".into(), crate::SCHEMA.into());
    let warnings = run.entry("warnings").or_insert_with(|| json!([]));
    let imported =
        warnings.as_array().is_some_and(|all| all.iter().any(|one| one["code"] == warning::IMPORTED.name));
    for result in run.get_mut("results").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(result) = result.as_object_mut() {
            measurement(result, imported);
        }
    }
}

fn measurement(result: &mut Object, imported: bool) {
    for (key, empty) in
        [("proof", json!({})), ("warnings", json!([])), ("outliers", json!(crate::Outliers::default()))]
    {
        result.entry(key).or_insert(empty);
    }
    let probe = result.get("probe").and_then(Value::as_str).unwrap_or_default().to_owned();
    if probe.starts_with("riscv-trap/") {
        phase_counters(result);
    }
    // What is not a map stays, and is refused by its name.
    let Some(Value::Object(params)) = result.get_mut("params").map(Value::take) else { return };
    result.remove("params");
    let family = FAMILIES.iter().find(|(beginning, ..)| probe.starts_with(beginning));
    let imported = imported.then_some(("imported", "imported"));
    let Some((family_asked, family_found)) = imported.or(family.map(|it| (it.1, it.2))) else { return };
    let [mut asked, mut found] = [Object::new(), Object::new()];
    let mut lost = Vec::new();
    for (key, value) in params {
        if key == "per_counted" {
            result.insert(key, value);
        } else if let Some(by) = key.strip_prefix("with_").and_then(|key| key.strip_suffix("_ns")) {
            let all = result.entry("instrumented_ns").or_insert_with(|| json!({}));
            all[by] = value;
        } else if let Some(parameter) = key.strip_prefix("parameter ") {
            let all = asked.entry("parameters").or_insert_with(|| json!({}));
            all[parameter] = value.as_str().map_or_else(|| value.to_string(), str::to_owned).into();
        } else if let Some(error) = key.strip_prefix("left_out_") {
            let all = found.entry("left_out").or_insert_with(|| json!({}));
            all[error] = value;
        } else if let register @ ("mxcsr" | "fpcr" | "frm") = key.as_str() {
            asked.insert(
                "float_control".into(),
                format!("{register} {}", value.as_str().unwrap_or_default()).into(),
            );
        } else if let Some(field) = field(&SCHEMAS[1], family_found, &key) {
            found.extend(typed(field, value).map(|value| (key, value)));
        } else if let Some(field) = field(&SCHEMAS[0], family_asked, &key) {
            asked.extend(typed(field, value).map(|value| (key, value)));
        } else if !DERIVED.contains(&key.as_str()) {
            lost.push(key);
        }
    }
    for (name, tag, mut fields) in [("asked", family_asked, asked), ("found", family_found, found)] {
        if !fields.is_empty() {
            fields.insert("family".into(), tag.into());
            result.insert(name.into(), Value::Object(fields));
        }
    }
    riscv::result(result, &probe);
    if !lost.is_empty() {
        let text = format!(
            "fields of {OLD} that have no place in {} were left out: {}",
            crate::SCHEMA,
            lost.join(", ")
        );
        let warnings = result.entry("warnings").or_insert_with(|| json!([]));
        if let Some(warnings) = warnings.as_array_mut() {
            warnings.push(json!({"code": warning::UPGRADED.name, "text": text}));
        }
    }
}

/// The value as this schema has it: some numbers were text. `None` for one that is not known.
fn typed(field: &Value, value: Value) -> Option<Value> {
    let is_number = ["integer", "number"].iter().any(|kind| {
        field["type"] == **kind || field["type"].as_array().is_some_and(|kinds| kinds.contains(&json!(kind)))
    });
    match &value {
        Value::String(text) if is_number && text == "unknown" => None,
        Value::String(text) if is_number => Some(serde_json::from_str(text).unwrap_or(value)),
        _ => Some(value),
    }
}

/// `dispatch/loads` became `phase/dispatch/loads`.
fn phase_counters(result: &mut Object) {
    let Some(counters) = result.get_mut("counters").and_then(Value::as_object_mut) else { return };
    let renamed = std::mem::take(counters).into_iter().map(|(key, value)| match key.split_once('/') {
        Some((name, _)) if phase::ALL.iter().any(|known| known.name == name) => {
            (format!("phase/{key}"), value)
        }
        _ => (key, value),
    });
    *counters = renamed.collect();
}

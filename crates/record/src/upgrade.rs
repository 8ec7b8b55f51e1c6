//! `tollgate/1` documents, read as `tollgate/2`.
//!
//! `tollgate/1` had one map, `params`, for what was asked and what was found, and kept some numbers as text.

mod riscv;

use crate::vocabulary::{phase, warning};
use serde_json::{Map, Value, json};

/// The schema that is upgraded.
pub(crate) const OLD: &str = "tollgate/1";

type Object = Map<String, Value>;

/// Where the parameters of one family went.
struct Family {
    /// Whether a probe of this name belongs to it.
    is: fn(&str) -> bool,
    /// Tag of the variant of `asked`, and the parameters that went there.
    asked: (&'static str, &'static [&'static str]),
    /// The same of `found`.
    found: (&'static str, &'static [&'static str]),
}

/// The first that fits; the last fits everything.
static FAMILIES: &[Family] = &[
    Family {
        is: |probe| probe == "ring/knee",
        asked: ("knee", &["cache"]),
        found: ("knee", &["expected_bytes", "shared_by", "knee_bytes", "knee_interval"]),
    },
    Family {
        is: |probe| probe.starts_with("ring/"),
        asked: ("ring", &["procs", "size", "tasks", "walk", "pages", "cpus"]),
        found: ("ring", &["huge_kib"]),
    },
    Family {
        is: |probe| probe == "fault/scan",
        asked: ("scan", &["size", "pattern", "advice", "warm", "file", "memory_limit"]),
        found: ("scan", &["page_bytes", "file_bytes", "read_ahead_kib", "limited_by"]),
    },
    Family {
        is: |probe| probe.starts_with("switch/"),
        asked: ("runtime", &["tasks", "runtime", "language", "kind", "what"]),
        found: ("runtime", &["version", "clock", "clock_resolution_ns", "batch", "notes", "bytes_per_task"]),
    },
    Family {
        is: |probe| probe.starts_with("riscv-trap/"),
        asked: ("trap", &["kernel", "isa", "iterations", "core", "caches"]),
        found: ("trap", &["result"]),
    },
    Family {
        is: |probe| probe.starts_with("riscv-workload/"),
        asked: ("workload", &["core", "kernel", "set_bytes", "touch_bytes", "every"]),
        found: ("nothing", &[]),
    },
    Family {
        is: |probe| probe == "riscv-pipeline/interrupt-latency",
        asked: ("latency", &["core"]),
        found: ("nothing", &[]),
    },
    Family {
        is: |probe| probe.starts_with("riscv-pipeline/"),
        asked: ("pipeline", &["core", "from", "program"]),
        found: ("nothing", &[]),
    },
    Family {
        is: |probe| probe.starts_with("riscv-icache/"),
        asked: ("icache", &["program", "isa", "icache", "policy", "count"]),
        found: ("nothing", &[]),
    },
    Family {
        is: |probe| probe.starts_with("hardware/"),
        asked: ("nothing", &[]),
        found: ("guest", &["virtual_machines", "ring_ratio"]),
    },
    Family {
        is: |_| true,
        asked: (
            "probe",
            &[
                "clock",
                "number",
                "entries",
                "setup_flags",
                "region_pages",
                "file",
                "bytes",
                "bytes_between_touches",
                "state",
                "pages_flushed",
                "bytes_swept",
                "kept",
                "float_control",
                "stack_bytes",
                "leaf",
                "function",
            ],
        ),
        found: (
            "probe",
            &[
                "seccomp",
                "page_bytes",
                "huge_page_bytes",
                "pages_per_fault",
                "library",
                "hypervisor",
                "clocksource",
                "user_mode",
                "address_space",
                "resident_kib",
                "mappings",
            ],
        ),
    },
];

/// Results of another program's file.
static IMPORTED: Family = Family {
    is: |_| false,
    asked: (
        "imported",
        &[
            "host",
            "system",
            "procs",
            "size",
            "descriptors",
            "of",
            "operation",
            "core_a",
            "core_b",
            "command",
            "parameters",
        ],
    ),
    found: ("imported", &["taken_off_us"]),
};

/// Parameters that were numbers written as text.
static NUMBERS: &[&str] = &[
    "number",
    "entries",
    "region_pages",
    "bytes",
    "bytes_between_touches",
    "pages_flushed",
    "bytes_swept",
    "stack_bytes",
    "leaf",
    "page_bytes",
    "huge_page_bytes",
    "pages_per_fault",
    "resident_kib",
    "mappings",
    "huge_kib",
];

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
    let family = if imported { Some(&IMPORTED) } else { FAMILIES.iter().find(|family| (family.is)(&probe)) };
    let Some(family) = family else { return };
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
        } else if family.asked.1.contains(&key.as_str()) {
            asked.extend(number(&key, value).map(|value| (key, value)));
        } else if family.found.1.contains(&key.as_str()) {
            found.extend(number(&key, value).map(|value| (key, value)));
        } else if !DERIVED.contains(&key.as_str()) {
            lost.push(key);
        }
    }
    for (name, tag, mut fields) in [("asked", family.asked.0, asked), ("found", family.found.0, found)] {
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

/// The value as this schema has it; `None` for a number of which the text said that it is unknown.
fn number(key: &str, value: Value) -> Option<Value> {
    match &value {
        Value::String(text) if NUMBERS.contains(&key) => serde_json::from_str(text).ok(),
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

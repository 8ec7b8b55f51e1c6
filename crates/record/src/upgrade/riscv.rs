//! Results of the RISC-V commands, whose figures partly were in names and sentences.

use serde_json::{Map, Value, json};

/// The calls that `tollgate/1` named, with their number.
static CALLS: &[(&str, u16)] = &[
    ("getpid", 172),
    ("getuid", 174),
    ("write", 64),
    ("clock_gettime", 113),
    ("gettimeofday", 169),
    ("unimplemented", 255),
    ("settimeofday", 170),
];

/// Upgrades what is special to one of these families; `asked` and `found` are already in their places.
pub(super) fn result(result: &mut Map<String, Value>, probe: &str) {
    match probe.split_once('/') {
        Some(("riscv-trap", crossing)) => call(result, crossing),
        Some(("riscv-pipeline", kind)) if kind != "interrupt-latency" => diagram(result),
        Some(("riscv-icache", _)) => sweep(result),
        _ => {}
    }
}

/// A call had its name or number in the probe's.
fn call(result: &mut Map<String, Value>, crossing: &str) {
    let named = CALLS.iter().find(|(name, _)| *name == crossing).map(|(_, number)| *number);
    let number = named.or_else(|| crossing.strip_prefix("call-")?.parse().ok());
    if let (Some(number), Some(Value::Object(asked))) = (number, result.get_mut("asked")) {
        asked.insert("call".into(), number.into());
    }
}

/// A diagram had its sentence with it; what the sentence needs is in the counters.
fn diagram(result: &mut Map<String, Value>) {
    if let Some(Value::Object(stages)) = result.get_mut("stages") {
        stages.remove("text");
    }
    let counters = result.get("counters").and_then(Value::as_object);
    let waits: Vec<Value> = counters
        .into_iter()
        .flatten()
        .filter_map(|(name, cycles)| {
            let cause = name.strip_prefix("wait/")?;
            Some(json!({"cause": cause, "cycles": cycles.as_f64()? as u64}))
        })
        .collect();
    if !waits.is_empty() {
        result.insert("found".into(), json!({"family": "pipeline", "waits": waits}));
    }
}

/// A sweep was a series for each line and number of ways, with both in its name: `sweep/4-way/64-byte-lines`.
fn sweep(result: &mut Map<String, Value>) {
    let Some(Value::Array(series)) = result.get_mut("series") else { return };
    let mut curves = Vec::new();
    series.retain(|one| match one["name"].as_str().and_then(shape) {
        Some((line, ways)) => {
            let whole = |number: &Value| number.as_f64().map(|number| number as u64);
            let points = one["points"].as_array().into_iter().flatten();
            let misses: Vec<Value> =
                points.filter_map(|point| Some(json!([whole(&point[0])?, whole(&point[1])?]))).collect();
            curves.push(json!({"line": line, "ways": ways, "misses": misses}));
            false
        }
        None => true,
    });
    if !curves.is_empty() {
        result.insert("found".into(), json!({"family": "icache", "sweep": curves}));
    }
}

fn shape(name: &str) -> Option<(u32, u32)> {
    let (ways, line) = name.strip_prefix("sweep/")?.split_once('/')?;
    Some((line.strip_suffix("-byte-lines")?.parse().ok()?, ways.strip_suffix("-way")?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upgraded(probe: &str, value: Value) -> Value {
        let Value::Object(mut object) = value else { panic!("an object") };
        result(&mut object, probe);
        Value::Object(object)
    }

    #[test]
    fn shapes_are_read_from_their_names_and_nothing_else_is() {
        assert_eq!(shape("sweep/4-way/64-byte-lines"), Some((64, 4)));
        for name in ["miss-ratio", "sweep/", "sweep/x-way/4-byte-lines", "sweep/4-way/4-byte-lines<b>"] {
            assert_eq!(shape(name), None, "{name}");
        }
    }

    #[test]
    fn a_sweep_leaves_the_other_series() {
        let points = json!([[1.0, 9.0], [2.0, 5.0]]);
        let old = json!({"series": [
            {"name": "miss-ratio", "points": points}, {"name": "sweep/1-way/8-byte-lines", "points": points},
        ]});
        let new = upgraded("riscv-icache/program", old);
        assert_eq!(new["series"].as_array().unwrap().len(), 1);
        assert_eq!(
            new["found"],
            json!({"family": "icache", "sweep": [{"line": 8, "ways": 1, "misses": [[1, 9], [2, 5]]}]})
        );
    }

    #[test]
    fn calls_have_their_number_and_diagrams_their_waits() {
        let asked = |probe| upgraded(probe, json!({"asked": {}}))["asked"]["call"].clone();
        assert_eq!(asked("riscv-trap/getpid"), 172);
        assert_eq!(asked("riscv-trap/call-500"), 500);
        assert_eq!(asked("riscv-trap/yield"), Value::Null);
        let old = json!({"stages": {"rows": [], "text": "words"}, "counters": {"wait/d-miss": 20.0, "squashed": 4.0}});
        let new = upgraded("riscv-pipeline/trap", old);
        assert_eq!(new["stages"], json!({"rows": []}));
        assert_eq!(new["found"]["waits"], json!([{"cause": "d-miss", "cycles": 20}]));
    }
}

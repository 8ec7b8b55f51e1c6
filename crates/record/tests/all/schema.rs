//! The published schema is the one that the types give, and it refuses what is not a run.

use crate::common;
use serde_json::{Value, json};

#[test]
fn the_published_schema_is_that_of_the_types() {
    let schema = tollgate_record::schema::json();
    tollgate_testkit::Recorded::file("schema", "docs/schema/tollgate-2.json").assert(&schema);
}

#[test]
fn a_run_validates() {
    let errors: Vec<String> = validator().iter_errors(&sample()).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn what_is_not_a_run_does_not_validate() {
    let validator = validator();
    let cases: [(&str, Option<Value>); 8] = [
        ("/schema", Some(json!("tollgate/1"))),
        ("/schema", None),
        ("/seed", Some(json!(-1))),
        ("/seed", None),
        ("/complete", Some(json!("yes"))),
        ("/results/0/status", Some(json!("perhaps"))),
        ("/results/0/ns/estimate", Some(Value::Null)),
        ("/results/0/ns/ci", Some(json!([1.0]))),
    ];
    for (pointer, value) in cases {
        let mut run = sample();
        match &value {
            Some(value) => *run.pointer_mut(pointer).unwrap() = value.clone(),
            None => drop(run.as_object_mut().unwrap().remove(pointer.trim_start_matches('/')).unwrap()),
        }
        assert!(!validator.is_valid(&run), "{pointer} = {value:?} validates");
    }
}

fn sample() -> Value {
    serde_json::from_str(&tollgate_record::document::to_json(&common::sample()).unwrap()).unwrap()
}

fn validator() -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(&tollgate_record::schema::json()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

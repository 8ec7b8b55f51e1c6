//! Why a request has no answer.

use std::fmt::Display;

use serde_json::{Value, json};
use tollgate_riscv::asm::AsmError;

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: &'static str,
    message: String,
    errors: Vec<AsmError>,
}

/// An answer, or why there is none.
pub(crate) type Answer = Result<Value, Failure>;

impl Failure {
    /// The request is wrong.
    pub(crate) fn request(message: impl Display) -> Self {
        Self { kind: "request", message: message.to_string(), errors: Vec::new() }
    }

    /// Nothing is loaded, or the machine cannot do this.
    pub(crate) fn machine(message: impl Display) -> Self {
        Self { kind: "machine", message: message.to_string(), errors: Vec::new() }
    }

    /// The program has errors.
    pub(crate) fn source(message: impl Display, errors: Vec<AsmError>) -> Self {
        Self { kind: "source", message: message.to_string(), errors }
    }

    pub(crate) fn to_json(&self) -> Value {
        let Self { kind, message, errors } = self;
        let mut value = json!({ "kind": kind, "message": message });
        if *kind == "source" {
            value["errors"] = errors.iter().map(error).collect();
        }
        value
    }
}

/// An error as an editor shows it.
fn error(error: &AsmError) -> Value {
    let AsmError { file, line, column, source, message, expansion } = error;
    let nearest = message.split_once("did you mean `").and_then(|(_, rest)| rest.split('`').next());
    let word = source.chars().skip(*column as usize - 1);
    let length = word.take_while(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '$')).count().max(1);
    let expansion =
        expansion.iter().map(|(name, file, line)| json!({ "macro": name, "file": file, "line": line }));
    json!({
        "file": file, "line": line, "column": column, "message": message, "nearest": nearest, "length": length,
        "expansion": expansion.collect::<Value>(),
    })
}

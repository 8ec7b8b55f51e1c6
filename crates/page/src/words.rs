//! The names that sources are made of, for highlighting and completion.

use serde_json::{Value, json};
use tollgate_riscv::asm::{DIRECTIVES, pseudo_instructions};
use tollgate_riscv::{F_NAMES, INSTRUCTIONS, Isa, X_NAMES, csr};

use crate::csrs;

/// What each register is for in the calling convention.
fn purpose(name: &str) -> &'static str {
    match name {
        "zero" => "always zero",
        "ra" => "return address; a call overwrites it",
        "sp" => "stack pointer",
        "gp" => "global pointer",
        "tp" => "thread pointer",
        _ if name.starts_with("fa") || name.starts_with('a') => "argument; a call may overwrite it",
        _ if name.starts_with("fs") || name.starts_with('s') => "saved: a function preserves it",
        _ => "temporary; a call may overwrite it",
    }
}

/// All names of an instruction set.
pub(crate) fn words(isa: Isa) -> Value {
    let mut instructions: Vec<_> = INSTRUCTIONS.iter().filter(|row| row.in_isa(&isa)).collect();
    instructions.sort_by_key(|row| row.mnemonic);
    instructions.dedup_by_key(|row| row.mnemonic);
    let instructions = instructions.iter().map(|row| {
        let extension = format!("{:?}", row.extension);
        json!({
            "name": row.mnemonic, "format": format!("{:?}", row.format), "about": format!("{:?}", row.class),
            "extension": extension,
        })
    });
    let register = |number: String, name: &'static str| json!({ "name": name, "number": number, "about": purpose(name) });
    let x = X_NAMES.iter().enumerate().map(|(r, name)| register(format!("x{r}"), name));
    let f = F_NAMES.iter().enumerate().map(|(r, name)| register(format!("f{r}"), name));
    let csrs = (0..4096).filter_map(|number| {
        Some(json!({ "name": csr::name(number)?, "number": format!("{number:#05x}"), "about": csrs::about(number) }))
    });
    let pseudo = pseudo_instructions().map(|(name, text)| json!({ "name": name, "about": text }));
    let directives = DIRECTIVES.iter().map(|(name, about)| json!({ "name": name, "about": about }));
    json!({
        "instructions": instructions.collect::<Value>(), "pseudo": pseudo.collect::<Value>(),
        "registers": x.chain(f).collect::<Value>(), "csrs": csrs.collect::<Value>(),
        "directives": directives.collect::<Value>(),
    })
}

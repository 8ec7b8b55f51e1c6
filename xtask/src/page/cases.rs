//! Requests whose answers must be the same natively and in a browser: all kernels and labs on all cores, and random programs.

use serde_json::{Value, json};
use std::fmt::Write as _;
use tollgate_page::Session;

/// What begins a session of its own.
const FRESH: &str = r#"{"fresh":true}"#;
/// Instructions of a random program.
const LENGTH: u64 = 60;

/// Each request on a line, and its native answer on the next.
pub(crate) fn text(programs: u64) -> String {
    let mut text = String::new();
    for requests in sessions(programs) {
        let mut session = Session::default();
        let _ = writeln!(text, "{FRESH}\n");
        for request in requests {
            let request = request.to_string();
            let answer = session.call(&request);
            let _ = writeln!(text, "{request}\n{answer}");
        }
    }
    text
}

/// The requests, session by session.
fn sessions(programs: u64) -> Vec<Vec<Value>> {
    let about: Value =
        serde_json::from_str(&Session::default().call(r#"{"op":"about"}"#)).unwrap_or_default();
    let names = |key: &str| -> Vec<String> {
        let all = about["answer"][key].as_array().into_iter().flatten();
        all.filter_map(|name| Some(name.as_str()?.to_owned())).collect()
    };
    let (cores, kernels) = (names("cores"), names("kernels"));
    let mut all = Vec::new();
    for kernel in &kernels {
        for core in &cores {
            let subjects = json!([{ "kernel": kernel, "core": { "name": core } }]);
            all.push(vec![
                json!({ "op": "load", "program": { "kind": "kernel", "kernel": kernel }, "core": { "name": core } }),
                json!({ "op": "step", "count": 300 }),
                json!({ "op": "pipeline", "count": 20 }),
                json!({ "op": "run" }),
                json!({ "op": "traps" }),
                json!({ "op": "trapWalk", "index": 2 }),
                json!({ "op": "caches" }),
                json!({ "op": "back", "count": 1000 }),
                json!({ "op": "sheet", "sheet": { "view": "ledger" } }),
                json!({ "op": "sheet", "sheet": { "view": "trap", "subjects": subjects, "iterations": 20 } }),
                json!({ "op": "record", "id": "01KB0000000000000000000000", "started": "2026-01-01T00:00:00Z" }),
            ]);
        }
    }
    let mut labs = vec![
        json!({ "op": "sheet", "sheet": { "view": "kernels" } }),
        json!({ "op": "cores" }),
        json!({ "op": "words" }),
        json!({ "op": "exercises" }),
    ];
    for (level, count) in [("1", "cycle"), ("1", "fetch"), ("2", "cycle"), ("2", "fetch")] {
        let caches = ["4:1:8", "8:1:8", "64:4:64"];
        labs.push(json!({
            "op": "sheet",
            "sheet": { "view": "icache", "caches": caches, "count": count, "optimization": level },
        }));
    }
    all.push(labs);
    let mut random = Random(1);
    for program in 0..programs {
        let core = &cores[program as usize % cores.len()];
        let files = json!([{ "name": "random.s", "text": source(&mut random) }]);
        all.push(vec![
            json!({ "op": "load", "program": { "kind": "source", "files": files }, "core": { "name": core } }),
            json!({ "op": "run", "limit": 100_000 }),
            json!({ "op": "back", "count": 10 }),
        ]);
    }
    all
}

/// Numbers that are the same everywhere (Knuth's MMIX generator).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A program that ends: arithmetic, accesses to memory and branches in a loop.
fn source(random: &mut Random) -> String {
    const REGISTERS: &[&str] =
        &["t0", "t1", "t2", "a0", "a1", "a2", "a3", "a4", "a5", "s2", "s3", "s4", "s5"];
    const THREE: &[&str] = &[
        "add", "sub", "xor", "or", "and", "sll", "srl", "sra", "slt", "sltu", "addw", "subw", "mul", "mulh",
        "mulhu", "mulhsu", "mulw", "div", "divu", "rem", "remu", "divw", "remw",
    ];
    const LOADS: &[(&str, u64)] =
        &[("lb", 1), ("lbu", 1), ("lh", 2), ("lhu", 2), ("lw", 4), ("lwu", 4), ("ld", 8)];
    const STORES: &[(&str, u64)] = &[("sb", 1), ("sh", 2), ("sw", 4), ("sd", 8)];
    const FLOATS: &[&str] = &["fadd.d", "fsub.d", "fmul.d", "fdiv.d", "fmin.d", "fmax.d"];
    const BRANCHES: &[&str] = &["beq", "bne", "blt", "bge", "bltu", "bgeu"];
    let mut text =
        String::from("main: la s0, data\n  li s1, 20\n  li t3, 0x6000\n  csrs mstatus, t3\nround:\n");
    for at in 0..LENGTH {
        let _ = write!(text, "l{at}: ");
        let [d, a, b] = [(); 3].map(|()| random.of(REGISTERS));
        let _ = match random.below(10) {
            0 => writeln!(text, "li {d}, {}", random.below(1 << 31) as i64 - (1 << 30)),
            1 => writeln!(text, "addi {d}, {a}, {}", random.below(4096) as i64 - 2048),
            2 => {
                let (op, size) = LOADS[random.below(LOADS.len() as u64) as usize];
                writeln!(text, "{op} {d}, {}(s0)", random.below(2040 / size) * size)
            }
            3 => {
                let (op, size) = STORES[random.below(STORES.len() as u64) as usize];
                writeln!(text, "{op} {a}, {}(s0)", random.below(2040 / size) * size)
            }
            4 => {
                let to = at + 1 + random.below(LENGTH - at);
                writeln!(text, "{} {a}, {b}, l{to}", random.of(BRANCHES))
            }
            5 => {
                let [d, a, b] = [(); 3].map(|()| random.below(8));
                writeln!(text, "{} fa{d}, fa{a}, fa{b}", random.of(FLOATS))
            }
            6 => writeln!(text, "fcvt.d.l fa{}, {a}", random.below(8)),
            7 => writeln!(
                text,
                "csrr {d}, {}",
                random.of(&["mscratch", "mstatus", "instret", "cycle", "fcsr"])
            ),
            _ => writeln!(text, "{} {d}, {a}, {b}", random.of(THREE)),
        };
    }
    let _ =
        write!(text, "l{LENGTH}: addi s1, s1, -1\n  beqz s1, done\n  j round\ndone: li a7, 93\n  ecall\n");
    text + "  .bss\n  .balign 64\ndata: .zero 2048\n"
}

#[cfg(test)]
mod tests {
    use super::{Random, source};
    use serde_json::{Value, json};
    use tollgate_page::Session;

    #[test]
    fn random_programs_assemble_and_end() {
        let mut random = Random(7);
        for _ in 0..20 {
            let files = json!([{ "name": "random.s", "text": source(&mut random) }]);
            let mut session = Session::default();
            let load = json!({ "op": "load", "program": { "kind": "source", "files": files }, "core": { "name": "rocket" } });
            session.call(&load.to_string());
            let ran: Value = serde_json::from_str(&session.call(r#"{"op":"run","limit":100000}"#)).unwrap();
            assert_eq!(ran["answer"]["stop"]["kind"], "exit", "{ran}");
        }
    }
}

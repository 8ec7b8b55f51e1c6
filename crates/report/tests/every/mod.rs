//! Runs that the tool made, of every kind; see `runs/README.md`.

pub(crate) static RUNS: &[&str] = &[
    include_str!("../runs/ladder.json"),
    include_str!("../runs/crossing.json"),
    include_str!("../runs/ring.json"),
    include_str!("../runs/exec.json"),
    include_str!("../runs/fault-kinds.json"),
    include_str!("../runs/fault-scan.json"),
    include_str!("../runs/switch-growth.json"),
    include_str!("../runs/riscv-trap.json"),
    include_str!("../runs/riscv-pipeline.json"),
    include_str!("../runs/riscv-interrupt.json"),
    include_str!("../runs/riscv-icache.json"),
];

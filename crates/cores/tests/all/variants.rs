//! Cores with random parameters take the cycles that were recorded: by the model that timed all cores before each had a file of
//! its own, and that agreed with the files on every line. `cargo xtask bless variants` writes the lines anew.

use std::fmt::Write;

use crate::common::{Rng, random};
use random::{BASE, Mode};
use tollgate_cores::{ByPrivilege, CacheCounter, Core, Timed};
use tollgate_riscv::{Code, Config, Isa, Machine, MachineKind, Stop};
use tollgate_testkit::Recorded;

const BUDGET: u64 = 400_000;

fn machine(isa: Isa, image: &[u8]) -> Machine {
    let config =
        Config { isa, machine: MachineKind::Virt, ram_bytes: 1 << 20, misaligned: true, ..Config::default() };
    let mut m = Machine::new(config).unwrap();
    m.write_memory(BASE, image).unwrap();
    m
}

/// One of these lines.
fn pick<'a>(rng: &mut Rng, lines: &[&'a str]) -> &'a str {
    lines[rng.below(lines.len() as u64) as usize]
}

/// Caches, translation buffers, memory, predictors and operations, as far as a core has them as parameters.
fn parameters(rng: &mut Rng, base: &str) -> String {
    let overlaps = matches!(base, "vexriscv" | "ripes-5stage");
    let is_cva6 = base == "cva6";
    let replacement = pick(rng, &["lru", "plru", "fifo", "random"]);
    let cache = |rng: &mut Rng| {
        let geometry = pick(rng, &["2:1:16", "4:2:16", "8:2:64", "2:4:32"]);
        let write = pick(
            rng,
            &["", ", write-through = true, no-write-allocate = true", ", no-write-allocate = true"],
        );
        format!("{{ geometry = '{geometry}', replacement = '{replacement}'{write} }}")
    };
    let mut toml = String::new();
    for key in ["l1i", "l1d"] {
        if rng.below(4) > 0 {
            toml += &format!("{key} = {}\n", cache(rng));
        }
    }
    if toml.contains("l1") && rng.below(2) > 0 {
        toml += "l2 = { geometry = '8:2:64', hit = 7 }\n";
    }
    for key in ["itlb", "dtlb"] {
        if rng.below(3) > 0 {
            toml += &format!("{key} = {{ entries = {} }}\n", 1 + rng.below(4));
        }
    }
    toml += &format!(
        "[memory]\nlatency = {}\nmiss = {}\nfetch-miss = {}\ndevice = {}\nwalk = {}\nstore-slots = {}\nstores-wait = {}\nwalk-cache = {}\n",
        rng.below(40),
        rng.below(12),
        rng.below(12),
        rng.below(6),
        rng.below(9),
        rng.below(4),
        rng.below(2) > 0,
        8 * rng.below(2),
    );
    toml += "[operation]\n";
    let all =
        ["arithmetic", "load", "store", "multiply", "float", "float-multiply", "atomic", "jump", "branch"];
    let computed = ["multiply", "float", "float-multiply", "double"];
    for key in if is_cva6 { &computed[..] } else { &all } {
        if rng.below(3) == 0 {
            let shape = if !overlaps {
                ""
            } else {
                pick(
                    rng,
                    &[
                        "",
                        ", pipelined = true",
                        ", late = true",
                        ", pipelined = true, late = true",
                        ", use = 2",
                    ],
                )
            };
            toml += &format!("{key} = {{ cycles = {}{shape} }}\n", 1 + rng.below(6));
        }
    }
    let divide = ["", "divide = { cycles = 11, by-zero = 4 }\n", "divide = { cycles = 3, digits = true }\n"];
    if is_cva6 {
        toml += pick(rng, &divide);
        toml += "[branch]\n";
        toml += pick(
            rng,
            &["counters = 4\nbtb = 2\nreturn-stack = 1\n", "counters = 64\nbtb = 16\nreturn-stack = 3\n"],
        );
        return toml.replace("stores-wait = true\n", "").replace("stores-wait = false\n", "");
    }
    toml += pick(
        rng,
        &[
            "",
            "divide = { cycles = 11, by-zero = 4 }\nshift = { cycles = 1, step = 8 }\n",
            "divide = { cycles = 3, digits = true }\nshift = { cycles = 2 }\n",
            if overlaps {
                "divide = { cycles = 34, digits = true, late = true }\nshift = { cycles = 2, pipelined = true }\n"
            } else {
                ""
            },
        ],
    );
    toml += "[branch]\n";
    toml += pick(
        rng,
        &[
            "predictor = 'not-taken'\n",
            "predictor = 'backward-taken'\n",
            "predictor = 'bimodal'\ncounters = 4\nbtb = 2\nreturn-stack = 1\n",
            "predictor = 'bimodal'\ncounters = 64\nbtb = 16\nreturn-stack = 3\n",
        ],
    );
    toml
}

/// Rocket's operations and predictors.
fn history(rng: &mut Rng) -> String {
    format!(
        "[operation]\niterative = {}\nfloat.cycles = {}\n[branch]\ncounters = {}\nbtb = {}\nreturn-stack = {}\n",
        pick(rng, &["1", "4", "8", "32"]),
        1 + rng.below(5),
        pick(rng, &["8", "64", "512"]),
        1 + rng.below(28),
        rng.below(7),
    )
}

/// What only textbook cores have as parameters.
fn textbook(rng: &mut Rng) -> String {
    let kind = pick(rng, &["single-cycle", "multi-cycle", "two-stage", "five-stage", "five-stage"]);
    let flag = |rng: &mut Rng| rng.below(2) > 0;
    let pipeline = format!(
        "[pipeline]\nkind = '{kind}'\nforwarding = {}\nload-use = {}\nzero-waits = {}\nmemory-wait = {}\nstore-data-late = {}\nfetch-width = {}\ndata-width = {}\n",
        flag(rng),
        rng.below(3),
        flag(rng),
        rng.below(3),
        flag(rng),
        4 * rng.below(3),
        pick(rng, &["0", "4", "8"]),
    );
    let system = format!(
        "[system]\ncsr-use = {}\ncsr-drain = {}\ncsr-flush = {}\nsatp-empties = {}\ncsr-clear-in-place = {}\nfence-i = {}\nsfence-vma = {}\nwfi = {}\ncsr-flush-of = {{ status = 2, float = 0 }}\n",
        rng.below(3),
        flag(rng),
        rng.below(4),
        flag(rng),
        flag(rng),
        rng.below(6),
        rng.below(6),
        rng.below(6),
    );
    let trap = format!(
        "[trap]\nexception = {}\ninterrupt = {}\nreturn = {}\necall-reads = {}\n",
        rng.below(6),
        rng.below(6),
        rng.below(6),
        flag(rng),
    );
    pipeline + &system + &trap
}

/// Penalties of jumps, which only textbook cores have as parameters; in the table of branches.
fn penalties(rng: &mut Rng) -> String {
    let mut more = |key| format!("{key} = {}\n", rng.below(4));
    ["mispredict", "taken", "jump", "indirect", "settle"].map(&mut more).concat()
}

/// What only a core with a scoreboard has as parameters.
fn scoreboard(rng: &mut Rng) -> String {
    let mut least = |key, least, values| format!("{key} = {}\n", least + rng.below(values));
    let front = least("queue", 2, 9);
    let board = [("entries", 1, 10), ("commits", 1, 3), ("load", 0, 4), ("atomic", 0, 5), ("walk", 0, 4)];
    let board = board.map(|(key, from, values)| least(key, from, values)).concat();
    let stores = [("queue", 1, 6), ("words", 1, 9), ("writes", 1, 6), ("answer", 0, 5)];
    let stores = stores.map(|(key, from, values)| least(key, from, values)).concat();
    format!("[front]\n{front}[scoreboard]\n{board}[stores]\n{stores}")
}

/// A digest of numbers, in their order.
fn digest(numbers: impl IntoIterator<Item = u64>) -> u32 {
    let mix = |sum: u64, number: u64| (sum.rotate_left(29) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let sum = numbers.into_iter().fold(0, mix);
    (sum >> 32 ^ sum) as u32
}

/// Instructions, cycles, mispredictions; digests of the ledger and of the counts of memory.
fn figures(core: &Core, isa: Isa, image: &[u8]) -> String {
    let code = Code::new(isa, vec![(BASE, image.to_vec())]);
    let mut timed = Timed::new(core, ByPrivilege, ()).unwrap().with_code(&code);
    assert_eq!(machine(isa, image).run(BUDGET, &mut timed), Stop::Exit { code: 0 });
    assert_eq!(timed.ledger().total(), timed.cycles());
    let (counts, ledger) = (timed.counts(), timed.ledger().rows().iter().flatten().copied());
    let of = counts.memory;
    if !["vexriscv", "cva6", "rocket"].contains(&core.base.as_deref().unwrap()) {
        // What a fetch on a wrong path brings in depends on time.
        let mut counter = CacheCounter::new(core).unwrap();
        assert_eq!(machine(isa, image).run(BUDGET, &mut counter), Stop::Exit { code: 0 });
        assert_eq!((counter.counts(), counter.instructions()), (of, counts.instructions));
    }
    let l1 = [of.l1i_misses, of.l1d_accesses, of.l1d_misses, of.write_backs];
    let others = [of.l2_accesses, of.l2_misses, of.itlb_misses, of.dtlb_misses, of.unknown_walks];
    let memory = l1.into_iter().chain(others);
    let (cycles, mispredicts) = (timed.cycles(), counts.mispredicts);
    format!("{} {cycles} {mispredicts} {:08x} {:08x}", counts.instructions, digest(ledger), digest(memory))
}

#[test]
fn cores_with_random_parameters_take_the_recorded_cycles() {
    let isas: [(Isa, Mode); 4] = [
        ("rv64gc".parse().unwrap(), Mode::Machine),
        ("rv64gc".parse().unwrap(), Mode::Sv39),
        ("rv32gc".parse().unwrap(), Mode::Sv32),
        ("rv64gc".parse().unwrap(), Mode::Sv48),
    ];
    let mut lines = String::new();
    for base in ["vexriscv", "cva6", "rocket", "ibex", "picorv32", "ripes-5stage"] {
        for seed in 0..24 {
            let mut rng = Rng(1000 + seed);
            let mut toml = parameters(&mut rng, base);
            if base != "vexriscv" {
                // It alone has a store buffer of slots.
                let key = if base == "rocket" { "fetch-miss-step" } else { "walk-level" };
                toml = toml.replace("store-slots", key);
            }
            match base {
                "ripes-5stage" => toml = toml + &penalties(&mut rng) + &textbook(&mut rng),
                "cva6" => toml += &scoreboard(&mut rng),
                "rocket" => {
                    toml.truncate(toml.find("[operation]").unwrap());
                    toml += &history(&mut rng);
                }
                _ => {}
            }
            let toml = format!("base = '{base}'\n{toml}");
            let core = Core::from_toml(&toml).unwrap_or_else(|error| panic!("{error}\n{toml}"));
            let (isa, mode) = isas[seed as usize % 4];
            let image = random::program(&mut rng, isa, mode, 250);
            let figures = figures(&core, isa, &image);
            writeln!(lines, "{base} {seed} {:08x} {figures}", digest(toml.bytes().map(u64::from))).unwrap();
        }
    }
    Recorded::file("variants", "crates/cores/tests/variants.txt").assert(&lines);
}

#[test]
fn interrupts_are_taken_before_the_recorded_instructions() {
    let isa: Isa = "rv64gc".parse().unwrap();
    let mut lines = String::new();
    for base in ["vexriscv", "cva6", "rocket", "ibex", "picorv32", "ripes-5stage"] {
        let core = Core::preset(base).unwrap();
        for seed in 0..4 {
            let image = random::program(&mut Rng(seed), isa, Mode::Machine, 200);
            let code = Code::new(isa, vec![(BASE, image.clone())]);
            let mut timed = Timed::new(&core, ByPrivilege, ()).unwrap().with_code(&code);
            let mut machine = machine(isa, &image);
            let (mut taken, mut steps) = (0, Vec::new());
            for _ in 0..3_000 {
                machine.step(&mut timed);
                for line in [0, 1, 2, 3, 5, 9] {
                    let line = (timed.cycles() + line).saturating_sub(4);
                    let takes = timed.interrupts(&machine, line);
                    taken += u64::from(takes);
                    steps.push(u64::from(takes));
                }
                steps.push(timed.cycles());
            }
            writeln!(lines, "{base} {seed} {taken} {:08x}", digest(steps)).unwrap();
        }
    }
    Recorded::file("variants", "crates/cores/tests/interrupts.txt").assert(&lines);
}

//! The rebuilt cores against the plain scoreboard, with random parameters: the same cycles, the same ledger, the same counts.

use crate::common::{Rng, random};
use random::{BASE, Mode};
use tollgate_cores::{ByPrivilege, CacheCounter, Core, Ledger, Timed, TimedCore, TimingCounts};
use tollgate_riscv::{Code, Config, Isa, Machine, MachineKind, Stop};

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

/// Caches, translation buffers, memory, predictors and operations, which every core has as parameters.
/// `overlaps` says whether an operation may go on while the next instruction begins.
fn parameters(rng: &mut Rng, overlaps: bool) -> String {
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
    for key in
        ["arithmetic", "load", "store", "multiply", "float", "float-multiply", "atomic", "jump", "branch"]
    {
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

fn plain(core: &Core, isa: Isa, image: &[u8]) -> (u64, Ledger, TimingCounts) {
    let code = Code::new(isa, vec![(BASE, image.to_vec())]);
    let mut timed = Timed::new(core, ByPrivilege, ()).unwrap().with_code(&code);
    assert_eq!(machine(isa, image).run_reference(BUDGET, &mut timed), Stop::Exit { code: 0 });
    (timed.cycles(), timed.ledger().clone(), timed.counts())
}

fn rebuilt(core: &Core, isa: Isa, image: &[u8]) -> (u64, Ledger, TimingCounts) {
    let code = Code::new(isa, vec![(BASE, image.to_vec())]);
    let mut timed = TimedCore::new(core, ByPrivilege, ()).unwrap().with_code(&code);
    assert_eq!(machine(isa, image).run(BUDGET, &mut timed), Stop::Exit { code: 0 });
    (timed.cycles(), timed.ledger().clone(), timed.counts())
}

#[test]
fn cores_with_random_parameters_take_the_same_cycles() {
    let isas: [(Isa, Mode); 4] = [
        ("rv64gc".parse().unwrap(), Mode::Machine),
        ("rv64gc".parse().unwrap(), Mode::Sv39),
        ("rv32gc".parse().unwrap(), Mode::Sv32),
        ("rv64gc".parse().unwrap(), Mode::Sv48),
    ];
    for base in ["vexriscv", "cva6", "rocket", "ibex", "picorv32", "ripes-5stage"] {
        for seed in 0..24 {
            let mut rng = Rng(1000 + seed);
            let serial = matches!(base, "ibex" | "picorv32");
            let mut toml = parameters(&mut rng, !serial);
            if base == "ripes-5stage" {
                // Textbook cores have no store buffer.
                toml = toml.replace("store-slots", "walk-level");
                toml = toml + &penalties(&mut rng) + &textbook(&mut rng);
            }
            if base == "cva6" {
                toml += &scoreboard(&mut rng);
            }
            if base == "rocket" {
                toml = toml.replace("store-slots", "fetch-miss-step");
                toml.truncate(toml.find("[operation]").unwrap());
                toml += &history(&mut rng);
            }
            let toml = format!("base = '{base}'\n{toml}");
            let core = Core::from_toml(&toml).unwrap_or_else(|error| panic!("{error}\n{toml}"));
            let (isa, mode) = isas[seed as usize % 4];
            let image = random::program(&mut rng, isa, mode, 250);
            let (expected, new) = (plain(&core, isa, &image), rebuilt(&core, isa, &image));
            let what = format!("seed {seed}, {isa}, {mode:?}\n{toml}");
            assert_eq!(expected.0, new.0, "cycles, {what}");
            assert_eq!(expected.1, new.1, "ledger, {what}");
            assert_eq!(expected.2, new.2, "{what}");
            if !["vexriscv", "cva6", "rocket"].contains(&base) {
                // What a fetch on a wrong path brings in depends on time.
                let mut counter = CacheCounter::new(&core).unwrap();
                assert_eq!(machine(isa, &image).run(BUDGET, &mut counter), Stop::Exit { code: 0 });
                assert_eq!(counter.counts(), expected.2.memory, "{what}");
                assert_eq!(counter.instructions(), expected.2.instructions, "{what}");
            }
        }
    }
}

#[test]
fn interrupts_are_taken_before_the_same_instructions() {
    let isa: Isa = "rv64gc".parse().unwrap();
    for base in ["vexriscv", "cva6", "rocket", "ibex", "picorv32", "ripes-5stage"] {
        let core = Core::preset(base).unwrap();
        for seed in 0..4 {
            let image = random::program(&mut Rng(seed), isa, Mode::Machine, 200);
            let code = Code::new(isa, vec![(BASE, image.clone())]);
            let mut old = Timed::new(&core, ByPrivilege, ()).unwrap().with_code(&code);
            let mut new = TimedCore::new(&core, ByPrivilege, ()).unwrap().with_code(&code);
            let (mut first, mut second) = (machine(isa, &image), machine(isa, &image));
            for step in 0..3_000 {
                first.step(&mut old);
                second.step(&mut new);
                for line in [0, 1, 2, 3, 5, 9] {
                    let line = (old.cycles() + line).saturating_sub(4);
                    let taken = old.interrupts(&first, line);
                    assert_eq!(taken, new.interrupts(&second, line), "{base}, seed {seed}, step {step}");
                }
                assert_eq!(old.cycles(), new.cycles(), "{base}, seed {seed}, step {step}");
            }
        }
    }
}

#[test]
fn keys_that_a_design_has_as_code_are_not_ignored() {
    let rv64: Isa = "rv64gc".parse().unwrap();
    let image = random::program(&mut Rng(40), rv64, Mode::Machine, 200);
    let cases = [
        ("ibex", "branch.mispredict = 7"),
        ("ibex", "operation.multiply = { cycles = 9, pipelined = true }"),
        ("picorv32", "branch.settle = 9"),
        ("picorv32", "operation.multiply = { cycles = 9, use = 3 }"),
        ("vexriscv", "pipeline.load-use = 4"),
        ("vexriscv", "trap.return = 19"),
        ("rocket", "trap.return = 19"),
        ("rocket", "operation.divide.cycles = 9"),
        ("rocket", "branch = { predictor = 'bimodal', counters = 16 }"),
        ("cva6", "system.csr-flush = 6"),
        ("cva6", "pipeline.write-order = true\noperation.multiply = { cycles = 9, pipelined = true }"),
        (
            "ripes-5stage",
            "pipeline.write-order = true\noperation.multiply = { cycles = 9, pipelined = true }",
        ),
        ("ripes-5stage", "operation.iterative = 8"),
    ];
    for (base, keys) in cases {
        let preset = Core::preset(base).unwrap();
        let core = Core::from_toml(&format!("name = 'changed'\nbase = '{base}'\n{keys}")).unwrap();
        let expected = plain(&core, rv64, &image);
        assert_ne!(expected.0, plain(&preset, rv64, &image).0, "{base}, {keys}: the key changes nothing");
        assert_eq!(rebuilt(&core, rv64, &image), expected, "{base}, {keys}");
    }
}

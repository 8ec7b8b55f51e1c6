//! Which replacement Rocket's data cache has, decided by what its RTL did.

use tollgate_cores::Core;
use tollgate_riscv::cache::Policy;

use super::program::Part;
use super::score::Score;
use super::subject::Subject;

/// Sixteen lines go to four places of a set, again and again. Which of them miss tells the register: with any other number
/// of moves before the first fill, or if fills of empty places did not move it, other accesses miss than in the RTL.
#[test]
fn the_rtl_decides_how_often_the_register_has_moved() {
    let rocket = Subject::find("rocket").unwrap();
    let programs = rocket.programs(Part::Kernels).unwrap();
    let goldens = rocket.goldens(Part::Kernels).unwrap();
    for name in ["cache.load_one_set", "cache.store_one_set"] {
        let program = programs.iter().find(|it| it.name == name).unwrap();
        let golden = goldens.iter().find(|it| it.program == name).unwrap();
        let compared = |replacement, seed| {
            let mut core = Core::preset(rocket.preset).unwrap();
            core.memory.latency = program.latency as u32;
            let l1d = core.l1d.as_mut().unwrap();
            (l1d.replacement, l1d.seed) = (replacement, seed);
            Score::new(rocket, &core, program, golden).unwrap().steady
        };
        let moved = |moves| compared(Policy::Lfsr16 { moves }, moves);
        assert!(moved(0).exact(), "{name}");
        for moves in 1..12 {
            assert!(moved(moves).absolute > 3 * moved(0).absolute, "{name} {moves}");
        }
        // These fill empty places first.
        for policy in [Policy::Lru, Policy::Fifo, Policy::Lfsr] {
            assert!(!compared(policy, 0).exact(), "{name} {policy}");
        }
    }
}

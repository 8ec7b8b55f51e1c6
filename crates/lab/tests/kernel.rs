//! Bills of a real kernel: Debian's.

use std::path::Path;
use std::{env, fs};

use tollgate_lab::kernel::{self, BillError, CALLS, KernelJob};
use tollgate_record::{counter, phase};
use tollgate_riscv::timing::Core;

fn job(kernel: Vec<u8>, core: Option<&str>) -> KernelJob {
    KernelJob {
        kernel,
        map: None,
        calls: CALLS.map(|(_, number)| number).to_vec(),
        core: core.map(|name| Core::preset(name).unwrap()),
        isa: "rv64gc_zba_zbb_zbs_zicbom_zicboz_sstc_svinval_svpbmt".parse().unwrap(),
    }
}

/// Bills the calls of the kernel at `TOLLGATE_LINUX` (Debian's linux-image for riscv64) on a core.
#[test]
fn the_bill_of_linux_names_its_instructions_and_adds_up() {
    let Some(path) = env::var_os("TOLLGATE_LINUX") else {
        return tollgate_testkit::skip!("TOLLGATE_LINUX does not name a riscv64 kernel");
    };
    let results = kernel::measure(&job(fs::read(Path::new(&path)).unwrap(), Some("rocket"))).unwrap();
    // Each call with warm caches and after eviction.
    assert_eq!(results.len(), 2 * CALLS.len());
    for result in &results {
        let name = &result.probe;
        let instructions = result.counter(counter::INSTRUCTIONS).unwrap();
        let sum: f64 = result.phases.iter().filter_map(|phase| phase.instructions).sum();
        assert_eq!(sum, instructions, "{name}");
        let cycles: f64 = result.phases.iter().filter_map(|phase| Some(phase.cycles?.estimate)).sum();
        assert_eq!(Some(cycles), result.cycles.map(|cycles| cycles.estimate), "{name}");
        let unnamed = result.phase(phase::OTHER).and_then(|phase| phase.instructions).unwrap_or(0.0);
        assert!(unnamed <= 0.02 * instructions, "{name}: {unnamed} of {instructions}");
        // Registers are saved by at least a store each and restored by at least a load each.
        for phase in [phase::REGISTER_SAVE, phase::REGISTER_RESTORE] {
            let instructions = result.phase(phase).and_then(|phase| phase.instructions).unwrap_or(0.0);
            assert!((28.0..150.0).contains(&instructions), "{name} {}: {instructions}", phase.name);
        }
        let of = |function: &str| result.counters.get(&format!("function/{function}/instructions"));
        assert!(of("do_trap_ecall_u").is_some(), "{name}: {:?}", result.counters);
    }
    let [getpid, evicted] = &results[..2] else { unreachable!() };
    assert!(getpid.counters.keys().any(|name| name.contains("getpid")), "{:?}", getpid.counters);
    assert!(evicted.cycles.unwrap().estimate > 2.0 * getpid.cycles.unwrap().estimate);
    assert!(results[6].counter(counter::INSTRUCTIONS) > getpid.counter(counter::INSTRUCTIONS));
}

#[test]
fn what_is_no_linux_is_refused_with_a_reason() {
    assert!(matches!(kernel::measure(&job(vec![0; 4096], None)), Err(BillError::NoSymbols)));
    let map = |text: &str| KernelJob { map: Some(text.into()), ..job(vec![0; 4096], None) };
    assert!(matches!(kernel::measure(&map("nothing")), Err(BillError::NotAMap)));
    let error = kernel::measure(&map("80000000 T start")).unwrap_err().to_string();
    assert_eq!(error, "the symbols are not the kernel's: there is no handle_exception");
    let error = kernel::measure(&map("80000000 T handle_exception")).unwrap_err().to_string();
    assert!(error.contains("neither an ELF file nor a RISC-V Linux image"), "{error}");
}

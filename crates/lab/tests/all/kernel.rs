//! Bills of a real kernel: Debian's.

use std::path::Path;
use std::{env, fs};

use tollgate_cores::Core;
use tollgate_lab::kernel::{
    BillError, CROSSINGS, HEADER, Kernel, KernelJob, Kind, Probe, Ready, Rules, System, crossing,
};
use tollgate_lab::program::{self, Job, run};
use tollgate_lab::source::{self, Recipe};
use tollgate_record::{Measurement, counter, phase};
use tollgate_riscv::Isa;

fn isa() -> Isa {
    "rv64gc_zba_zbb_zbs_zicbom_zicboz_sstc_svinval_svpbmt".parse().unwrap()
}

fn job(names: &[&str], core: Option<&str>) -> KernelJob {
    let crossings = names.iter().map(|name| crossing(name).unwrap()).collect();
    KernelJob { crossings, core: core.map(|name| Core::preset(name).unwrap()) }
}

/// The parts add up, and nearly all of them have a name.
fn check(result: &Measurement) {
    let name = &result.probe;
    let instructions = result.counter(counter::INSTRUCTIONS).unwrap();
    let sum: f64 = result.phases.iter().filter_map(|phase| phase.instructions).sum();
    assert_eq!(sum, instructions, "{name}");
    let cycles = result.phases.iter().filter_map(|phase| Some(phase.cycles?.estimate)).reduce(|a, b| a + b);
    assert_eq!(cycles, result.cycles.map(|cycles| cycles.estimate), "{name}");
    let unnamed = result.phase(phase::OTHER).and_then(|phase| phase.instructions).unwrap_or(0.0);
    assert!(unnamed <= 0.02 * instructions, "{name}: {unnamed} of {instructions}");
    // Registers are saved by at least a store each and restored by at least a load each, for each trap.
    let traps = result.proof["traps-per-crossing"];
    for phase in [phase::REGISTER_SAVE, phase::REGISTER_RESTORE] {
        let instructions = of(result, phase);
        assert!(
            (28.0 * traps..150.0 * traps).contains(&instructions),
            "{name} {}: {instructions}",
            phase.name
        );
    }
}

/// All that a kernel's first process crosses.
fn measured(image: &[u8], core: Option<&str>) -> Vec<Measurement> {
    let ready = Ready::boot(kernel(image.to_vec()), isa(), &|| false).unwrap();
    let crossings = ready.crossings().iter().collect();
    let core = core.map(|name| Core::preset(name).unwrap());
    ready.measure(&KernelJob { crossings, core }, &|| false).unwrap()
}

fn of(result: &Measurement, phase: tollgate_record::PhaseName) -> f64 {
    result.phase(phase).and_then(|phase| phase.instructions).unwrap_or(0.0)
}

/// Bills the crossings of the kernel at `TOLLGATE_LINUX` (Debian's linux-image for riscv64). Each experiment begins at a snapshot
/// behind the boot, which takes most of the time.
#[test]
fn the_bill_of_linux_names_its_instructions_and_adds_up() {
    let Some(path) = env::var_os("TOLLGATE_LINUX") else {
        return tollgate_testkit::skip!("TOLLGATE_LINUX does not name a riscv64 kernel");
    };
    let mut ready = Ready::boot(kernel(fs::read(Path::new(&path)).unwrap()), isa(), &|| false).unwrap();
    let snapshot = ready.save().unwrap();
    let calls = job(&["getpid", "read"], Some("rocket"));
    let results = ready.measure(&calls, &|| false).unwrap();
    // Each with warm caches and after eviction.
    assert_eq!(results.len(), 4);
    results.iter().for_each(check);
    let function = |function: &str| format!("function/{function}/instructions");
    for result in &results {
        assert!(result.counters.contains_key(&function("do_trap_ecall_u")), "{:?}", result.counters);
    }
    assert!(results[0].counters.keys().any(|name| name.contains("getpid")), "{:?}", results[0].counters);
    let cycles = |n: usize| results[n].cycles.unwrap().estimate;
    assert!(cycles(1) > 2.0 * cycles(0));
    assert!(results[2].counter(counter::INSTRUCTIONS) > results[0].counter(counter::INSTRUCTIONS));

    let restored = || Ready::restore(&snapshot, None, None).unwrap();
    let text = |results: &[Measurement]| format!("{results:?}");
    assert_eq!(text(&restored().measure(&calls, &|| false).unwrap()), text(&results));

    let others: Vec<&'static Kind> = CROSSINGS
        .iter()
        .filter(|kind| kind.call.is_none() && kind.name != "tick" && kind.harts == 1)
        .collect();
    let results = restored().measure(&KernelJob { crossings: others, core: None }, &|| false).unwrap();
    results.iter().for_each(check);
    let found = |name: &str| results.iter().find(|result| result.probe.ends_with(name)).unwrap();
    // What each consists of: traps, and phases that the others do not have.
    for (name, traps) in [("fault-anonymous", 1.0), ("signal", 2.0)] {
        assert_eq!(found(name).proof["traps-per-crossing"], traps, "{name}");
    }
    // The writer may be preempted in its write, or goes on to its own read; the reader may have to enter its read first.
    for name in ["switch-process", "switch-thread"] {
        let traps = found(name).proof["traps-per-crossing"];
        assert!((1.0..=3.0).contains(&traps), "{name}: {traps}");
    }
    let [process, thread] = ["switch-process", "switch-thread"].map(found);
    for phase in [phase::WAKE_UP, phase::SCHEDULE, phase::TASK_SWITCH] {
        assert!(of(process, phase) > 0.0 && of(thread, phase) > 0.0, "{}", phase.name);
    }
    assert!(of(process, phase::ADDRESS_SPACE) > 2.0 * of(thread, phase::ADDRESS_SPACE));
    // A page has 64 lines of 64 bytes: a copy loads and stores at least 512 times.
    let more = found("fault-copy").counter(counter::INSTRUCTIONS).unwrap()
        - found("fault-anonymous").counter(counter::INSTRUCTIONS).unwrap();
    assert!(more > 1024.0, "{more}");
    assert!(
        of(found("signal"), phase::SIGNAL_FRAME) > 0.0 && of(found("fault-file"), phase::PAGE_TABLE) > 0.0
    );
}

/// A first process of the user's crosses as ours does, and its marks are its own, also that of our `tick`.
#[test]
fn a_user_s_own_crossing_costs_what_ours_does() {
    let Some(path) = env::var_os("TOLLGATE_LINUX") else {
        return tollgate_testkit::skip!("TOLLGATE_LINUX does not name a riscv64 kernel");
    };
    let image = fs::read(Path::new(&path)).unwrap();
    let own = |status: u32| {
        let source = format!(
            "#include <crossing.h>\n.globl _start\n_start: li s0, 50\n\
             1: li a7, 172\n CROSSING_BEGINS(13)\n ecall\n CROSSING_ENDS()\n\
             addi s0, s0, -1\n bnez s0, 1b\n li a0, {status}\n li a7, 93\n ecall\n"
        );
        let recipe = Recipe { headers: &[HEADER], ..Recipe::new("rv64gc", Isa::default()).for_linux() };
        let program = source::assemble(&[("own.S", &source)], &recipe).unwrap().elf;
        let probe = Some(Probe { name: "own".into(), program });
        Ready::boot(Kernel { probe, ..kernel(image.clone()) }, isa(), &|| false).unwrap()
    };
    let results = own(0).measure(&job(&[], Some("rocket")), &|| false).unwrap();
    results.iter().for_each(check);
    let ours = Ready::boot(kernel(image.clone()), isa(), &|| false).unwrap();
    let ours = ours.measure(&job(&["getpid"], None), &|| false).unwrap();
    let summary = |result: &Measurement| (result.probe.clone(), result.counter(counter::INSTRUCTIONS));
    assert_eq!(
        results.iter().map(summary).collect::<Vec<_>>(),
        [("riscv-trap/own".into(), summary(&ours[0]).1)]
    );
    let moves = Ready::boot(
        Kernel {
            harts: 2,
            probe: Some(Probe { name: "own".into(), program: Vec::new() }),
            ..kernel(image.clone())
        },
        isa(),
        &|| false,
    );
    assert!(matches!(moves.err(), Some(BillError::Harts)));
    let failed = own(3).measure(&job(&[], None), &|| false);
    assert!(
        matches!(&failed, Err(BillError::ProbeEnded(how, _)) if how == "with the status 3"),
        "{failed:?}"
    );
}

/// An interrupt from the other one of two harts, where it arrives.
#[test]
fn the_bill_of_an_interrupt_from_another_hart_adds_up() {
    let Some(path) = env::var_os("TOLLGATE_LINUX") else {
        return tollgate_testkit::skip!("TOLLGATE_LINUX does not name a riscv64 kernel");
    };
    let image = fs::read(Path::new(&path)).unwrap();
    let mut ready = Ready::boot(Kernel { harts: 2, ..kernel(image) }, isa(), &|| false).unwrap();
    let snapshot = ready.save().unwrap();
    let job = job(&["ipi", "getpid"], Some("rocket"));
    let results = ready.measure(&job, &|| false).unwrap();
    let [ipi, getpid, _] = &results[..] else { panic!("{results:?}") };
    [ipi, getpid].into_iter().for_each(check);
    // Each membarrier sends one, and the first half warms the caches.
    assert_eq!((ipi.proof["traps-per-crossing"], ipi.crossings), (1.0, 100));
    let function = |part: &str| ipi.counters.keys().any(|name| name.contains(part));
    // It ends in what membarrier asks of the other hart (kernel/sched/membarrier.c), and no call is made.
    assert!(function("/ipi_mb/"), "{:?}", ipi.counters);
    assert!(!function("do_trap_ecall_u"));
    let restored = Ready::restore(&snapshot, None, None).unwrap().measure(&job, &|| false).unwrap();
    assert_eq!(format!("{restored:?}"), format!("{results:?}"));
}

/// Bills the crossings of the xv6 in the folder `TOLLGATE_XV6`.
#[test]
fn the_bill_of_xv6_names_its_instructions_and_adds_up() {
    let Some(path) = env::var_os("TOLLGATE_XV6") else {
        return tollgate_testkit::skip!("TOLLGATE_XV6 does not name the folder of a built xv6-riscv");
    };
    let file = |name: &str| fs::read(Path::new(&path).join(name)).unwrap();
    let ready = || {
        let kernel = Kernel { drive: Some(file("fs.img")), ..kernel(file("kernel/kernel")) };
        Ready::boot(kernel, isa(), &|| false).unwrap()
    };
    let kinds = |names: &[&str]| {
        let named = |name: &&str| System::Xv6.crossings().iter().find(|kind| kind.name == *name).unwrap();
        names.iter().map(named).collect::<Vec<_>>()
    };
    let calls = || {
        let job = KernelJob {
            crossings: kinds(&["getpid", "openat"]),
            core: Some(Core::preset("rocket").unwrap()),
        };
        ready().measure(&job, &|| false).unwrap()
    };
    let results = calls();
    assert_eq!(results.len(), 4);
    results.iter().for_each(check);
    assert_eq!(format!("{results:?}"), format!("{:?}", calls()));
    // By kernel/trampoline.S: behind the three instructions for the address of the frame a load of each of 31 registers. The
    // page table is changed on the way in and out, with a fence on both sides.
    let getpid = &results[0];
    assert_eq!(getpid.proof["traps-per-crossing"], 1.0);
    assert_eq!(of(getpid, phase::RETURN), 1.0);
    assert_eq!(of(getpid, phase::REGISTER_RESTORE), 34.0);
    assert_eq!(of(getpid, phase::ADDRESS_SPACE), 6.0);
    for name in ["usertrap", "sys_getpid", "uservec", "userret"] {
        let function = format!("function/{name}/instructions");
        assert!(getpid.counters.contains_key(&function), "{name}: {:?}", getpid.counters);
    }

    let job = KernelJob { crossings: kinds(&["switch-process", "fork"]), core: None };
    let results = ready().measure(&job, &|| false).unwrap();
    results.iter().for_each(check);
    let [switch, fork] = &results[..] else { panic!("{results:?}") };
    // To the scheduler and to the other process: 14 stores, 14 loads and a return each (kernel/swtch.S).
    assert_eq!(of(switch, phase::TASK_SWITCH), 2.0 * 29.0);
    assert!(of(switch, phase::WAKE_UP) > 0.0 && of(switch, phase::SCHEDULE) > 0.0);
    // The copy of 64 pages, byte by byte.
    assert!(fork.counter(counter::INSTRUCTIONS).unwrap() > 64.0 * 4096.0);
}

/// Bills the crossings of the riscv-pk at `TOLLGATE_PK`.
#[test]
fn the_bill_of_riscv_pk_names_its_instructions_and_adds_up() {
    let Some(path) = env::var_os("TOLLGATE_PK") else {
        return tollgate_testkit::skip!("TOLLGATE_PK does not name a riscv-pk for rv64");
    };
    let image = fs::read(Path::new(&path)).unwrap();
    let results = measured(&image, None);
    assert_eq!(results.len(), System::Pk.crossings().len());
    results.iter().for_each(check);
    for result in &results {
        assert_eq!(result.proof["traps-per-crossing"], 1.0, "{}", result.probe);
        assert_eq!(of(result, phase::RETURN), 1.0, "{}", result.probe);
        // By pk/entry.S: 35 stores, and 5 reads and an exchange of control registers before them.
        assert!(of(result, phase::REGISTER_SAVE) >= 40.0, "{}", result.probe);
        assert_eq!(of(result, phase::REGISTER_RESTORE), 35.0, "{}", result.probe);
    }
    // The program's own count of the cycle counter: these instructions, and a reading of the counter.
    let program = include_bytes!("../../../../guests/riscv/images/ctx_switch-linux.elf");
    let job = Job {
        ram_bytes: 128 << 20,
        program: program.to_vec().into(),
        proxy_kernel: Some(image.clone()),
        arguments: vec!["program".into()],
        max_instructions: 100_000_000,
        ..Job::default()
    };
    let [mut console, mut trace] = [Vec::new(), Vec::new()];
    run(&job, program::Watch::Nothing, &mut std::io::empty(), &mut console, &mut trace, &|| false).unwrap();
    let instructions = results[0].counter(counter::INSTRUCTIONS).unwrap();
    assert_eq!(String::from_utf8(console).unwrap(), format!("getpid 0: {} cycles\n", instructions + 1.0));
    // The host is asked for a byte and for a page, which getpid and a page of zeros need not.
    let count = |name: &str| {
        let found = results.iter().find(|result| result.probe.ends_with(name)).unwrap();
        found.counter(counter::INSTRUCTIONS).unwrap()
    };
    assert!(count("read") > 2.0 * instructions && count("fault-file") > count("fault-anonymous"));

    // Each with warm caches and after eviction, and the same again.
    let timed = measured(&image, Some("rocket"));
    assert_eq!(timed.len(), 2 * results.len());
    timed.iter().for_each(check);
    assert_eq!(timed[0].counter(counter::INSTRUCTIONS), Some(instructions));
    assert!(timed[1].cycles.unwrap().estimate > timed[0].cycles.unwrap().estimate);
    assert_eq!(format!("{:?}", measured(&image, Some("rocket"))), format!("{timed:?}"));

    let refused = |kernel: Kernel| Ready::boot(kernel, isa(), &|| false).err().unwrap();
    assert!(matches!(refused(Kernel { harts: 2, ..kernel(image.clone()) }), BillError::Harts));
    assert!(matches!(refused(Kernel { drive: Some(Vec::new()), ..kernel(image.clone()) }), BillError::Drive));
    assert!(matches!(
        Ready::boot(kernel(image.clone()), isa(), &|| false).unwrap().save(),
        Err(BillError::NotSaved)
    ));
}

/// Bills the crossings of the seL4 at `TOLLGATE_SEL4`: its fast path, the slow one, notifications and faults.
#[test]
fn the_bill_of_sel4_names_its_instructions_and_adds_up() {
    let Some(path) = env::var_os("TOLLGATE_SEL4") else {
        return tollgate_testkit::skip!("TOLLGATE_SEL4 does not name the kernel.elf of an seL4 for RV64");
    };
    let image = fs::read(Path::new(&path)).unwrap();
    let results = measured(&image, None);
    assert_eq!(results.len(), System::Sel4.crossings().len());
    results.iter().for_each(check);
    for result in &results {
        assert_eq!(result.proof["traps-per-crossing"], 1.0, "{}", result.probe);
        assert_eq!(of(result, phase::RETURN), 1.0, "{}", result.probe);
        // By src/arch/riscv/traps.S: a frame of 34 words, and an exchange and four or five reads of control registers.
        assert!((39.0..42.0).contains(&of(result, phase::REGISTER_SAVE)), "{}", result.probe);
        assert_eq!(of(result, phase::OTHER), 0.0, "{}", result.probe);
    }
    let found = |name: &str| results.iter().find(|result| result.probe.ends_with(name)).unwrap();
    let count = |name: &str| found(name).counter(counter::INSTRUCTIONS).unwrap();
    let enters = |name: &str, function: &str| {
        found(name).counters.contains_key(&format!("function/{function}/instructions"))
    };
    // All of a message's way is the fast path: neither the scheduler nor the slow path. So it costs the same in one address space.
    for (way, function) in [("call", "c_handle_fastpath_call"), ("reply", "c_handle_fastpath_reply_recv")] {
        let [process, thread] = ["process", "thread"].map(|to| format!("{way}-{to}"));
        assert!(enters(&process, function) && !enters(&process, "slowpath"), "{way}");
        assert_eq!(count(&process), count(&thread), "{way}");
        // By fastpath_restore: 29 registers, the pc and the status; three control registers are written.
        assert_eq!(of(found(&process), phase::REGISTER_RESTORE), 34.0, "{way}");
        // A write of satp and a fence.
        assert_eq!(of(found(&process), phase::ADDRESS_SPACE), 2.0, "{way}");
    }
    assert!(count("call-slow") > 2.0 * count("call-process"));
    for name in ["yield", "notify", "fault", "fault-page"] {
        assert!(of(found(name), phase::WAKE_UP) > 0.0 && of(found(name), phase::SCHEDULE) > 0.0, "{name}");
    }
    assert!(enters("fault", "handleUserLevelFault") && enters("fault-page", "handleVMFaultEvent"));
    assert!(enters("tick", "timerTick"));

    let timed = measured(&image, Some("rocket"));
    // The tick has no bill after eviction.
    assert_eq!(timed.len(), 2 * results.len() - 1);
    timed.iter().for_each(check);
    let [warm, evicted] = [2, 3].map(|n| timed[n].cycles.unwrap().estimate);
    assert!(evicted > 2.0 * warm);
    assert_eq!(timed[2].counter(counter::INSTRUCTIONS), Some(count("call-process")));
    assert_eq!(format!("{:?}", measured(&image, Some("rocket"))), format!("{timed:?}"));

    let refused = |kernel: Kernel| Ready::boot(kernel, isa(), &|| false).err().unwrap();
    assert!(matches!(refused(Kernel { harts: 2, ..kernel(image.clone()) }), BillError::Harts));
    assert!(matches!(refused(Kernel { drive: Some(Vec::new()), ..kernel(image.clone()) }), BillError::Drive));
}

fn kernel(image: Vec<u8>) -> Kernel {
    Kernel { image, ..Kernel::default() }
}

#[test]
fn what_is_no_linux_is_refused_with_a_reason() {
    let boot = |map: Option<&str>| {
        let kernel = Kernel { map: map.map(String::from), ..kernel(vec![0; 4096]) };
        Ready::boot(kernel, isa(), &|| false).err().unwrap()
    };
    assert!(matches!(boot(None), BillError::NoSymbols));
    assert!(matches!(boot(Some("80000000 T main")), BillError::NoRules));
    assert!(matches!(boot(Some("nothing")), BillError::NotAMap));
    let error = boot(Some("80000000 T handle_exception")).to_string();
    assert!(error.contains("neither an ELF file nor a RISC-V Linux image"), "{error}");
    assert!(Ready::restore(b"nothing", None, None).is_err());

    let map =
        Some("80000000 T trap_entry\n80000004 T restore_user_context\n80000008 T c_handle_syscall".into());
    let error = Ready::boot(Kernel { map, ..kernel(vec![0; 4096]) }, isa(), &|| false).err().unwrap();
    assert!(error.to_string().contains("not an ELF file"), "{error}");

    let xv6 = |drive: Option<Vec<u8>>| {
        let map = Some("80007000 T trampoline\n80007000 T uservec".into());
        Ready::boot(Kernel { map, drive, ..kernel(vec![0; 4096]) }, isa(), &|| false).err().unwrap()
    };
    assert!(matches!(xv6(None), BillError::NoDrive));
    assert!(matches!(xv6(Some(vec![0; 4096])), BillError::NotXv6(_)));
    let rules = Rules::of("xv6");
    let other = Kernel { map: Some("80000000 T handle_exception".into()), rules, ..kernel(vec![0; 4096]) };
    assert!(matches!(Ready::boot(other, isa(), &|| false).err().unwrap(), BillError::NoEntry(_)));
}

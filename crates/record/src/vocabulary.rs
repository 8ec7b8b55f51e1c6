//! The names that a record may contain, each defined once with its meaning: warnings, counters, phases, proofs.
//!
//! Code that writes or reads one of these names uses the constant, so a name that is not in this file does not
//! compile. The reference pages are generated from the `ALL` lists.

/// Declares a kind of name, its constants and the list of all.
macro_rules! names {
    (
        $(#[$doc:meta])* $room:ident::$kind:ident:
        $($constant:ident = $name:literal, $meaning:literal;)+
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $kind {
            /// The name in the record. One that ends in `*` is the beginning of several names.
            pub name: &'static str,
            /// What it means, in one sentence.
            pub meaning: &'static str,
        }

        impl $kind {
            /// The definition of a name that a record contains, `None` when this version does not define it.
            pub fn find(name: &str) -> Option<Self> {
                let is = |known: &str| match known.strip_suffix('*') {
                    Some(beginning) => name.starts_with(beginning),
                    None => name == known,
                };
                $room::ALL.iter().copied().find(|known| is(known.name))
            }

            /// One of the names that a definition ending in `*` stands for.
            pub fn part(self, rest: &str) -> String {
                format!("{}{rest}", self.name.trim_end_matches('*'))
            }
        }

        impl PartialEq<$kind> for String {
            fn eq(&self, other: &$kind) -> bool {
                self == other.name
            }
        }

        impl From<$kind> for String {
            fn from(name: $kind) -> Self {
                name.name.into()
            }
        }

        $(#[$doc])*
        pub mod $room {
            use $crate::vocabulary::$kind;

            /// Every name, in the order of the reference page.
            pub static ALL: &[$kind] = &[$($constant),+];

            $(
                #[doc = $meaning]
                pub const $constant: $kind = $kind { name: $name, meaning: $meaning };
            )+
        }
    };
}

names! {
    /// Codes of warnings, which scripts may test for.
    warning::WarningKind:
    BILL_INCOMPLETE = "bill-incomplete", "A ring beside the measured one failed, so a part of the bill is missing.";
    CONTRADICTED = "contradicted", "A part of the bill contradicts the kernel's own accounts of the program, or a measurement beside it; the sentence names the part.";
    CORE_CLOCK_DOUBTFUL = "core-clock-doubtful", "The two chains of dependent arithmetic disagree about the core's frequency, so cycles may be wrong.";
    CORE_FREQUENCY = "core-frequency", "The core's frequency changed between the beginning and the end of the run.";
    CORES_BY_PLACE = "cores-by-place", "Cores are numbered by their place in another program's table, which may not be the number of the CPU.";
    COUNTERS_ABSENT = "counters-absent", "Some requested events cannot be counted here.";
    CROSSINGS_DIFFER = "crossings-differ", "The simulated crossings do not all take the same instructions; the phases are means.";
    CUT_SHORT = "cut-short", "A probe took more than its share of the time of a busy machine, so it was sampled less than planned.";
    DRIFT = "drift", "The figure moved in one direction during the run.";
    COUNTED_LESS = "counted-less", "The best source of counts cannot be used here, so another one counted.";
    EMULATED = "emulated", "An emulator replaces the hardware, so the figure says nothing about this machine's hardware.";
    ESTIMATORS_DISAGREE = "estimators-disagree", "Batches of two sizes give different figures, so the cost is not proportional to the number of crossings.";
    FEW_EPOCHS = "few-epochs", "Too few epochs for the interval to show how processes differ.";
    GUEST_NOT_RUN = "guest-not-run", "The bare guest did not run, so the hardware's share is missing.";
    HALVED = "halved", "The other tool reports a round trip; the figure is half of it.";
    IMPORTED = "imported", "The run was made from another program's file: facts of the host that the file does not contain are unknown.";
    INTERCEPTED = "intercepted", "The hypervisor intercepts the instruction, so the figure contains an exit.";
    INTERRUPTED = "interrupted", "The measurement was stopped before its end.";
    INTERRUPTS = "interrupts", "A measured CPU handled many device interrupts.";
    KERNEL_CLOCK = "kernel-clock", "The kernel's clock could not be mapped to the counter closely enough.";
    MIGRATED = "migrated", "Batches ended on another CPU than they started on, although pinned.";
    NESTED = "nested", "The host is itself a guest, so one exit may be several.";
    NOT_FINITE = "not-finite", "Figures that are NaN or infinite were left out.";
    NOT_IMPORTED = "not-imported", "Parts of another program's file have no place in a record and were left out.";
    NOT_SAVED = "not-saved", "The run could not be saved.";
    NOT_SPLIT = "not-split", "The crossing could not be taken apart here; the total is still good.";
    NOT_STEADY = "not-steady", "The figure was still falling when sampling began.";
    NOT_COUNTED = "not-counted", "Boundaries of the program were not counted.";
    NOT_REPEATABLE = "not-repeatable", "The runs of a program ended differently, or their page faults differ by more than 2 %.";
    NO_ASIDS = "no-asids", "The simulated core has no address space identifiers, so the kernel flushes the TLB at each switch.";
    NO_INTERVAL = "no-interval", "The figure came without an interval and without samples; its estimate repeats it in every field.";
    OTHER_TASK = "other-task", "Another task ran on a measured CPU.";
    PER_COUNTED = "per-counted", "More or fewer crossings were counted than claimed; the figure is for each that was counted.";
    PREEMPTED = "preempted", "Another task took the CPU during many visits.";
    PROOF_DISAGREES = "proof-disagrees", "The count disagrees with the probe's claim.";
    REFILL_INDISTINCT = "refill-indistinct", "The refill cannot be distinguished from zero.";
    RUNS_FAILED = "runs-failed", "Runs of the command failed or were killed, and their times are in the figure.";
    SOME_FAILED = "some-failed", "Some virtual machines did not give this row.";
    STEAL = "steal", "The hypervisor ran something else on a measured CPU.";
    STOPPED = "stopped", "The program was stopped at its limit of instructions.";
    TSC_RATE = "tsc-rate", "The time-stamp counter's measured rate differs from the stated one.";
    TWO_LEVELS = "two-levels", "The samples gather around two levels.";
    UNATTRIBUTED = "unattributed", "The parts of the bill leave a large remainder.";
    UNNAMED = "unnamed", "More than 2 % of a kernel's instructions have no symbol.";
    UNPRICED = "unpriced", "There is no price of this machine for some crossings.";
    UNPROVEN = "unproven", "The events that prove the crossing cannot be counted here.";
    UNSTEADY = "unsteady", "The time of a crossing differed between the measurements before and after the program, or within one, so its parts are less certain.";
    WARM = "warm", "Part of the file was in the page cache before the scan began.";
    WORKER_LOST = "worker-lost", "The process that measures was lost, and the run ended early.";
}

names! {
    /// Counters: events for each crossing unless the meaning says otherwise.
    counter::Counter:
    ACCESSES = "accesses", "Accesses to the cache, over the whole program.";
    AFTER = "after/*", "The program's extra cost after the return from each trap: cycles by cause, and lines and entries fetched again.";
    APART = "apart/*", "What is not in the bill of a program inside of a kernel: interrupts that came meanwhile, and other tasks: `apart/interrupts/count`.";
    ALONE_CYCLES = "alone-cycles", "Cycles of the program between two traps, without traps.";
    BREAK_EVEN = "break-even/*", "Share of crossings behind which a feature is used, from which on saving its state always costs less than this design: `break-even/instructions`, `break-even/bytes`.";
    BYTES_READ = "bytes-read", "Bytes read from the device, over the whole scan.";
    BYTES_SAVED = "bytes-saved", "Bytes of registers saved.";
    CACHE_EVENTS = "cache-*", "Accesses to the last cache that the processor counts, and its misses; `:u` in user mode, `:k` in the kernel.";
    CONTEXT_SWITCHES = "context-switches", "Context switches, counted by the kernel.";
    CPU_SECONDS = "cpu-s", "Seconds of CPU time of the whole program, without the cost of counting.";
    CPU_SHARE = "cpu-share", "CPU time divided by elapsed time.";
    CPU_TIME = "cpu-time", "Nanoseconds of CPU time of both sides together.";
    CYCLES = "cycles", "Cycles.";
    CYCLES_BY_MODE = "cycles:*", "Core cycles in one mode, counted by the processor.";
    DIRECT_READ = "direct-read-p50-ns", "Median time of a direct read of one page from the device, in nanoseconds.";
    DTLB_EVENTS = "dTLB-*", "Loads that looked into the data TLB, and its misses.";
    DYNAMIC = "dynamic/*", "Executed instructions by kind, over the whole program.";
    ELAPSED = "elapsed-s", "Seconds from the start of the process to its end.";
    FETCHED_BYTES = "fetched-bytes", "Bytes of instructions fetched, over the whole program.";
    FETCH_WAIT_CYCLES = "fetch-wait-cycles", "Cycles that the timed program waited for instructions.";
    FILE_SYSTEM_INPUTS = "file-system-inputs", "Blocks of 512 bytes read for the process (getrusage).";
    FIRST_FETCH_MIN = "first-fetch-min", "Fewest cycles from the interrupt to the handler's first fetch.";
    FUNCTION = "function/*", "Instructions and cycles of a kernel's function in one crossing: `function/NAME/cycles`.";
    HART = "hart/*", "Each hart's share of the bill of a program on several harts: `hart/0/instructions`, `hart/0/cycles`.";
    HIT_RATE = "hit-rate", "Hits divided by accesses.";
    INSTRUCTIONS = "instructions", "Instructions.";
    INSTRUCTIONS_BY_MODE = "instructions:*", "Instructions in one mode, counted by the processor.";
    INSTRUCTIONS_MAX = "instructions-max", "Most instructions of one crossing in the loop.";
    INSTRUCTIONS_MIN = "instructions-min", "Fewest instructions of one crossing in the loop.";
    INSTRUCTIONS_SINGLE = "instructions-single", "Instructions of the single crossing before the loop.";
    INVOLUNTARY_SWITCHES = "involuntary-switches", "Involuntary context switches (getrusage).";
    L1D_EVENTS = "L1d-*", "Loads that looked into the first data cache, and its misses.";
    COLD_APART = "cold-apart", "The differences of single instructions from cold caches, without their signs.";
    COLD_MODEL = "cold-model-cycles", "The same cycles on the timed core.";
    COLD_RTL = "cold-rtl-cycles", "Cycles in the RTL from cold caches: of the first crossing, or of a whole loop or program.";
    LINE_ACCESSES = "line-accesses", "Lines that the program's fetches touch, over the whole program.";
    LINE_HIT_RATE = "line-hit-rate", "Hits divided by line accesses.";
    LINE_MISSES = "line-misses", "Lines that were missed, over the whole program.";
    LOADS = "loads", "Loads of the kernel.";
    MAPPED_PER_TOUCH = "mapped-per-touch", "Pages that one fault maps.";
    MAXIMUM_RESIDENT = "maximum-resident-kib", "Largest resident set of the process, in KiB (getrusage).";
    MIGRATIONS = "migrations", "Moves to another CPU, counted by the kernel.";
    MINOR_FAULTS = "minor-faults", "Minor faults of the process (getrusage).";
    MAJOR_FAULTS = "major-faults", "Major faults of the process (getrusage).";
    MISSES = "misses", "Misses, over the whole program.";
    MISSES_CAPACITY = "misses-capacity", "Misses that a fully associative cache of the size would also have.";
    MISSES_COMPULSORY = "misses-compulsory", "First accesses to a line.";
    MISSES_CONFLICT = "misses-conflict", "Misses that only the mapping to sets causes.";
    OBJECT_TEXT_BYTES = "object-text-bytes", "Bytes of the program's text before linking.";
    OFF_CPU = "off-cpu-ns-per-touch", "Nanoseconds off the CPU for each touch.";
    PAGES_PER_SECOND = "pages-per-second", "Pages touched in a second.";
    PAGES_TOUCHED = "pages-touched", "Distinct pages touched.";
    PAGE_FAULTS = "page-faults", "Page faults, counted by the kernel.";
    PHASE = "phase/*", "Instructions, loads, stores, bytes stored and traps of one phase: `phase/NAME/loads`.";
    READ_PER_TOUCHED = "read-per-touched", "Bytes read from the device for each byte of touched pages.";
    REFILL = "refill/*", "Lines and TLB entries that the program fetches again for each trap.";
    RESIDENT_BEFORE = "resident-before", "Pages of the file in the page cache before the scan.";
    SCAN_MAJOR = "scan-major", "Major faults of the scan itself.";
    SCAN_MINOR = "scan-minor", "Minor faults of the scan itself.";
    SCAN_SECONDS = "scan-s", "Seconds of the scan itself.";
    SLOW_DOWN = "slow-down", "Cycles with traps divided by cycles without, less 1.";
    SQUASHED = "squashed", "Instructions that were fetched and squashed.";
    STATIC = "static/*", "Instructions in the program's text by kind.";
    STEADY_MAJOR = "steady-major-per-touch", "Major faults for each touch once memory is full.";
    STEADY_APART = "steady-apart", "Differences of single instructions between the timed core and the RTL, in one warm pass of a loop.";
    STEADY_MODEL = "steady-model-cycles", "Cycles of one warm pass of a loop on the timed core.";
    STEADY_RTL = "steady-rtl-cycles", "Cycles of one warm pass of a loop in the RTL.";
    STORES = "stores", "Stores of the kernel.";
    SYSTEM_SECONDS = "system-s", "Seconds in the kernel (getrusage).";
    TEXT_BYTES = "text-bytes", "Bytes of the program's text.";
    TIMED_CYCLES = "timed-cycles", "Cycles of the program on the timed core.";
    USER_INSTRUCTIONS = "user-instructions", "Instructions of the program from trap to trap.";
    USER_SECONDS = "user-s", "Seconds in user mode (getrusage).";
    VOLUNTARY_SWITCHES = "voluntary-switches", "Voluntary context switches (getrusage).";
    WALL = "wall-ns-per-touch", "Nanoseconds of wall time for each touch.";
}

names! {
    /// Phases: the named parts of a crossing.
    phase::PhaseName:
    ADDRESS_SPACE = "address-space", "Change of the address space.";
    ATTACH = "attach", "Attaching a thread to a virtual machine and detaching it.";
    CALL = "call", "The call and its return, without what the other part names.";
    CANONICAL_ABI = "canonical-abi", "Converting and checking values by the component model's canonical ABI.";
    COPY = "copy", "The copy of a text for the other language.";
    COUNTING = "counting", "What counting the crossings itself took.";
    DELIVERY = "delivery", "From the kernel's entry to the signal handler's first instruction.";
    DEVICE_WAIT = "device-wait", "Off the CPU until the device has delivered the page.";
    DIRECT = "direct", "Every cycle outside the program.";
    DIRECT_SWITCH = "direct-switch", "The switch itself, with all that it needs in the caches.";
    DISPATCH = "dispatch", "From the cause to the handler, and from its result to the frame.";
    ENTRY = "entry", "From user mode to the kernel's first stamp: hardware and entry code.";
    ENTRY_AND_RETURN = "entry-and-return", "The exception and its return, without the work between them.";
    ENTRY_CODE = "entry-code", "The kernel's entry code, without the hardware's share.";
    EXIT_CODE = "exit-code", "The kernel's exit code, without the hardware's share.";
    FIRMWARE = "firmware", "Machine mode, between the hardware and a supervisor kernel.";
    FAULT_WORK = "fault-work", "The kernel's work behind page faults of a program.";
    HANDLER = "handler", "What was asked for.";
    HANDLER_TO_RETURN = "handler-to-return", "From the signal handler's first instruction back to the sender.";
    HANDLING = "handling", "The kernel's work between entry and return.";
    HARDWARE_ENTRY = "hardware-entry", "The hardware's way in, timed in a bare guest.";
    HARDWARE_RETURN = "hardware-return", "The hardware's way back, timed in a bare guest.";
    HARDWARE_TRAP = "hardware-trap", "From the trapping instruction to the handler's first one.";
    HOT_WORK = "hot-work", "What a task does at each hop, with its array in the caches.";
    INTERRUPTS = "interrupts", "Interrupts that arrived while the program was on the CPU.";
    KERNEL_WORK = "kernel-work", "What the kernel does behind a crossing.";
    KILL_TO_HANDLER = "kill-to-handler", "From the sender's call to the signal handler's first instruction.";
    LOADER = "loader", "Everything from a program's first instruction to its entry point: the loader links it to its libraries.";
    LOCK = "lock", "A language's lock, released and taken again.";
    LOCK_AND_THREAD_STATE = "lock-and-thread-state", "A language's lock and the state of the thread in it.";
    LOOKUP_AND_REQUEST = "lookup-and-request", "Finding that the page is missing, and asking the device for it.";
    MAPPING = "mapping", "Entering further pages into the page table.";
    OTHER = "other", "Kernel code that belongs to no crossing; zero unless something is wrong.";
    OWN_CODE = "own-code", "The program's own instructions, with its libraries.";
    PAGE = "page", "Finding a page, clearing or copying it, and accounting for it.";
    PAGE_TABLE = "page-table", "Entering pages into the page table.";
    PAGE_AND_MAPPING = "page-and-mapping", "Finding a page, clearing it and mapping it.";
    PLAIN = "plain", "The same crossing with nothing in its way.";
    PROGRAM_END = "program-end", "From a program's exit call to the end of its task.";
    PROGRAM_START = "program-start", "From the call of execve to the program's first instruction.";
    RECEIVER_AWAKE = "receiver-awake", "The whole time of messages whose receiver did not sleep.";
    RECEIVERS_RETURN = "receivers-return", "From the switch to the receiver until it has the message.";
    REFILL = "refill", "Fetching again what others replaced in the caches and TLBs.";
    REGISTER_RESTORE = "register-restore", "Registers from memory.";
    REGISTER_SAVE = "register-save", "Registers to memory.";
    RETURN = "return", "From the kernel's last stamp to user mode.";
    RUN_QUEUE = "run-queue", "What more tasks in the run queue add to a switch.";
    SCHEDULE = "schedule", "Choosing the next task.";
    SENDERS_CALL = "senders-call", "From before the sender's call until the kernel begins to wake the receiver.";
    SIGNAL_FRAME = "signal-frame", "Choosing the signal, writing the frame of its handler and reading it again.";
    SIGRETURN = "sigreturn", "From the signal handler's first instruction to the end of the touch that caused the signal.";
    STACK_SWITCH_AND_SCHEDULER = "stack-switch-and-scheduler", "To the thread's own stack and back, and telling the language's scheduler.";
    STACK_SWITCH = "stack-switch", "To the kernel's stack and back.";
    SWITCHES = "switches", "The kernel's work to switch to other tasks, while it handles a program's crossings.";
    SYSTEM = "system", "CPU time in the kernel.";
    TASK_SWITCH = "task-switch", "Registers and stack of the next task.";
    TAX = "tax", "What the interposition adds to a crossing: with it minus without.";
    THREAD_STATE = "thread-state", "Changing the state of the thread in its virtual machine.";
    TOLL = "toll", "The way into the kernel and back out, without the work behind it.";
    UNATTRIBUTED = "unattributed", "What the named parts leave of the total.";
    USER = "user", "CPU time in user mode.";
    USER_STUB = "user-stub", "The program's own instructions around the trap.";
    WAKE_UP = "wake-up", "Finding who waits, and making it ready to run.";
    WAKE_UP_TO_RUNNING = "wake-up-to-running", "From the beginning of the wake-up until a CPU switches to the receiver.";
    WAITING = "waiting", "Time off the CPU.";
}

/// The name of a phase as it is read: the words of `run-queue` are `run queue`.
///
/// ```
/// use tollgate_record::phase_words;
/// assert_eq!(["run-queue", "wake-up", "senders-call"].map(phase_words), ["run queue", "wake-up", "sender's call"]);
/// ```
pub fn phase_words(name: &str) -> String {
    /// Words that have more than a blank between them.
    const SPELLED: [(&str, &str); 4] = [
        ("wake up", "wake-up"),
        ("senders call", "sender's call"),
        ("receivers return", "receiver's return"),
        ("canonical abi", "canonical ABI"),
    ];
    let words = name.replace('-', " ");
    SPELLED.iter().fold(words, |words, (plain, spelled)| words.replace(plain, spelled))
}

/// The spelling of this version for a phase of an earlier record, some of which had words.
pub(crate) fn phase_key(name: &str) -> Option<String> {
    let key = name.replace(' ', "-").replace('\'', "").to_lowercase();
    (key != name && PhaseName::find(&key).is_some()).then_some(key)
}

names! {
    /// Causes of simulated cycles, in the order of the pipe.
    cause::CauseName:
    ISSUE = "issue", "An instruction's own cycle.";
    LOAD_USE = "load-use", "Waiting for the value of a load.";
    CSR = "csr", "Waiting for a control and status register.";
    BRANCH = "branch", "Fetching again after a branch or jump that was not predicted.";
    TRAP_FLUSH = "trap-flush", "Fetching again after a trap or a return from one.";
    I_MISS = "i-miss", "Waiting for an instruction's line.";
    D_MISS = "d-miss", "Waiting for a line of data.";
    TLB_WALK = "tlb-walk", "Walking the page table.";
    LONG_OPERATION = "long-operation", "Waiting for a multiplication, a division or floating point.";
    STRUCTURAL = "structural", "Waiting for a part of the core that another instruction uses.";
}

#[cfg(test)]
mod tests {
    use super::{Counter, cause, counter, phase, phase_key, phase_words, warning};
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_defined_once_in_the_same_spelling_and_has_a_sentence() {
        let all = [
            warning::ALL.iter().map(|it| (it.name, it.meaning)).collect::<Vec<_>>(),
            counter::ALL.iter().map(|it| (it.name, it.meaning)).collect(),
            phase::ALL.iter().map(|it| (it.name, it.meaning)).collect(),
            cause::ALL.iter().map(|it| (it.name, it.meaning)).collect(),
        ];
        for list in all {
            let names: BTreeSet<_> = list.iter().map(|(name, _)| name).collect();
            assert_eq!(names.len(), list.len());
            for (name, meaning) in &list {
                assert!(meaning.ends_with('.') && meaning.len() > 5, "{name}: {meaning}");
                assert!(!name.contains(['_', '\'']), "{name}: words are joined by `-`");
            }
        }
        for phase in phase::ALL {
            assert!(!phase.name.contains(' '), "{}: words are joined by `-`", phase.name);
        }
    }

    #[test]
    fn phases_of_earlier_records_are_found_by_their_words() {
        for (old, new) in [
            ("kernel work", "kernel-work"),
            ("sender's call", "senders-call"),
            ("canonical ABI", "canonical-abi"),
        ] {
            assert_eq!(phase_key(old).as_deref(), Some(new));
            assert_eq!(phase_words(new), old);
        }
        assert_eq!([phase_key("kernel-work"), phase_key("of another version")], [None, None]);
    }

    #[test]
    fn a_name_with_a_star_stands_for_all_that_begin_so() {
        assert_eq!(Counter::find("refill/l1i-lines"), Some(counter::REFILL));
        assert_eq!(Counter::find("cache-misses:u"), Some(counter::CACHE_EVENTS));
        assert_eq!(Counter::find("instructions"), Some(counter::INSTRUCTIONS));
        assert_eq!(Counter::find("refill"), None);
    }
}

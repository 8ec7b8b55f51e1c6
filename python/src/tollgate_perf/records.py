"""The record of a run, typed. Made from docs/schema/tollgate-2.json by `cargo xtask bless python`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias


Accesses: TypeAlias = Literal[
    "fetch",
    "cycle",
]
"""What counts as an access to an instruction cache."""


CacheShape: TypeAlias = str
"""The shape of a cache; in the record and on the command line `sets:ways:line`, as `4:1:8`."""


Caches: TypeAlias = Literal[
    "warm",
    "cold",
    "evicted",
]
"""What the caches, translation buffers and predictors hold when the crossing begins."""


Evidence: TypeAlias = Literal[
    "measured",
    "difference",
    "kernel-timestamp",
    "guest",
    "simulated",
    "accounted",
    "priced",
]
"""How a phase of a bill is known."""


Per: TypeAlias = Literal[
    "pass",
    "call",
    "syscall",
    "operation",
    "signal",
    "touch",
    "switch",
    "message",
    "task",
    "exit",
    "trap",
    "instruction",
    "run",
]
"""What one figure stands for."""


Policy: TypeAlias = Literal[
    "without",
    "always",
    "if-dirty",
    "by-trap",
]
"""When a kernel saves and loads the state of a feature."""


Status: TypeAlias = Literal[
    "measured",
    "skipped",
    "failed",
]
"""What became of a probe."""


@dataclass(frozen=True, kw_only=True)
class Warning:
    """Something that a reader of the figure must know, as data."""

    code: str
    """Stable name that scripts may test for, kebab-case."""

    text: str
    """One plain sentence."""


@dataclass(frozen=True, kw_only=True)
class AskedNothing:
    """The probe's id says everything."""

    family: Literal["nothing"] = "nothing"


@dataclass(frozen=True, kw_only=True)
class AskedProbe:
    """A mechanism of this host."""

    bytes: int | None = None
    """Bytes that one call reads."""

    bytes_between_touches: int | None = None
    """Distance between two touches, in bytes."""

    bytes_swept: int | None = None
    """Bytes that are read before each crossing."""

    clock: str | None = None
    """The clock that it reads, in the words of clock_gettime(2)."""

    entries: int | None = None
    """Entries of the submission queue."""

    family: Literal["probe"] = "probe"

    file: str | None = None
    """What kind of file is mapped."""

    float_control: str | None = None
    """The floating-point control register of both sides, by name and value."""

    function: str | None = None
    """The function that is called."""

    kept: str | None = None
    """What a fiber switch saves and restores."""

    leaf: int | None = None
    """The leaf of `cpuid`."""

    number: int | None = None
    """The number of the system call."""

    pages_flushed: int | None = None
    """Pages whose translations are flushed before each crossing."""

    region_pages: int | None = None
    """Pages of the region whose first touches fault."""

    seccomp: str | None = None
    """The seccomp mode that the probe sets for itself."""

    setup_flags: str | None = None
    """Flags that set up the queue."""

    stack_bytes: int | None = None
    """Size of a fiber's stack."""

    state: str | None = None
    """What is spoiled before each crossing: `tlb-flushed` or `caches-swept`."""


@dataclass(frozen=True, kw_only=True)
class AskedRing:
    """One cell of a ring of tasks."""

    cpus: list[int] | None = field(default_factory=list)
    """The CPUs that the tasks take in turn."""

    family: Literal["ring"] = "ring"

    pages: str | None = None
    """Pages under the arrays: `4k`, `huge`."""

    procs: int
    """Number of tasks."""

    size: int
    """Bytes of each task's array."""

    tasks: str | None = None
    """`process` or `thread`."""

    walk: str | None = None
    """How a task goes over its array at each hop: `sum`, `random`, `write`."""


@dataclass(frozen=True, kw_only=True)
class AskedKnee:
    """What the cells of a ring tell about one cache."""

    cache: str | None = None
    """`L1`, `L2`, `L3`; absent in the row that says that the caches are not known."""

    family: Literal["knee"] = "knee"


@dataclass(frozen=True, kw_only=True)
class AskedScan:
    """A scan of a mapped file."""

    advice: str
    """The advice that `madvise` gives the kernel."""

    family: Literal["scan"] = "scan"

    file: str | None = None
    """The file; absent when the command made one."""

    memory_limit: int | None = None
    """Bytes of memory that the scan may use."""

    pattern: str
    """Order of the touches: `sequential`, `random`, ..."""

    size: int
    """Bytes of the file that are scanned."""

    warm: bool
    """Whether the page cache was left as it was."""


@dataclass(frozen=True, kw_only=True)
class AskedExec:
    """The toll of a program."""

    attached: bool = False
    """Whether the process was already running."""

    command: list[str]
    """The command and its arguments; of a process that was already running, those with which it was
    started.
    """

    family: Literal["exec"] = "exec"


@dataclass(frozen=True, kw_only=True)
class AskedRuntime:
    """A switch in a runtime or language."""

    family: Literal["runtime"] = "runtime"

    kind: str
    """`fiber`, `coroutine`, `thread`, ..."""

    language: str
    """Its language."""

    runtime: str
    """The runtime."""

    tasks: int
    """Number of tasks that pass the token."""

    what: str
    """What one switch is, in words."""


@dataclass(frozen=True, kw_only=True)
class AskedTrap:
    """The bill of a trap on a RISC-V engine."""

    caches: Caches | None = None
    """The state of the caches, with a core."""

    call: int | None = None
    """Number of the system call; absent for interrupts and switches."""

    core: str | None = None
    """The core whose cycles are counted."""

    family: Literal["trap"] = "trap"

    feature: FeatureAsked | None = None
    """The feature whose cost is measured, and how the design switches it."""

    isa: str
    """The instruction set that it is built for."""

    iterations: int
    """Crossings in the loop, after the single one."""

    kernel: str
    """The design of the kernel entry."""


@dataclass(frozen=True, kw_only=True)
class AskedWorkload:
    """A workload that traps on a RISC-V core."""

    core: str
    """The core."""

    every: int
    """Instructions of the program from trap to trap."""

    family: Literal["workload"] = "workload"

    kernel: str
    """The design of the kernel entry."""

    set_bytes: int
    """The program's working set."""

    touch_bytes: int
    """What the kernel reads in each trap."""


@dataclass(frozen=True, kw_only=True)
class AskedPipeline:
    """A stage diagram of a RISC-V pipeline."""

    core: str
    """The core."""

    family: Literal["pipeline"] = "pipeline"

    from_: str | None = field(default=None, metadata={'key': 'from'})
    """The symbol from which the diagram starts, where one was named."""

    nth: int | None = None
    """Which one of its kind the diagram is about, from 1."""

    program: str
    """The program: a file name, or `bundled`."""


@dataclass(frozen=True, kw_only=True)
class AskedLatency:
    """Interrupt latency over the phases of a loop."""

    core: str
    """The core."""

    family: Literal["latency"] = "latency"


@dataclass(frozen=True, kw_only=True)
class AskedValidation:
    """A program on a timed core and on the RTL of a real one."""

    core: str
    """The core whose RTL was run."""

    family: Literal["validation"] = "validation"

    latency: int
    """Cycles that memory takes."""

    part: str
    """What the program is for: kernels, traps, programs, random or interrupts."""

    preset: str
    """The timed core."""

    program: str
    """The program."""


@dataclass(frozen=True, kw_only=True)
class AskedIcache:
    """A program's fetches through an instruction cache."""

    count: Accesses
    """What an access is."""

    family: Literal["icache"] = "icache"

    icache: CacheShape
    """Sets, ways and bytes of a line, as `4:1:8`."""

    isa: str
    """The instruction set that it is built for."""

    policy: str
    """The replacement policy."""

    program: str
    """The program."""


@dataclass(frozen=True, kw_only=True)
class AskedProgram:
    """A program run on the RISC-V machine."""

    command: list[str] = field(default_factory=list)
    """The program and its arguments, if it ran inside of a kernel or alone (`tollgate riscv exec`)."""

    core: str | None = None
    """The core whose cycles are counted."""

    family: Literal["program"] = "program"

    isa: str
    """The machine's instruction set."""

    machine: str
    """The machine's memory map: `spike` or `virt`."""

    program: str
    """The program's file name."""

    top: int | None = None
    """How many functions have a line of their own, if that was chosen."""


@dataclass(frozen=True, kw_only=True)
class AskedImported:
    """A result of another tool."""

    command: str | None = None
    """The command that was timed."""

    core_a: int | None = None
    """The core that answers."""

    core_b: int | None = None
    """The core that asks."""

    descriptors: int | None = None
    """Number of descriptors that are selected from."""

    family: Literal["imported"] = "imported"

    host: str | None = None
    """The host's name in that file."""

    of: str | None = None
    """What those descriptors are: `files`, `tcp`."""

    operation: str | None = None
    """What one operation is."""

    parameters: dict[str, str] = field(default_factory=dict)
    """Parameters of that command."""

    procs: int | None = None
    """Number of processes of a ring."""

    size: int | None = None
    """Bytes of each process's array."""

    system: str | None = None
    """The operating system in that file."""


Asked: TypeAlias = (
    AskedNothing
    | AskedProbe
    | AskedRing
    | AskedKnee
    | AskedScan
    | AskedExec
    | AskedRuntime
    | AskedTrap
    | AskedWorkload
    | AskedPipeline
    | AskedLatency
    | AskedValidation
    | AskedIcache
    | AskedProgram
    | AskedImported
)
"""What the user or the plan chose."""


@dataclass(frozen=True, kw_only=True)
class Cache:
    """One cache."""

    bytes: int = 0
    """Size in bytes."""

    kind: str = ''
    """`Data`, `Instruction` or `Unified`."""

    level: int = 0
    """1 for the level next to the core."""

    line_bytes: int | None = None
    """Line size in bytes."""

    shared_by: list[int] = field(default_factory=list)
    """CPUs that share it."""

    ways: int | None = None
    """Ways of associativity."""


@dataclass(frozen=True, kw_only=True)
class CallFound:
    """All system calls with one number."""

    count: int
    """How many were handled."""

    max: int
    """Most instructions between the trap and the return."""

    min: int
    """Fewest instructions between the trap and the return."""

    name: str | None = None
    """Its name, where it has one."""

    number: int
    """The number in `a7`."""

    phases: dict[str, int]
    """Instructions of all of them by phase."""


@dataclass(frozen=True, kw_only=True)
class CallSite:
    """A place in the program that crosses a boundary, with the functions that led to it."""

    complete: bool
    """Whether these are all functions up to the beginning of the program or thread. Code without frame
    pointers ends a walk early.
    """

    crossings: int
    """Crossings from here."""

    frames: list[Frame]
    """The functions, the innermost first."""

    kind: str
    """What kind of boundary: `system call` or `fault`."""

    name: str
    """Its name, as that of the boundary's own row."""

    ns: tuple[float, float, float] | None = None
    """Toll and kernel work of all of them, in nanoseconds, with the interval; absent without prices and
    times.
    """


@dataclass(frozen=True, kw_only=True)
class Cgroup:
    """Limits of the control group."""

    cpu_max: float | None = None
    """CPU bandwidth limit in CPUs (quota over period)."""

    memory_max: int | None = None
    """Memory limit in bytes."""

    pids_max: int | None = None
    """Task limit."""

    version: int | None = None
    """1 or 2; absent without control groups."""


@dataclass(frozen=True, kw_only=True)
class Clock:
    """The clock that timed."""

    hz: float = 0.0
    """Ticks per second, measured against CLOCK_MONOTONIC_RAW."""

    invariant: bool | None = None
    """Whether the counter runs at a constant rate in all power states."""

    kernel_clocksource: str | None = None
    """The kernel's own current clock source."""

    nominal_hz: float | None = None
    """Ticks per second as the processor or kernel states them."""

    pair_ticks: float = 0.0
    """Median cost of an empty start/stop pair in ticks."""

    source: str = ''
    """The counter that timed (`tsc`, `cntvct`, `rdtime`), or `os`."""


@dataclass(frozen=True, kw_only=True)
class Cpu:
    """The processor."""

    allowed: list[int] = field(default_factory=list)
    """CPUs that this process may use."""

    core_hz_after: float | None = None
    """Core frequency measured after the run, in Hz."""

    core_hz_before: float | None = None
    """Core frequency measured before the run, in Hz."""

    cores: list[list[int]] = field(default_factory=list)
    """The online CPUs in groups that share a core; empty where the system does not tell."""

    family_model_stepping: tuple[int, int, int] | None = None
    """Family, model and stepping (x86) as decimal numbers."""

    flags: list[str] = field(default_factory=list)
    """Flags of the processor that change what a crossing costs (`pti`, `pcid`, `invpcid`, `fsgsbase`)."""

    frequency_driver: str | None = None
    """Frequency driver."""

    governor: str | None = None
    """Frequency governor."""

    idle: Idle = field(default_factory=lambda: Idle())
    """What the processor does when it has nothing to do."""

    isa: str | None = None
    """The RISC-V `isa` line."""

    isolated: list[int] = field(default_factory=list)
    """CPUs that the scheduler leaves alone (`isolcpus=`)."""

    measured: int | None = None
    """CPU that was measured on."""

    microcode: str | None = None
    """Microcode revision as the kernel prints it."""

    model: str = ''
    """The maker's name for it."""

    online: list[int] = field(default_factory=list)
    """CPUs online in the system."""

    packages: list[list[int]] = field(default_factory=list)
    """The online CPUs in groups that share a socket; empty where the system does not tell."""

    part: str | None = None
    """Implementer and part on Arm, vendor and architecture id on RISC-V, as the kernel prints them."""

    peer: int | None = None
    """CPU of the other side in two-CPU probes."""

    peer_relation: str | None = None
    """How the two relate."""

    present: list[int] = field(default_factory=list)
    """CPUs that are built in, online or not."""

    smt: bool | None = None
    """Whether two hardware threads share a core among the online CPUs."""

    tickless: list[int] = field(default_factory=list)
    """CPUs whose tick stops while one task runs (`nohz_full=`)."""

    turbo: bool | None = None
    """Whether turbo (boost) is on."""

    vendor: str = ''
    """`AuthenticAMD`, `GenuineIntel`, implementer code on Arm."""


@dataclass(frozen=True, kw_only=True)
class CyclesCompared:
    """Cycles of the same instructions."""

    apart: int
    """The sum of the differences of single instructions, without their signs."""

    model: int
    """On the timed core."""

    rtl: int
    """In the RTL."""


@dataclass(frozen=True, kw_only=True)
class EpochFigure:
    """What one epoch gave."""

    core_hz: float | None = None
    """The core's frequency in that epoch, in Hz, where it was measured."""

    ns: float
    """The epoch's headline in nanoseconds."""

    paired: PairedFigure | None = None
    """The same epoch against the run of `interleaved_with`, where the batches of both alternated."""

    typical: TypicalFigure | None = None
    """A batch of this epoch and the yardsticks beside it as they typically were, where yardsticks were
    timed.
    """


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A figure with its interval and the distribution of the samples behind it. The quantiles are those of
    the samples, each the mean of one batch of crossings; the distribution of single crossings is the
    `single` of the measurement.
    """

    ci: tuple[float, float] | None = None
    """Its 95 % confidence interval, low and high. Absent in a document if it was not measured; then it is
    every number.
    """

    estimate: float
    """The headline figure."""

    mean: float
    """Mean of the samples."""

    min: float
    """Smallest sample."""

    p10: float
    """10th percentile of the samples."""

    p50: float
    """Median of the samples."""

    p90: float
    """90th percentile of the samples."""

    p99: float
    """99th percentile of the samples."""


@dataclass(frozen=True, kw_only=True)
class FeatureAsked:
    """A feature of the machine, whose state a kernel saves and loads."""

    name: str
    """Its name."""

    policy: Policy
    """When its state is saved and loaded."""

    used: bool | None = None
    """Whether the program uses it between two crossings; absent where that makes no difference."""


@dataclass(frozen=True, kw_only=True)
class FoundNothing:
    """Nothing beside the figures."""

    family: Literal["nothing"] = "nothing"


@dataclass(frozen=True, kw_only=True)
class FoundProbe:
    """A mechanism of this host."""

    address_space: str | None = None
    """What the parent of new processes has mapped."""

    clocksource: str | None = None
    """The kernel's clock source."""

    family: Literal["probe"] = "probe"

    huge_page_bytes: int | None = None
    """Size of a huge page."""

    hypervisor: str | None = None
    """The hypervisor that answers."""

    library: str | None = None
    """The shared library that holds the function."""

    mappings: int | None = None
    """Number of mappings of that parent."""

    page_bytes: int | None = None
    """Size of a page."""

    pages_per_fault: float | None = None
    """Pages that one fault maps."""

    resident_kib: int | None = None
    """Resident memory of that parent, in KiB."""

    seccomp: str | None = None
    """The seccomp mode in force, in the kernel's words (proc(5))."""

    user_mode: str | None = None
    """Whether the call was shown to stay in user mode."""


@dataclass(frozen=True, kw_only=True)
class FoundRing:
    """One cell of a ring of tasks."""

    family: Literal["ring"] = "ring"

    huge_kib: int | None = None
    """How much of the first task's array is on huge pages, in KiB; absent where 4k pages were asked for,
    or where the kernel does not say.
    """


@dataclass(frozen=True, kw_only=True)
class FoundKnee:
    """What the cells of a ring tell about one cache."""

    expected_bytes: int
    """The cache's size as the system gives it."""

    family: Literal["knee"] = "knee"

    knee_bytes: int | None = None
    """The footprint at which refill begins; the row's figure is then ns for each further KiB of the array."""

    knee_interval: tuple[int, int] | None = None
    """Its 95 % interval."""

    left_out: LeftOut | None = None
    """How well cells are predicted by a fit without them."""

    shared_by: int
    """CPUs that share the cache."""


@dataclass(frozen=True, kw_only=True)
class FoundScan:
    """A scan of a mapped file."""

    family: Literal["scan"] = "scan"

    file_bytes: int
    """Size of the whole file."""

    limited_by: str | None = None
    """What enforced the memory limit."""

    page_bytes: int
    """Size of a page."""

    read_ahead_kib: int | None = None
    """Read-ahead of the file's device, in KiB."""


@dataclass(frozen=True, kw_only=True)
class FoundExec:
    """The toll of a program."""

    counting_slowdown: float | None = None
    """By how much counting slowed a run that was made for counting alone: its wall time over that of the
    others. Absent with `ptrace`, the times are those of the traced run.
    """

    family: Literal["exec"] = "exec"

    left_running: int | None = None
    """Tasks of it that were still running at its end, and no longer counted."""

    price_source: str | None = None
    """Where the prices are from: `saved`, measured `before and after` the command, or `beside the command`
    if the others contradict what was measured there.
    """

    priced_by: list[str] = field(default_factory=list)
    """Ids of the runs that the prices are from."""

    refill: RefillFound | None = None
    """Refill after switches, where a saved ring says what it costs."""

    repeats: list[RepeatFound] = field(default_factory=list)
    """Each run, if there were several. The figures of the rows are medians."""

    savings: list[Saving] = field(default_factory=list)
    """What would save, largest first."""

    signal: int | None = None
    """The signal that killed it."""

    sites: list[CallSite] = field(default_factory=list)
    """The call sites that pay most, the most expensive first, if they were wanted."""

    source: str
    """What counted: `bpf`, `perf`, `ptrace`, or `none` for the kernel's accounts alone."""

    status: int | None = None
    """Exit status; absent when it did not exit by itself."""

    time_up: bool = False
    """Whether it was ended because its time was up."""

    windows: TimingWindows | None = None
    """How its calls were timed, if it called too often to time them all along."""


@dataclass(frozen=True, kw_only=True)
class FoundToll:
    """The toll at one boundary."""

    counts: list[int] = field(default_factory=list)
    """Crossings of each run that was counted, if there were several. Those of the row are their median."""

    errors: int | None = None
    """System calls that returned an error."""

    family: Literal["toll"] = "toll"

    kind: str
    """What kind of boundary: `system call`, `fault`, `switch`, `wake-up`, `signal`, `task`, `exec`,
    `interrupt`.
    """

    name: str
    """Its name: a system call's, or the kind of fault."""

    one_byte: int | None = None
    """Reads or writes that moved one byte."""

    price_ns: tuple[float, float, float] | None = None
    """The price of one crossing in and out, in nanoseconds, with its interval."""


@dataclass(frozen=True, kw_only=True)
class FoundRuntime:
    """A switch in a runtime or language."""

    batch: int
    """Switches in one batch."""

    bytes_per_task: float | None = None
    """Resident memory for each task, in bytes."""

    clock: str
    """The clock that the program used."""

    clock_resolution_ns: float
    """The step of that clock."""

    family: Literal["runtime"] = "runtime"

    notes: list[str] = field(default_factory=list)
    """What the program says about itself."""

    version: str
    """Version of the runtime."""


@dataclass(frozen=True, kw_only=True)
class FoundGuest:
    """A crossing timed inside a bare guest."""

    family: Literal["guest"] = "guest"

    ring_ratio: float | None = None
    """How many times as long a pair of clock reads takes in ring 0 as in ring 3; far above 1 where ring 0
    is emulated.
    """

    virtual_machines: int
    """Virtual machines that gave the row."""


@dataclass(frozen=True, kw_only=True)
class FoundTrap:
    """The bill of a trap on a RISC-V engine."""

    about: str = ''
    """What the kernel's design does, in a few words."""

    family: Literal["trap"] = "trap"

    proof: str | None = None
    """How near the core is to the RTL that it models, if it was compared."""

    result: int | None = None
    """What the system call returned."""


@dataclass(frozen=True, kw_only=True)
class FoundPipeline:
    """A stage diagram of a RISC-V pipeline."""

    family: Literal["pipeline"] = "pipeline"

    waits: list[Wait]
    """What the first instruction after the hazard waited for, in order."""


@dataclass(frozen=True, kw_only=True)
class FoundIcache:
    """A program's fetches through an instruction cache."""

    family: Literal["icache"] = "icache"

    sweep: list[SweepCurve]
    """Misses of every shape that was swept, with LRU."""


@dataclass(frozen=True, kw_only=True)
class FoundProgram:
    """A program run on the RISC-V machine."""

    calls: list[CallFound]
    """System calls by their number."""

    cut: int | None = None
    """Cycles of calls that are too deep or too many to tell apart; the paths of their callers contain
    them.
    """

    exec: GuestExec | None = None
    """What it did inside of a kernel, if it ran in one; the paths then are in instructions unless there is
    a core.
    """

    family: Literal["program"] = "program"

    functions: list[FunctionFound]
    """Functions with their instructions, most first."""

    paths: list[PathFound] = field(default_factory=list)
    """The cycles by who called whom, callers first."""

    proof: str | None = None
    """How near the core is to the RTL that it models, if it was compared."""


@dataclass(frozen=True, kw_only=True)
class FoundValidation:
    """A program on a timed core and on the RTL of a real one."""

    family: Literal["validation"] = "validation"

    latencies: list[tuple[int, int]] = field(default_factory=list)
    """Of interrupts: each latency in the RTL and on the timed core."""

    phases: list[PhaseCompared] = field(default_factory=list)
    """Of a trap: its phases."""


@dataclass(frozen=True, kw_only=True)
class FoundImported:
    """A result of another tool."""

    family: Literal["imported"] = "imported"

    taken_off_us: float | None = None
    """Microseconds that the tool subtracted for the work of the tasks."""


Found: TypeAlias = (
    FoundNothing
    | FoundProbe
    | FoundRing
    | FoundKnee
    | FoundScan
    | FoundExec
    | FoundToll
    | FoundRuntime
    | FoundGuest
    | FoundTrap
    | FoundPipeline
    | FoundIcache
    | FoundProgram
    | FoundValidation
    | FoundImported
)
"""What the run learned beside its figures."""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A function that was being executed."""

    file: str
    """The file that contains its code; empty for code that is of no file."""

    function: str | None = None
    """Its name; absent where the file has no symbol, or is gone."""

    offset: int
    """The place in that file, in bytes; the address, for code that is of no file."""

    source: str | None = None
    """Source file and line, where the file says them."""


@dataclass(frozen=True, kw_only=True)
class FunctionFound:
    """A function of a program."""

    causes: dict[str, int] = field(default_factory=dict)
    """Its own cycles on the core, by cause."""

    instructions: int
    """Instructions that retired in it."""

    name: str
    """Its symbol."""

    total: int | None = None
    """Its cycles with those of all that it called."""


@dataclass(frozen=True, kw_only=True)
class GuestCrossing:
    """One kind of crossing of a program inside of a kernel."""

    count: int
    """How many."""

    cycles: dict[str, int] = field(default_factory=dict)
    """Cycles by step, with a core."""

    instructions: dict[str, int]
    """Instructions of all of them by step: `entry`, `dispatch`, `work`, `switch`, `exit`."""

    kind: str
    """`system call`, `fault`, `interrupt` or `task`."""

    name: str
    """Its name: `read`."""

    stage: str
    """When: at the `start` (`execve`), in the `loader`, in the `program`, or at its `end`."""


@dataclass(frozen=True, kw_only=True)
class GuestExec:
    """What a program inside of a kernel did."""

    crossings: list[GuestCrossing]
    """What it crossed."""

    hashes: dict[str, str] = field(default_factory=dict)
    """SHA-256 of the `program`, of all its `files`, and of the `kernel` or the `snapshot`."""

    kernel: str | None = None
    """The kernel; absent if it ran without one."""

    signal: int | None = None
    """The signal that ended it."""

    sites: list[GuestSite] = field(default_factory=list)
    """Where in the program it crossed."""

    status: int | None = None
    """Its exit status."""

    stopped: str | None = None
    """Why it was stopped, if it was."""


@dataclass(frozen=True, kw_only=True)
class GuestSite:
    """A place from which a program crosses."""

    callers: list[str]
    """The function that does, and its callers."""

    cost: int
    """Instructions outside of the program, or cycles with a core."""

    count: int
    """How often."""

    crossing: str
    """What it crosses."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """The machine that was measured."""

    arch: str = ''
    """Instruction set architecture: `x86_64`, `aarch64`, `riscv64`."""

    caches: list[Cache] = field(default_factory=list)
    """One entry for each cache that the first allowed CPU can reach."""

    capabilities: list[str] = field(default_factory=list)
    """Capabilities in force that widen what can be measured (`sys_admin`, `perfmon`, `bpf`, ...)."""

    cgroup: Cgroup = field(default_factory=lambda: Cgroup())
    """Limits of the control group."""

    clock: Clock = field(default_factory=lambda: Clock())
    """The clock that timed."""

    cpu: Cpu = field(default_factory=lambda: Cpu())
    """The processor."""

    free_page_reporting: bool | None = None
    """Whether free memory is given back to the host (a balloon with free page reporting); absent without a
    balloon.
    """

    hypervisor: str | None = None
    """Hypervisor that this system runs under, by the name it gives itself; absent on bare metal."""

    kernel: Kernel = field(default_factory=lambda: Kernel())
    """The kernel."""

    limits: Limits = field(default_factory=lambda: Limits())
    """Limits of the process."""

    machine: str | None = None
    """The machine's or the virtual machine's product name."""

    memory_available_bytes: int | None = None
    """Memory that was available without swapping when the host was described, in bytes."""

    memory_bytes: int | None = None
    """Physical memory in bytes."""

    monotonic_offset_s: int | None = None
    """Seconds by which the monotonic clock of this time namespace is ahead; absent without one."""

    name: str = ''
    """Node name of the system."""

    page_bytes: int = 0
    """Base page size in bytes."""

    pmu: Pmu = field(default_factory=lambda: Pmu())
    """Hardware performance counters."""

    proc_options: list[str] = field(default_factory=list)
    """Options of /proc that hide something, as mounted: `hidepid=2`, `subset=pid`."""

    swap_bytes: int | None = None
    """Swap space in bytes; 0 means none."""

    swap_used_bytes: int | None = None
    """Swap space in use when the host was described, in bytes."""

    transparent_huge_pages: str | None = None
    """Transparent huge pages: the choice in force (`always`, `madvise`, `never`)."""

    uid: int = 0
    """User id that measured."""

    unreadable: list[str] = field(default_factory=list)
    """Directories of the system that are not there, so that facts are missing (`/proc`, `/sys`), and files
    that are hidden in those that are (`/proc/stat`).
    """

    user_namespace: bool | None = None
    """Whether users have other numbers here than on the machine (a rootless container), so that root is
    root of a part only; absent where the system does not tell.
    """


@dataclass(frozen=True, kw_only=True)
class Idle:
    """What the processor does when it has nothing to do."""

    driver: str | None = None
    """Idle driver: `intel_idle`, `acpi_idle`, `haltpoll`, `psci_idle`."""

    governor: str | None = None
    """Idle governor: `menu`, `teo`, `haltpoll`."""

    halt_poll_ns: int | None = None
    """Nanoseconds that an idle guest polls before it gives its CPU back (`haltpoll` only)."""

    states: list[IdleState] = field(default_factory=list)
    """Idle states, shallowest first."""


@dataclass(frozen=True, kw_only=True)
class IdleState:
    """One idle state."""

    disabled: bool = False
    """Whether it was switched off."""

    exit_us: int = 0
    """Microseconds that it takes to leave, as the driver states them."""

    name: str = ''
    """The driver's name for it."""


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """The kernel."""

    autogroup: bool | None = None
    """Whether tasks are grouped by session for scheduling (`kernel.sched_autogroup_enabled`)."""

    command_line: list[str] = field(default_factory=list)
    """Words of the boot command line that change what a crossing costs."""

    io_uring_disabled: int | None = None
    """`kernel.io_uring_disabled`."""

    mitigations: dict[str, str] = field(default_factory=dict)
    """What the kernel says of each hardware vulnerability."""

    perf_event_paranoid: int | None = None
    """`kernel.perf_event_paranoid`."""

    perf_user_access: int | None = None
    """`kernel.perf_user_access`: whether programs may read counters without a system call (Arm)."""

    release: str = ''
    """`uname -r`."""

    seccomp: bool | None = None
    """Whether a seccomp filter is in force for this process."""

    traced: bool | None = None
    """Whether a debugger or tracer is attached to this process."""

    version: str = ''
    """`uname -v`."""


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """Leave-one-out errors of the fit, as a share of each cell's total."""

    cells: int
    """Cells that were predicted from the others."""

    median_error: float
    """The median of the errors."""

    worst_error: float
    """The largest error."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of the process."""

    address_space_bytes: int | None = None
    """Soft limit of the address space in bytes; absent means none."""

    file_bytes: int | None = None
    """Soft limit of a file's size in bytes; absent means none."""

    locked_bytes: int | None = None
    """Soft limit of locked memory in bytes; absent means none."""

    open_files: int | None = None
    """Soft limit of open files; absent means none."""

    processes: int | None = None
    """Soft limit of processes of the user; absent means none."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What one probe gave."""

    asked: Asked = field(default_factory=lambda: AskedNothing())
    """What the user or the plan chose: sizes, counts, kinds. Equal in two runs of one experiment."""

    counters: dict[str, float] = field(default_factory=dict)
    """Hardware and software event counts per crossing."""

    crossings: int
    """How many crossings in all of them."""

    cycles: Estimate | None = None
    """Cycles of the core (or simulated ones, as `engine` says)."""

    enable: str | None = None
    """What would make a skipped probe measurable."""

    engine: str
    """What ran it: `host`, `embedded`, `spike`, `qemu`, `kvm-intel`."""

    epochs: list[EpochFigure] = field(default_factory=list)
    """The headline of each epoch, which is a process of its own: what the headline is the median of, in
    the order in which they were made. Empty in records of before it was kept, and for simulated
    figures.
    """

    found: Found = field(default_factory=lambda: FoundNothing())
    """What the run learned beside its figures."""

    histogram: str | None = None
    """The distribution of single crossings in nanoseconds: HdrHistogram V2, base64."""

    instrumented_ns: dict[str, float] = field(default_factory=dict)
    """Nanoseconds of a crossing with each of the instruments that split it, by the instrument's name."""

    ns: Estimate | None = None
    """Nanoseconds."""

    outliers: Outliers
    """Samples outside the fences."""

    per: Per
    """What one figure stands for."""

    per_counted: str | None = None
    """The key of the proof by whose count the figure was divided, where the count differs from the claim."""

    phases: list[Phase] = field(default_factory=list)
    """The parts that make up the total."""

    probe: str
    """`family/mechanism`, or `null`."""

    proof: dict[str, float]
    """Counts showing that the crossing happened, each per crossing (or per touch, as the key says)."""

    reason: str | None = None
    """Why it was skipped or failed."""

    regression: Regression | None = None
    """How the batches of the run follow the yardsticks beside them."""

    relative: RelativeFigure | None = None
    """The figure relative to work that is the same in every run; absent if no such work explains what the
    batches differ by.
    """

    samples: int
    """How many batches."""

    series: list[Series] = field(default_factory=list)
    """Curves that belong to the figure."""

    single: Single | None = None
    """Crossings timed one at a time."""

    stages: StageDiagram | None = None
    """The way of single instructions through a pipeline."""

    status: Status
    """What became of it."""

    ticks: Estimate | None = None
    """Periods of the time-stamp counter; absent where there is none."""

    warnings: list[Warning]
    """What to know before using the figure."""


@dataclass(frozen=True, kw_only=True)
class Outliers:
    """Samples outside Tukey's fences, counted and kept."""

    high_mild: int
    """Above Q3 + 1.5 IQR."""

    high_severe: int
    """Above Q3 + 3 IQR."""

    low_mild: int
    """Below Q1 - 1.5 IQR."""

    low_severe: int
    """Below Q1 - 3 IQR."""


@dataclass(frozen=True, kw_only=True)
class PairedFigure:
    """What the batches of an epoch gave beside those of the run that it was measured in pairs with."""

    pairs: int
    """How many pairs of batches."""

    ratio: float
    """Time of a batch of this run over that of the other run's batch beside it."""

    spread: float
    """Standard deviation of the logarithm of a single pair's ratio, from the median of its distances."""


@dataclass(frozen=True, kw_only=True)
class PathFound:
    """A function of a program, as it was called."""

    caller: int | None = None
    """The path of its caller, by index: one that comes before it."""

    cycles: int
    """Its own cycles on this path."""

    function: str
    """Its symbol."""


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A named part of a crossing."""

    causes: dict[str, float] = field(default_factory=dict)
    """The phase's cycles by what caused them (`issue`, `i-miss`, `tlb-walk`), where that is known."""

    cycles: Estimate | None = None
    """Core or simulated cycles."""

    evidence: Evidence
    """How it is known."""

    instructions: float | None = None
    """Instructions, where they were counted."""

    name: str
    """The part's name: `entry`, `dispatch`, `refill`."""

    ns: Estimate | None = None
    """Nanoseconds; signed, because a difference is never clamped."""


@dataclass(frozen=True, kw_only=True)
class PhaseCompared:
    """A phase of a trap on a timed core and in the RTL."""

    cold: CyclesCompared
    """The first crossing."""

    name: str
    """Its name."""

    steady: CyclesCompared
    """The warm crossings, all together."""


@dataclass(frozen=True, kw_only=True)
class Pmu:
    """Hardware performance counters."""

    present: bool = False
    """Whether they can be read here."""

    reason: str | None = None
    """Why not."""


@dataclass(frozen=True, kw_only=True)
class RefillFound:
    """What filling caches again after switches costs: contained in the parts of the bill, and known as a
    range only.
    """

    each_ns: tuple[float, float]
    """Nanoseconds after one switch: low and high."""

    misses: int | None = None
    """Loads that missed the first data cache, in the program and the kernel, where the processor counts
    them.
    """

    narrowed_by: str | None = None
    """What limits the range more than the working set: `misses` or `CPU time`."""

    run: str
    """Id of the ring whose fit this is from."""

    switches: int
    """Switches to another task."""

    working_set_bytes: int
    """The size of the working set that costs most."""


@dataclass(frozen=True, kw_only=True)
class Regression:
    """The regression of a probe's batches on the yardsticks beside them, all in logarithms, as the sums
    that a fit needs: those of several runs add up. Only what batches of one run differ by is in it, so
    that what differs between runs cannot be mistaken for what the machine did.
    """

    batches: int
    """Batches that have the yardsticks beside them."""

    deviation: float
    """Standard deviation of what the yardsticks leave of a batch."""

    products: list[float]
    """The same of each yardstick and the probe."""

    square: float
    """The same of the probe with itself."""

    squares: list[list[float]]
    """Weighted sums of the products of two yardsticks, each from its mean; rows and columns in the order
    of the run.
    """


@dataclass(frozen=True, kw_only=True)
class RelativeFigure:
    """The figure beside the yardstick of its run that explains best what its batches differ by."""

    ci: tuple[float, float]
    """Its 95 % interval."""

    left: float
    """What is left of the standard deviation of a batch when that power is taken out, as a share."""

    ratio: float
    """Time of a crossing over that of the yardstick: the median of all epochs."""

    slope: float
    """The power of the yardstick that the probe follows: 1 if both slow down alike."""

    slope_error: float
    """Standard error of the slope, as if batches did not depend on each other."""

    yardstick: str
    """The yardstick, by its name in the run."""


@dataclass(frozen=True, kw_only=True)
class RepeatFound:
    """One of several runs of a program."""

    cpu_seconds: float
    """Seconds of CPU time."""

    elapsed_seconds: float
    """Seconds from its start to its end."""

    signal: int | None = None
    """The signal that killed it."""

    status: int | None = None
    """Exit status; absent when it did not exit by itself."""

    traced: bool = False
    """Whether it was traced: its times are in no median."""


@dataclass(frozen=True, kw_only=True)
class Saving:
    """Something that would save, computed from counts and prices alone."""

    change: str
    """What to change."""

    crossings: int
    """How many crossings would not happen."""

    each_ns: tuple[float, float]
    """What each costs now, in nanoseconds: low and high."""

    instead_ns: float
    """What it costs in the changed way, in nanoseconds."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """One quantity over another: a timeline, a growth curve, a sweep."""

    name: str
    """What it shows: `faults`, `throughput`, `latency`."""

    points: list[tuple[float, float]]
    """The points, in the order of the first number."""

    x_unit: str
    """Unit of the first number of each point."""

    y_unit: str
    """Unit of the second number of each point."""


@dataclass(frozen=True, kw_only=True)
class Single:
    """The distribution of crossings that were timed one at a time, with the cost of the clock pair
    removed.
    """

    count: int
    """How many were timed."""

    max: float
    """Largest, in nanoseconds."""

    mean: float
    """Mean, in nanoseconds."""

    min: float
    """Smallest, in nanoseconds."""

    p10: float
    """10th percentile, in nanoseconds."""

    p50: float
    """Median, in nanoseconds."""

    p90: float
    """90th percentile, in nanoseconds."""

    p99: float
    """99th percentile, in nanoseconds."""

    pair_overhead_error_ns: float
    """Half the width of the 95 % interval of that overhead, in nanoseconds."""

    pair_overhead_ns: float
    """Nanoseconds that the clock pair itself takes and that were subtracted from each."""


@dataclass(frozen=True, kw_only=True)
class StageDiagram:
    """A stretch of a run on a pipelined core."""

    event: int | None = None
    """Index of the row that the diagram is about: what trapped, jumped, was interrupted, or is at the
    symbol.
    """

    first_fetch: int = 0
    """The first row's number in the order of fetching, from the start of the simulation."""

    rows: list[StageRow]
    """The instructions, in the order of fetching."""


@dataclass(frozen=True, kw_only=True)
class StageRow:
    """One instruction on its way."""

    address: str
    """Its address, hexadecimal with `0x`: a number of 64 bits is more than many readers of JSON hold."""

    mode: str
    """The letter of the mode that it runs in: `M`, `S` or `U`."""

    place: str = ''
    """Where it is: `trap_vector+4`. Empty without a symbol."""

    squash: StageSquash | None = None
    """How it was thrown away; absent for an instruction that retired."""

    stages: list[StageSpan]
    """The stages that it entered before it retired or was thrown away, in order."""

    stores: bool = False
    """Whether it stores to memory."""

    text: str
    """The instruction in assembly; empty where its bits are not known."""

    traps: bool = False
    """Whether it is the instruction that raised an exception: it passes through every stage and does not
    retire.
    """

    waits: list[StageSpan] = field(default_factory=list)
    """Cycles in which it did not move, named after the cause; each is within a stage."""


@dataclass(frozen=True, kw_only=True)
class StageSpan:
    """A stretch of cycles with a name."""

    first: int
    """Its first cycle."""

    last: int
    """Its last cycle."""

    name: str
    """A stage (`IF`), or the cause of a wait (`load-use`)."""


@dataclass(frozen=True, kw_only=True)
class StageSquash:
    """Why an instruction that was fetched was thrown away."""

    at: int
    """The first cycle in which it is no longer in the pipeline."""

    by: str
    """What emptied the pipeline: `trap`, `interrupt`, `return`, `branch`, `csr or fence`."""


@dataclass(frozen=True, kw_only=True)
class SweepCurve:
    """Misses over the number of sets, at one length of a line and one number of ways."""

    line: int
    """Bytes of a line."""

    misses: list[tuple[int, int]]
    """Numbers of sets, ascending, each with the misses."""

    ways: int
    """Lines in each set."""


@dataclass(frozen=True, kw_only=True)
class TimingWindows:
    """Calls are counted by their exits, and timed in short windows, so that counting slows the program
    less.
    """

    timed: int
    """Calls that were timed in them."""

    unseen: int
    """Calls between them, which were counted. Their times are estimated from those in the windows."""

    windows: int
    """Windows."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """The program that measured."""

    commit: str
    """Git commit that the binary was built from, `unknown` outside a checkout."""

    version: str
    """Version of the package."""


@dataclass(frozen=True, kw_only=True)
class TypicalFigure:
    """A batch of an epoch as it typically was, with the weights of the regression."""

    ns: float
    """Geometric mean of the batches, in nanoseconds for each crossing."""

    yardsticks: list[float]
    """Geometric mean of what each of the run's yardsticks took beside them, in nanoseconds; in the order
    of the run.
    """


@dataclass(frozen=True, kw_only=True)
class Wait:
    """Cycles of waiting and their cause."""

    cause: str
    """The cause: `d-miss`, `load-use`."""

    cycles: int
    """How many cycles."""


@dataclass(frozen=True, kw_only=True)
class Yardstick:
    """A kind of work that is the same in every run."""

    epochs: list[float | None]
    """For each epoch of the run the headline of this work in nanoseconds, where it was timed."""

    name: str
    """`multiply`, `add`, `l1-walk`, `l2-walk`, `getppid`."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One invocation of the tool and all that it found."""

    checksum: str | None = None
    """CRC-32 of the rest of the document as compact JSON, so that a damaged or edited record is noticed. A
    document without it is read as it is.
    """

    command: list[str]
    """The command line after the program's name."""

    complete: bool
    """False when the run was interrupted or is still going on."""

    host: Host
    """The machine that was measured."""

    id: str
    """Unique name of the run; the store's file name."""

    interleaved_with: str | None = None
    """Id of the run whose batches took turns with those of this one (`tollgate run --against PROGRAM`)."""

    label: str | None = None
    """What its user calls the run (`tollgate show --label NAME RUN`)."""

    results: list[Measurement]
    """One entry for each probe, in the order of the list of probes."""

    same_addresses: bool = False
    """Whether the processes of both were started at the same addresses, without address randomization."""

    schema: Literal["tollgate/2"] = "tollgate/2"
    """Always `tollgate/2`."""

    seed: int
    """Seed of every random choice (the order of the batches)."""

    started: str
    """Start of the run, RFC 3339 in UTC."""

    tool: Tool
    """The program that measured."""

    until: float | None = None
    """The margin of `--until`: each probe was measured until its change was known to be above, below or
    within it.
    """

    warnings: list[Warning]
    """What spoiled the run as a whole."""

    yardsticks: list[Yardstick] = field(default_factory=list)
    """Work that is the same in every run, timed among the batches of the probes: what the machine did to
    the run, it did to this work as well.
    """

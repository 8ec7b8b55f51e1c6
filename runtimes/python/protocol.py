"""Parameters, the course of a measurement, and output."""

import gc
import platform
import resource
import sys
import time

now = time.perf_counter_ns
WINDOW = 8


class Settings:
    """The parameters."""

    def __init__(self, arguments):
        values = dict(argument.split("=", 1) for argument in arguments)
        self.runtime = values.get("runtime", "")
        self.mechanism = values.get("mechanism", "")
        self.tasks = int(values.get("tasks", 2))
        self.batches = int(values.get("batches", 1))
        self.batch = int(values.get("batch", 2))
        self.warm_min = int(values.get("warm_min_ms", 0)) * 1_000_000
        self.warm_max = int(values.get("warm_max_ms", 0)) * 1_000_000
        self.singles = int(values.get("singles", 0))
        if self.tasks < 1 or self.batch < 1 or self.batch % self.tasks:
            leave("fail batch must be a multiple of tasks")


def each(arguments):
    """The parameters of each measurement: a value with commas is a list with one for each."""
    pairs = [argument.partition("=") for argument in arguments]
    lists = [(key, value.split(",")) for key, _, value in pairs]
    most = max((len(values) for _, values in lists), default=1)
    return [
        Settings([f"{key}={values[at if len(values) > 1 else 0]}" for key, values in lists]) for at in range(most)
    ]


def leave(line):
    """Ends the program with one line instead of figures."""
    print(f"tollgate-runtime 1\n{line}\nend", flush=True)
    sys.exit(0)


def resident():
    """Resident bytes of this process."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def kernel_switches():
    """Context switches by the kernel, voluntary or not."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_nvcsw + usage.ru_nivcsw


def course(
    settings, before, resumes, dispatched=None, threads=False, copies=None, versions=(), note=None, other=None, turns=False
):
    """Yields the number of rounds to run next, and times them until it is resumed. Prints everything at the end.

    `before` is the resident size before the tasks were created, `resumes()` the sum of the tasks' counts, and
    `dispatched()` the number of visits of the dispatcher. With `threads` the kernel's count is printed,
    with `copies()` that of texts that were copied on their way. `other()` is a second count of the same resumptions. With
    `turns` it yields 0 before each batch that counts and before it prints: it is the turn of others.
    """
    rounds = settings.batch // settings.tasks
    yield 1
    after = resident()
    gc.collect()
    gc.freeze()
    gc.disable()

    warm, calm, previous, began = 0, 0, None, now()
    while calm < 2 or now() - began < settings.warm_min:
        times = []
        while len(times) < WINDOW and now() - began < settings.warm_max:
            start = now()
            yield rounds
            times.append(now() - start)
        warm += settings.batch * len(times)
        if len(times) < WINDOW:
            break
        calm = calm + 1 if previous and min(times) * 100 >= previous * 98 else 0
        previous = min(times)
    ended = "steady" if calm >= 2 else "limit"

    counters = [resumes, kernel_switches, *(counter or int for counter in (dispatched, copies, other))]
    samples, counts = [0] * settings.batches, [0] * len(counters)
    in_turn = 1 if turns else settings.batches
    for first in range(0, settings.batches, in_turn):
        if turns:
            yield 0
            # The others had the caches.
            yield rounds // 8 + 1
        earlier = [counter() for counter in counters]
        for batch in range(first, first + in_turn):
            start = now()
            yield rounds
            samples[batch] = now() - start
        counts = [count + counter() - before for count, counter, before in zip(counts, counters, earlier)]
    counted, kernel, visits, copied, counted_again = counts
    if other and counted_again != counted:
        leave(f"fail one side counted {counted} calls and the other {counted_again}")
    if turns:
        yield 0

    # One event is a round: reading the clock at each resumption would cost more than some of the switches.
    events = -(-settings.singles // settings.tasks)
    singles, pairs = [0] * events, [0] * events
    for event in range(events):
        start = now()
        pairs[event] = now() - start
    for event in range(events):
        start = now()
        yield 1
        singles[event] = now() - start

    clock = time.get_clock_info("perf_counter")
    runtime = f"{platform.python_implementation()} {platform.python_version()}"
    lines = [
        "tollgate-runtime 1",
        "version " + ", ".join([*versions, runtime, platform.python_compiler()]),
        f"clock {clock.resolution * 1e9:.0f} time.perf_counter_ns ({clock.implementation})",
        f"rss {before} {after}",
        f"warm {warm} {ended}",
        *(f"sample {settings.batch} {sample}" for sample in samples),
        *(f"pair {pair}" for pair in pairs),
        *(f"single {settings.tasks} {single}" for single in singles),
        f"count switches {settings.batch * settings.batches}",
        f"count resumes {counted}",
        *([f"count dispatcher {visits}"] if dispatched else []),
        *([f"count kernel {kernel}"] if threads else []),
        *([f"count copies {copied}"] if copies else []),
        *([f"note {note}"] if note else []),
        "end",
    ]
    print("\n".join(lines), flush=True)

"""Switches of Python itself: generators, asyncio, threads."""

import asyncio
import os
import sys
import threading
from itertools import cycle, islice

from protocol import Settings, course, leave, resident


def generator(settings):
    """Generators, resumed in turn by one loop, which is the dispatcher. Each yields its own count."""

    def numbers():
        resumes = 0
        while True:
            resumes += 1
            yield resumes

    before = resident()
    generators = [numbers() for _ in range(settings.tasks)]
    counts, visits = [], 0
    measured = course(settings, before, lambda: sum(counts), lambda: visits)
    for rounds in measured:
        for task in islice(cycle(generators), (rounds - 1) * settings.tasks):
            next(task)
        counts = [next(task) for task in generators]
        visits += rounds * settings.tasks


class CountingLoop(asyncio.SelectorEventLoop):
    """An event loop that counts its turns; each looks for input and then runs all that is ready."""

    turns = 0

    def _run_once(self):
        self.turns += 1
        super()._run_once()


def in_loop(measure):
    """Runs a measurement as the first task of a counting event loop."""

    def run(settings):
        loop = CountingLoop()
        loop.run_until_complete(measure(settings, loop))
        finish()

    return run


@in_loop
async def asyncio_sleep(settings, loop):
    """Tasks that each return to the loop by `await sleep(0)`."""

    async def body(task):
        while True:
            resumes[task] += 1
            await asyncio.sleep(0)

    before = resident()
    resumes = [0] * settings.tasks
    tasks = [loop.create_task(body(task)) for task in range(1, settings.tasks)]
    for rounds in course(settings, before, lambda: sum(resumes), lambda: loop.turns, note=f"{len(tasks)} tasks and main"):
        for _ in range(rounds):
            await asyncio.sleep(0)
            resumes[0] += 1


@in_loop
async def asyncio_future(settings, loop):
    """Task i waits for its future and completes that of task i + 1."""

    async def body(task):
        while True:
            await futures[task]
            resumes[task] += 1
            futures[task] = loop.create_future()
            futures[(task + 1) % settings.tasks].set_result(None)

    before = resident()
    resumes = [0] * settings.tasks
    futures = [loop.create_future() for _ in range(settings.tasks)]
    tasks = [loop.create_task(body(task)) for task in range(1, settings.tasks)]
    for rounds in course(settings, before, lambda: sum(resumes), lambda: loop.turns, note=f"{len(tasks)} tasks and main"):
        for _ in range(rounds):
            futures[1].set_result(None)
            await futures[0]
            resumes[0] += 1
            futures[0] = loop.create_future()


def thread(settings):
    """Threads that each wait for a lock which the thread before releases."""

    def body(task):
        mine, following = locks[task], locks[(task + 1) % settings.tasks]
        while True:
            mine.acquire()
            resumes[task] += 1
            following.release()

    before = resident()
    resumes = [0] * settings.tasks
    locks = [threading.Lock() for _ in range(settings.tasks)]
    for lock in locks:
        lock.acquire()
    threading.stack_size(128 * 1024)
    for task in range(1, settings.tasks):
        try:
            threading.Thread(target=body, args=(task,), daemon=True).start()
        except RuntimeError as error:
            leave(f"fail thread {task}: {error}")
    for rounds in course(settings, before, lambda: sum(resumes), threads=True, note="stacks of 128 KiB"):
        for _ in range(rounds):
            locks[1].release()
            locks[0].acquire()
            resumes[0] += 1
    finish()


def finish():
    """Exits without waiting for tasks that never end."""
    sys.stdout.flush()
    os._exit(0)


MECHANISMS = {
    "generator": generator,
    "asyncio-sleep": asyncio_sleep,
    "asyncio-future": asyncio_future,
    "threading": thread,
}

if __name__ == "__main__":
    asked = Settings(sys.argv[1:])
    if asked.mechanism not in MECHANISMS:
        leave(f"fail unknown mechanism: {asked.mechanism}")
    MECHANISMS[asked.mechanism](asked)

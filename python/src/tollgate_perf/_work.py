"""The engine of a sweep: which points are left, what is under way, and what came out."""

from __future__ import annotations

import collections
import concurrent.futures
import queue
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tollgate_perf import _program, _remote, _store
from tollgate_perf._errors import Error, UsageError
from tollgate_perf._space import Point, arguments

BATCH_S = 1.0
"""How long a task is meant to last: far above the millisecond that a scheduler takes for it, and little to lose."""
PATIENCE_S = 3600.0
"""How long a measurement waits for others on its host."""
GONE, GONE_S = "the scheduler went away", 15.0
"""How long a client may be without its scheduler."""
DESERTED, DESERTED_S = "the cluster has no workers", 300.0
"""How long a cluster may be without workers: one that grows by itself takes minutes to start the first of them."""
LOOK_S = 1.0
"""How often the scheduler is looked at, and progress is shown."""
LOOK_UP = 100
"""How many points are looked up in the store before answers are received again: a few milliseconds."""


@dataclass
class Lane:
    """Where points are computed, and how many batches at once."""

    submit: Callable[..., Any]
    width: int
    name: str = ""
    host: str | None = None
    """The host that is measured, if one is."""
    close: Callable[[], None] = lambda: None
    release: Callable[[Any], None] = lambda _future: None
    """Says that an answer has been received: a cluster computes what it still holds again if its worker dies."""
    left: collections.deque[int] = field(default_factory=collections.deque)
    flying: dict[Any, list[int]] = field(default_factory=dict)
    suspects: collections.deque[int] = field(default_factory=collections.deque)
    """Points of tasks that ended their worker, or were on it when another one did: each is tried again by itself."""


class Work:
    """Computes points in lanes, and keeps each in the store as soon as it is finished."""

    def __init__(
        self, call: Callable[..., Any], points: list[Point], store: _store.Store, lanes: list[Lane], timeout: float
    ) -> None:
        """Takes the points of all lanes: those of the first one first."""
        self.call, self.points, self.store, self.lanes, self.timeout = call, points, store, lanes, timeout
        self.owner = uuid.uuid4().hex
        self._function = _store.identity(call)
        self.outcomes: dict[int, tuple[bytes | None, str | None]] = {}
        self.computed, self.busy_s = 0, 0.0
        self._answers: queue.SimpleQueue[tuple[Lane, Any, bool] | None] = queue.SimpleQueue()
        self._keys: dict[int, str] = {}
        # Points with the same answer. The first of them is computed.
        self._same: dict[str, list[int]] = collections.defaultdict(list)
        self._each_s: float | None = None
        self._is_stopped = False

    def run(self, show: Callable[[float, str], None] | None, wrong: Callable[[], str | None], stop: Callable[[], None]) -> None:
        """Computes what the store does not have.

        `wrong` says why nothing can be computed, for as long as that is so. `stop` ends what is being computed.
        """
        # Ctrl-C is raised in the caller's thread. In a thread of its own, the engine stores each result that it has received.
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            try:
                engine = pool.submit(self._compute)
                self._watch(engine, show, wrong)
            except BaseException:
                self._is_stopped = True
                self._answers.put(None)
                try:
                    stop()
                    concurrent.futures.wait([engine], _program.GRACE_S)
                finally:
                    # A cluster that has lost its workers never answers.
                    for future in [it for lane in self.lanes for it in list(lane.flying)]:
                        future.cancel()
                raise

    def _watch(
        self, engine: concurrent.futures.Future[None], show: Callable[[float, str], None] | None, wrong: Callable[[], str | None]
    ) -> None:
        """Waits for the engine."""
        total, since = len(self.points), time.monotonic()
        while not concurrent.futures.wait([engine], LOOK_S).done:
            if show:
                show(len(self.outcomes) / total, f"{len(self.outcomes):,} of {total:,} points")
            now, why = time.monotonic(), wrong()
            since = since if why else now
            if why and now - since > (GONE_S if why == GONE else DESERTED_S):
                done = f"{len(self.outcomes):,} of {total:,} points are finished"
                raise Error(f"{why}; {done}, and the same sweep computes the others")
        if show:
            show(1.0, "")
        engine.result()

    def _compute(self) -> None:
        # Points are looked up while others are computed already.
        fresh = collections.deque(range(len(self.points)))
        while not self._is_stopped and (fresh or self._is_flying() or any(lane.left or lane.suspects for lane in self.lanes)):
            for _ in range(min(LOOK_UP, len(fresh))):
                self._look_up(fresh.popleft())
            for lane in self.lanes:
                while lane.left and len(lane.flying) < lane.width:
                    self._submit(lane, [lane.left.popleft() for _ in range(self._size(lane))])
                if lane.suspects and not lane.flying:
                    self._submit(lane, [lane.suspects.popleft()], is_alone=True)
            if self._is_flying():
                self._receive(is_patient=not fresh)
        while self._is_flying():
            self._receive(is_patient=True)

    def _is_flying(self) -> bool:
        return any(lane.flying for lane in self.lanes)

    def _look_up(self, number: int) -> None:
        """Takes a point from the store, or gives it to its lane."""
        lane = self.lanes[number * len(self.lanes) // len(self.points)]
        try:
            given = arguments(self._given(lane, number))
            key = self._keys[number] = _store.key(self._function, given, lane.host)
        except (UsageError, TypeError) as error:
            self.outcomes[number] = (None, str(error))
            return
        same = self._same[key]
        same.append(number)
        if same[0] != number:
            if same[0] in self.outcomes:
                self.outcomes[number] = self.outcomes[same[0]]
            return
        kept = self.store.get(key)
        if kept is None:
            lane.left.append(number)
        else:
            self.outcomes[number] = (kept, None)

    def _given(self, lane: Lane, number: int) -> Point:
        """A point without the host on which it is measured."""
        return {key: it for key, it in self.points[number].items() if not (lane.host and key == "host")}

    def _size(self, lane: Lane) -> int:
        """How many points make a task, so that every place has some of the last ones."""
        wanted = 1 if self._each_s is None or lane.host else BATCH_S / max(self._each_s, 1e-6)
        fair = len(lane.left) / (2 * lane.width)
        return max(1, min(int(wanted), int(fair) + 1, len(lane.left)))

    def _submit(self, lane: Lane, numbers: list[int], *, is_alone: bool = False) -> None:
        several = [(it, self._given(lane, it)) for it in numbers]
        order = _remote.Order(self.call, _store.tool(), self.timeout, lane.host, PATIENCE_S, self.owner)
        future = lane.submit(_remote.batch, order, several)
        lane.flying[future] = numbers
        future.add_done_callback(lambda done: self._answers.put((lane, done, is_alone)))

    def _receive(self, *, is_patient: bool) -> None:
        try:
            answer = self._answers.get(block=is_patient)
        except queue.Empty:
            return
        if answer is None:
            return
        lane, future, is_alone = answer
        try:
            # This may wait for a worker: the answer of one that died is computed again.
            outcomes, seconds = future.result()
        except Exception as error:
            numbers = lane.flying.pop(future)
            if not is_alone:
                lane.suspects.extend(numbers)
            else:
                why = f"{type(error).__name__}: {error}".partition("\n")[0]
                self._finish([(number, None, why) for number in numbers])
            return
        del lane.flying[future]
        lane.release(future)
        self.busy_s += seconds
        self.computed += sum(1 for _, rows, _ in outcomes if rows is not None)
        each = seconds / max(1, len(outcomes))
        self._each_s = each if self._each_s is None else 0.7 * self._each_s + 0.3 * each
        self._finish(outcomes)

    def _finish(self, outcomes: list[_remote.Outcome]) -> None:
        for number, rows, why in outcomes:
            key = self._keys[number]
            if rows is not None:
                self.store.put(key, rows)
            for same in self._same[key]:
                self.outcomes[same] = (rows, why)

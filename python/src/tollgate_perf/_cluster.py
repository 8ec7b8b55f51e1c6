"""A Dask cluster of this machine that leaves its CPUs to the points."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tollgate_perf._errors import MissingPackage, UsageError

if TYPE_CHECKING:
    import distributed

SELDOM: dict[str, Any] = {
    # An idle cluster of two workers: with Dask's own settings 10 % of a CPU, with these less than 2 %.
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
    # A stack of each worker, 100 times a second.
    "distributed.worker.profile.enabled": False,
}
"""How often Dask looks at itself: by default up to 100 times a second, which two workers on two CPUs pay for."""


def cluster(workers: int | None = None) -> distributed.LocalCluster:
    """A Dask cluster of this machine: so many processes, by default one for each CPU, with one thread each.

    Functions that compute in Python need processes: without a client a sweep has threads, which take turns. Dask's
    dashboard and its profiler are off, and it looks at its workers once a second or less: with its own settings
    this takes about 5 % of a CPU for each worker, also while they compute.

    >>> with tollgate_perf.cluster(2) as cluster, cluster.get_client() as client:
    ...     tollgate_perf.sweep({"core": "rocket", "iterations": [20, 40]}, client=client, store="designs")
    <tollgate_perf.Sweep: 2 points: 2 computed, 0 from the store, 0 failed>
    """
    if workers is not None and workers < 1:
        raise UsageError(f"{workers} workers compute nothing: give at least 1, or leave it out for all CPUs")
    try:
        import dask
        import distributed
    except ImportError as error:
        raise MissingPackage("distributed", "dask") from error
    # Workers are processes, and one that dies is started anew: they take the settings from `config`.
    with dask.config.set(SELDOM):
        return distributed.LocalCluster(
            n_workers=workers or len(os.sched_getaffinity(0)),
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            silence_logs="CRITICAL",
            config=SELDOM,
        )

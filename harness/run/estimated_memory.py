# SPDX-License-Identifier: Apache-2.0
"""Estimated memory of a run in virtual time, from its plan, and the available memory of this machine.

The factors are fitted to measured runs, listed in docs/testbeds/performance.md. An estimate includes the
report and is accurate to about a fifth, enough to refuse a run that does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from emulation.errors import MachineError
from emulation.traffic.graph.truth import moves_inputs_only
from emulation.traffic.schedule.data import checked_by_sum, stays
from harness.run.planning.job_plan import JobPlan
from harness.run.prepare import Prepared
from harness.scenario.schema import ELEMENT_BYTES

__all__ = [
    "available_bytes",
    "check_memory",
    "check_processes",
    "estimated_bytes",
    "in_words",
    "whole_bytes",
]

_MB = 1 << 20

# Files with the limit and the use of memory of a control group, for cgroup v2 and v1.
_GROUP = Path("/sys/fs/cgroup")
_GROUP_LIMITS = (
    ("memory.max", "memory.current"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
)

# Bytes of a process before it plans; bytes of a planned table entry with its share of the paths.
_PROCESS, _PLANNED = 80 * _MB, 500
# Bytes of a run beside its plan: modules, and figures of the report.
_BASE = 120 * _MB
# Bytes per node (its switch, agent and P4Runtime client), per link and per table entry.
_NODE, _LINK, _ENTRY = 100 << 10, 4 << 10, 160
# Copies of every array in memory beside the input.
# A collective has four: of the agent, the result, the expected array and its check. If a single sum checks
# all arrays, it has the agent's copy only, into which the input is drawn.
# A traffic graph makes its inputs again whenever they are read. It has two copies, or the agent's only if its
# operations move inputs without adding, because the expected arrays are not kept then.
_ARRAYS, _SUMMED_ARRAYS, _GRAPH_ARRAYS, _MOVED_ARRAYS = 4, 1, 2, 1
# Bytes per operation of a graph, with its tasks, plans, connection and reports; bytes per frame in flight,
# whose payload stays in the sender's array.
_OPERATION, _FRAME = 16 << 10, 640


def whole_bytes(prepared: Sequence[Prepared]) -> int:
    """Return the peak memory in bytes of a process that only plans and runs these variants."""
    plans = {id(ready.plan): ready for ready in prepared}.values()
    return _PROCESS + _PLANNED * sum(map(_entries, plans)) + estimated_bytes(prepared)


def estimated_bytes(prepared: Sequence[Prepared]) -> int:
    """Return the peak memory in bytes that running these planned variants adds to the process."""
    return max(_variant_bytes(ready) for ready in prepared)


def _variant_bytes(ready: Prepared) -> int:
    fabric = ready.fabric
    return (
        _BASE
        + _NODE * len(fabric.nodes)
        + _LINK * len(fabric.links)
        + _ENTRY * _entries(ready)
        + sum(_job_bytes(job, ready.transport.window) for job in ready.jobs)
    )


def _job_bytes(job: JobPlan, window: int) -> int:
    arrays = job.elements * ELEMENT_BYTES
    if job.graph is None:
        summed = job.rhythm is None and checked_by_sum(job.sliced, job.collective.dtype)
        return (_SUMMED_ARRAYS if summed else _ARRAYS + stays(arrays)) * arrays
    operations = [operation for lowered in job.graph.jobs for operation in lowered.job.graph.operations]
    copies = _MOVED_ARRAYS if moves_inputs_only(job.graph) else _GRAPH_ARRAYS
    # Sends without predecessors may all be in flight at once, each with a window of frames.
    payload = job.collective.payload_bytes
    frames = sum(min(-(-o.size // payload), window) for o in operations if o.kind == "send" and not o.after)
    return copies * arrays + _OPERATION * len(operations) + _FRAME * frames


def _entries(ready: Prepared) -> int:
    return sum(map(len, ready.plan.entries.values()))


def available_bytes() -> int:
    """Return the bytes of memory that this process can still get; 0 if the system does not report them.

    They are the free memory of the machine, or of the process's control group if that is less.
    """
    free = _field(Path("/proc/meminfo"), "MemAvailable:")
    for limit, used in _GROUP_LIMITS:
        try:
            left = int((_GROUP / limit).read_text()) - int((_GROUP / used).read_text())
        except (OSError, ValueError):  # the control group does not exist, or its limit is `max`
            continue
        free = min(free, max(0, left)) if free else left
    return free


def check_memory(prepared: Sequence[Prepared]) -> None:
    """Raise a MachineError if this machine lacks memory for a run of the variants."""
    more, free = estimated_bytes(prepared), available_bytes()
    if free and more > free:
        raise MachineError(
            f"the run needs about {in_words(more)} of memory, and this machine has {in_words(free)}",
            remedy="use a smaller fabric or array, or a machine with more memory",
        )


def check_processes(each: int, processes: int) -> None:
    """Raise a MachineError if this machine lacks the memory for `processes` processes of `each` bytes."""
    free = available_bytes()
    if free and each * processes > free:
        fit = free // each if each else 0
        raise MachineError(
            f"{processes} processes need about {in_words(each)} of memory each, and this machine has "
            f"{in_words(free)}",
            remedy=f"give --jobs {fit}" if fit else "use a smaller fabric or array",
        )


def in_words(size: int) -> str:
    """Return a size in bytes as text: in MB, or in GB from 10,000 MB on."""
    return f"{size / 10**6:,.0f} MB" if size < 10**10 else f"{size / 10**9:,.1f} GB"


def _field(path: Path, name: str) -> int:
    try:
        line = next(line for line in path.read_text().splitlines() if line.startswith(name))
    except (OSError, StopIteration):
        return 0
    return int(line.split()[1]) << 10

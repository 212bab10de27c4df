# SPDX-License-Identifier: Apache-2.0
"""Convert the jobs of a variant to Chakra traces, with the times of its run."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from emulation.traffic.graph.of_schedule import graph_of_schedule
from emulation.traffic.graph.operations import Graph
from harness.errors import FormatError
from harness.formats.chakra.write import Times, to_traces
from harness.run.planning.job_plan import JobPlan

__all__ = ["traces_of"]

_PS_PER_US = 10**6


def traces_of(
    plans: Sequence[JobPlan], variant: str, results: Mapping[str, Any]
) -> tuple[dict[int, list[bytes]], list[str]]:
    """Return the protobuf messages of each rank's trace, and sentences on information the traces lack.

    If all members are called npuR, R is the rank of a member; otherwise its index among all members.

    `results` is the content of result.json of the variant's run; it is empty for traces without times.

    Raises:
        FormatError: The variant has no jobs, or the results are of another scenario.
    """
    if not plans:
        raise FormatError(
            f"variant {variant} has no job", remedy="name a variant with a collective or a graph"
        )
    graphs = [pair for plan in plans for pair in _graphs(plan)]
    members = [name for plan in plans for name in plan.members]
    times = _times(results, variant)
    known = {(name, operation.id) for name, graph in graphs for operation in graph.operations}
    if missing := sorted(set(times) - known):
        raise FormatError(
            f"the results of variant {variant} have an operation {missing[0][1]!r}, which the scenario lacks",
            remedy="run the scenario again",
        )
    return to_traces(graphs, _ranks(members), times), [*_notes(plans, graphs, results, times)]


def _graphs(plan: JobPlan) -> list[tuple[str, Graph]]:
    if plan.graph is not None:
        return [(lowered.job.name, lowered.job.graph) for lowered in plan.graph.jobs]
    return [(plan.name, graph_of_schedule(plan.sliced.schedule, plan.members))]


def _ranks(members: Sequence[str]) -> dict[str, int]:
    if all(re.fullmatch(r"npu\d+", name) for name in members):
        return {name: int(name.removeprefix("npu")) for name in members}
    return {name: rank for rank, name in enumerate(members)}


def _times(results: Mapping[str, Any], variant: str) -> Times:
    rows = results.get("operations", {}).get(variant, ())
    return {(row["job"], row["id"]): (_ps(row["begin_us"]), _ps(row["end_us"])) for row in rows}


def _ps(time_us: float | None) -> int | None:
    return None if time_us is None else round(time_us * _PS_PER_US)


def _notes(
    plans: Sequence[JobPlan], graphs: Sequence[tuple[str, Graph]], results: Mapping[str, Any], times: Times
) -> list[str]:
    notes = []
    if results and not times:
        notes.append("The results have times for traffic graphs only, not for the sends of a collective.")
    if any(plan.rhythm for plan in plans):
        notes.append("Of a job with iterations, a single iteration is written.")
    operations = [operation for _, graph in graphs for operation in graph.operations]
    if not times and (
        any(operation.at_ps or operation.delay_ps for operation in operations)
        or any(plan.begin_ps for plan in plans)
    ):
        notes.append(
            "Chakra has no attribute for the earliest begin of a node: at_us and delay_us are left out."
        )
    return notes

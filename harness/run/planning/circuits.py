# SPDX-License-Identifier: Apache-2.0
"""Checks of a variant whose optical circuits follow its jobs."""

from __future__ import annotations

from controller.circuits.transition import pod_traffic, unserved_pods
from controller.errors import PlanError
from harness.errors import ScenarioError
from harness.run.planning.job_plan import JobPlan
from harness.scenario.document import Location
from harness.scenario.loader import Lines
from harness.scenario.schema import Variant
from topologies import Fabric
from topologies.families.lumos.core import core_of

__all__ = ["check_demands", "check_settings"]


def check_settings(fabric: Fabric, variant: Variant) -> None:
    """Raise a ScenarioError if circuits cannot be allocated per job in this variant."""
    if core_of(fabric).wiring == "uniform":
        raise ScenarioError(
            "`circuits: per-job` needs another wiring than uniform, which has no circuits for some demands",
            remedy="give the topology another wiring, or leave out `circuits: per-job`",
        )
    if variant.routing.peers != "job":
        raise ScenarioError(
            "`circuits: per-job` leaves pairs that no job uses without a path, which `routing:` plans",
            remedy="write `routing: {peers: job}`",
        )


def check_demands(
    with_line: Lines, at: Location, fabric: Fabric, variant: Variant, jobs: tuple[JobPlan, ...]
) -> None:
    """Raise a ScenarioError, with the job's line, if circuits cannot serve a job even when it runs alone."""
    for number, job in enumerate(jobs):
        line = (*at, "jobs", number, "collective") if variant.jobs else (*at, "collective")
        with_line(line, _allocate, fabric, job)


def _allocate(fabric: Fabric, job: JobPlan) -> None:
    try:
        unserved_pods(fabric, pod_traffic(fabric, job.demand))
    except PlanError as ex:
        raise PlanError(
            f"circuits cannot serve the job {job.name}: {ex.message}",
            remedy="give the job members in fewer Pods or leaves, or the topology more ports",
        ) from ex

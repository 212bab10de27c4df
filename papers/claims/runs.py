# SPDX-License-Identifier: Apache-2.0
"""Packet-level runs for claims on the embedded testbed: scenarios of the experiments, or scenario texts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from ruamel.yaml import YAML

from emulation.testbed import Testbed
from harness.files import EXPERIMENTS
from harness.run.observation.values import Observation
from harness.run.prepare import Prepared, prepare
from harness.run.runner import observe
from harness.scenario.document import Document
from harness.scenario.loader import load, read
from harness.scenario.schema import Scenario
from papers.claims import Progress
from topologies.errors import RailyardError

__all__ = ["Runs", "observed", "ran", "right"]

Runs: TypeAlias = "Mapping[str, tuple[Prepared, Observation]]"
"""Each variant's prepared run and its observation, by the variant's name."""


def observed(
    file: str,
    note: Progress,
    names: Collection[str] = (),
    domains: int | None = None,
    collective: Mapping[str, Any] | None = None,
) -> Runs:
    """Run variants of a scenario of the experiments, and return their observations.

    Args:
        file: scenario below `experiments/`.
        note: called with the progress.
        names: variants to run; all if empty.
        domains: number of domains of the fabric; None keeps the file's number.
        collective: new values for keys of the collective, in all variants.
    """
    scenario, document = load(EXPERIMENTS / file)
    chosen = tuple(
        variant.model_copy(
            update={"collective": variant.collective.model_copy(update=dict(collective or {}))}
        )
        for variant in scenario.variants
        if not names or variant.name in names
    )
    topology = scenario.topology
    if domains is not None:
        topology = topology.resized(topology.name, domains=domains)
    return _runs(scenario.model_copy(update={"topology": topology, "variants": chosen}), document, note)


def ran(
    text: str, note: Progress = lambda what, share: None, look: Callable[[Testbed], None] | None = None
) -> Runs:
    """Run the variants of a scenario given as YAML text, in which `name` may be missing.

    `look` is called with each variant's testbed before virtual time starts, `note` with the progress.
    """
    values = YAML(typ="safe", pure=True).load(text)
    return _runs(*read(Document.of_values({"name": "claim", **values})), note, look)


def _runs(
    scenario: Scenario, document: Document, note: Progress, look: Callable[[Testbed], None] | None = None
) -> Runs:
    note("planning", 0.0)
    ready = prepare(scenario, document)
    seen = {}
    for number, item in enumerate(ready):
        note(f"running {item.variant.label}", number / len(ready))
        seen[item.variant.name] = item, observe(item, scenario.seed, look)
    return seen


def right(ready: Prepared, seen: Observation) -> Observation:
    """Return the observation if the run's data are right.

    Raises:
        RailyardError: An array is wrong; the message names the first.
    """
    if seen.correct_nodes != seen.nodes:
        raise RailyardError(
            f"{ready.variant.label}: only {seen.correct_nodes} of {seen.nodes} arrays are right: "
            f"{seen.first_wrong}",
            remedy="correct the scenario; figures are taken only from runs with right data",
        )
    return seen

# SPDX-License-Identifier: Apache-2.0
"""LumosCore after losses of light: demands realised on the working ports, computed and on the emulator."""

from __future__ import annotations

import numpy as np

from controller.circuits import allocate, allocate_available, fill_unused_ports
from controller.circuits.demand import trim_demand
from emulation.control.reconfiguration_record import ReconfigurationRecord
from papers.claims import Measured, Progress, Values
from papers.claims.runs import observed
from papers.lumoscore.figures.circuits import SEED
from papers.lumoscore.load import feasible, full

_SCENARIO = "15_circuits/faults.yaml"

_KINDS = {"pairs": "pairs of optical switches", "spine": "a spine", "ports": "one port in twenty"}


def run_left(note: Progress, draws: int = 150, *, trimmed: bool = True, keep: bool = True) -> Values:
    """Measure the share of circuits realised after failures, for random demands on all ports.

    Pairs of optical switches, one spine's links to a Pod, or single ports fail.

    Args:
        draws: number of draws; a fifth as many for single ports.
        trimmed: compare with the demand that the working ports can serve, instead of the whole demand.
        keep: plan again from the plan after the failure, instead of from the plan before.
    """
    rng = np.random.default_rng(SEED + 20)
    result: dict[str, Measured] = {}
    for index, (name, words) in enumerate(_KINDS.items()):
        whole = asked = created = moved = 0
        single = name == "ports"
        some = max(draws // 5, 1) if single else draws
        for draw in range(some):
            note(words, (index + draw / some) / len(_KINDS))
            pods, spines = int(rng.integers(3, 6 if single else 9)), int(rng.integers(2, 5))
            ports = 2 * int(rng.integers(2, 4 if single else 5))
            before = fill_unused_ports(allocate(feasible(rng, pods, spines * ports), spines, ports))
            demand = full(rng, pods, spines * ports)
            working = np.ones((spines, ports // 2, pods, 2), bool)
            if name == "pairs":
                working[rng.random((spines, ports // 2)) < 0.25] = False
            elif name == "spine":
                working[int(rng.integers(spines)), :, int(rng.integers(pods))] = False
            else:
                working = rng.random(working.shape) >= 0.05
            fits = trim_demand(demand, working.sum(axis=(0, 1, 3)), demand)
            plan = allocate_available(demand, before, working)
            whole += bool((plan.counts.sum(axis=0) == fits).all())
            asked += int((fits if trimmed else demand).sum()) // 2
            created += plan.total
            again = allocate_available(demand, plan if keep else before, working)
            moved += again.moves.removed + again.moves.added
        result[name] = Measured(100 * created / asked, detail=f"{whole} of {some} demands whole")
        result[f"{name}-stay"] = Measured(moved, detail=f"of {created:,}")
    return result


def run_light(note: Progress, other: str = "") -> Values:
    """Count the circuits missing after the faults of experiment 15; `other`: variant read for all faults."""
    runs = observed(_SCENARIO, note)
    seen = {name: run for name, (_, run) in runs.items()}

    def change(name: str, why: str = "no light") -> Measured:
        changes = seen[other or name].reconfigurations
        return _missing(next(item for item in changes if item.why.startswith(why)))

    second = next(job for job in seen["port"].jobs if job.name == "two")
    correct = sum(item.correct_nodes for item in seen.values())
    arrays = sum(item.nodes for item in seen.values())
    return {
        "right": Measured(100 * correct / arrays, detail=f"{correct} of {arrays}"),
        "port": change("port"),
        "again": second.retransmitted,
        "pair": change("switch"),
        "back": change("spine") if other else change("switch", "light again"),
        "spine": change("spine"),
    }


def _missing(change: ReconfigurationRecord) -> Measured:
    """Return the number of circuits that jobs lack after a change."""
    took = f"{len(change.created)} made in {(change.stands_ps - change.at_ps) / 10**6:g} µs"
    lacks = ", ".join(map(str, change.lacks)) or "none"
    return Measured(sum(lack.wanted - lack.has for lack in change.lacks), detail=f"{lacks}; {took}")

# SPDX-License-Identifier: Apache-2.0
"""LumosCore when light goes: demands realised on what is left, on arrays and under jobs on the emulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from papers.claims import Progress
from papers.claims.findings import Finding, FindingsCheck
from papers.claims.runs import observed
from papers.lumoscore.claims.circuits import DERIVED, SEED, TARGET, holds, of

if TYPE_CHECKING:
    from emulation.control.rewiring_record import RewiringRecord
    from lab.run.observation import Observation

__all__ = ["CHECKS", "run_left", "run_light"]

_SCENARIO = "15_circuits/faults.yaml"

_ONE_PORT = (
    "A circuit needs an even and an odd port of one pair of switches: ports may be left that match no other,"
    " and with single ports gone it is NP-complete to tell which demands fit"
)


def run_left(note: Progress, draws: int = 150) -> Sequence[Finding]:
    """Random demands for every port, then pairs of switches, spines or single ports fail."""
    import numpy as np

    from controller.circuits import allocate, allocate_available, fill_unused_ports
    from controller.circuits.demand import trim_demand
    from papers.lumoscore.load import feasible, full

    rng = np.random.default_rng(SEED + 20)
    result: list[Finding] = []
    kinds = ("pairs of optical switches", "a spine", "one port in twenty")
    for place, kind in enumerate(kinds):
        whole = asked = created = kept = could = 0
        single = place == 2
        some = max(draws // 5, 1) if single else draws
        for draw in range(some):
            note(kind, (place + draw / some) / len(kinds))
            pods, spines = int(rng.integers(3, 6 if single else 9)), int(rng.integers(2, 5))
            ports = 2 * int(rng.integers(2, 4 if single else 5))
            before = fill_unused_ports(allocate(feasible(rng, pods, spines * ports), spines, ports))
            demand = full(rng, pods, spines * ports)
            working = np.ones((spines, ports // 2, pods, 2), bool)
            if place == 0:
                working[rng.random((spines, ports // 2)) < 0.25] = False
            elif place == 1:
                working[int(rng.integers(spines)), :, int(rng.integers(pods))] = False
            else:
                working = rng.random(working.shape) >= 0.05
            fits = trim_demand(demand, working.sum(axis=(0, 1, 3)), demand)
            plan = allocate_available(demand, before, working)
            whole += bool((plan.counts.sum(axis=0) == fits).all())
            asked, created = asked + int(fits.sum()) // 2, created + plan.total
            again = allocate_available(demand, plan, working)
            kept, could = kept + again.moves.kept, could + plan.total
        result.append(
            Finding(
                f"every port asked for, {kind} gone: circuits of what the ports left suffice for",
                DERIVED,
                "some less" if single else "all",
                f"{100 * created / asked:.2f} %; {of(whole, some)} demands whole",
                "not judged" if single else holds(whole == some),
                _ONE_PORT if single else "",
            )
        )
        result.append(
            Finding(
                f"the same asked for again, {kind} gone: circuits that stay",
                TARGET,
                "all",
                f"{kept:,} of {could:,}",
                holds(kept == could),
            )
        )
    return tuple(result)


def run_light(note: Progress) -> Sequence[Finding]:
    """Experiment 15's faults: what fails under two jobs, what is made of it, and what is said."""
    runs = observed(_SCENARIO, note)
    well, port, switch, spine = (runs[name][1] for name in ("well", "port", "switch", "spine"))
    removed, lost, half = (_change(item, "no light") for item in (port, switch, spine))
    back = _change(switch, "light again")
    other = next(job for job in port.jobs if job.name == "two")
    right = [(item.correct_nodes, item.nodes) for item in (well, port, switch, spine)]
    return (
        Finding(
            "an OCS port, a pair of OCS, a spine fail under two jobs: arrays that are right",
            TARGET,
            "all",
            f"{sum(some for some, _ in right)} of {sum(every for _, every in right)}",
            holds(all(some == every for some, every in right)),
        ),
        Finding(
            "an OCS port fails whose Pod has others: circuits that jobs lack after the change",
            TARGET,
            "none",
            f"{_words(removed)}; the other job sent {other.retransmitted} frames again",
            holds(not removed.lacks and not other.retransmitted),
        ),
        Finding(
            "a pair of OCS fails, two of eight ports of each Pod: circuits that jobs lack",
            DERIVED,
            "2, named",
            _words(lost),
            holds(_missing(lost) == 2),
        ),
        Finding("the same when it is back", TARGET, "none", _words(back), holds(not back.lacks)),
        Finding(
            "a spine of the Pod that needs both fails: circuits that jobs lack",
            DERIVED,
            "4, named",
            _words(half),
            holds(_missing(half) == 4),
        ),
    )


def _change(seen: Observation, why: str) -> RewiringRecord:
    return next(item for item in seen.rewired if item.why.startswith(why))


def _missing(change: RewiringRecord) -> int:
    return sum(lack.wanted - lack.has for lack in change.lacks)


def _words(change: RewiringRecord) -> str:
    took = f"{len(change.made)} made in {(change.stands_ps - change.at_ps) / 10**6:g} µs"
    return f"{', '.join(map(str, change.lacks)) or 'none'}; {took}"


CHECKS = (
    FindingsCheck(
        "left", "lumoscore", "Demands on what is left when ports, switches or spines fail", run_left
    ),
    FindingsCheck("light", "lumoscore", "Light goes under running jobs", run_light),
)

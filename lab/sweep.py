"""One variant run once for every link of the fabric, that link failing in place of the scenario's."""

from __future__ import annotations

import json
import multiprocessing
import signal
from collections.abc import Generator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import final

from emulation.errors import EmulationError
from lab.document import Document
from lab.errors import ScenarioError
from lab.loader import load
from lab.prepare import Prepared, prepare
from lab.scenario import Fault, Scenario, Variant
from topologies import RailyardError

__all__ = ["Cut", "Sweep", "cuts", "plan_sweep", "to_json"]


@final
@dataclass(frozen=True, slots=True)
class Cut:
    """What became of the run in which `link` failed; `trouble` is empty when all went well."""

    link: str
    right: bool
    completion_us: float
    convergence_us: float
    retransmitted_frames: int
    trouble: str


@final
@dataclass(frozen=True, slots=True)
class Sweep:
    """What is to be run: `links` in the fabric's order."""

    path: Path
    variant: str
    seed: int
    links: tuple[str, ...]


def plan_sweep(path: Path, variant: str | None, seed: int | None) -> tuple[Scenario, Sweep]:
    """Check everything before the first run; ScenarioError when the variant has no fault to put elsewhere."""
    scenario, document = load(path)
    chosen = _chosen(scenario, document, variant)
    (ready,) = prepare(_only(scenario, chosen), document)
    links = tuple(link.name for link in ready.fabric.links)
    return scenario, Sweep(path, chosen.name, scenario.seed if seed is None else seed, links)


def cuts(sweep: Sweep, jobs: int) -> Generator[Cut, None, None]:
    """The runs, in parallel processes, in the order of the links. Leaving early waits for those under way."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(jobs, len(sweep.links)), context, _enter, (sweep,))
    try:
        yield from pool.map(_cut, sweep.links)
    except BrokenProcessPool:
        raise EmulationError(
            "a process of the sweep ended", remedy="use fewer --jobs if memory ran out"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def to_json(scenario: Scenario, sweep: Sweep, testbed: str, results: list[Cut]) -> str:
    document = {
        "scenario": scenario.name,
        "variant": sweep.variant,
        "seed": sweep.seed,
        "testbed": testbed,
        "passed": all(cut.right for cut in results),
        "metrics": {"right_runs": sum(cut.right for cut in results), "runs": len(results)},
        "cuts": [asdict(cut) for cut in results],
    }
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def _chosen(scenario: Scenario, document: Document, name: str | None) -> Variant:
    with_fault = [variant for variant in scenario.variants if variant.faults]
    if name is None and with_fault:
        return with_fault[0]
    for variant in with_fault:
        if variant.name == name:
            return variant
    wanted = f"no variant {name!r} with a fault" if name else "no variant with a fault"
    names = ", ".join(variant.name for variant in with_fault) or "none"
    raise ScenarioError(document.at((), wanted), remedy=f"variants with a fault: {names}")


def _only(scenario: Scenario, variant: Variant) -> Scenario:
    return scenario.model_copy(update={"variants": (variant,), "assertions": ()})


# Of a worker process: made once, used for every run.
_ready: Prepared | None = None
_seed = 0


def _enter(sweep: Sweep) -> None:
    global _ready, _seed
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers
    scenario, document = load(sweep.path)
    (_ready,) = prepare(_only(scenario, scenario.variant(sweep.variant)), document)
    _seed = sweep.seed


def _cut(link: str) -> Cut:
    from lab.metrics import METRICS, Subject
    from lab.runner import observe

    assert _ready is not None
    fault = Fault(at_us=_ready.variant.faults[0].at_us, link=link)
    ready = _ready.with_faults((fault,))
    try:
        seen = observe(ready, _seed)
    except RailyardError as ex:
        return Cut(link, False, 0.0, 0.0, 0, str(ex))
    figures = {
        name: METRICS[name].of(Subject(seen, ready.bound_ps, {}))
        for name in ("completion_us", "convergence_us")
    }
    inside = 0 < seen.faults[0].at_ps < seen.completion_ps
    return Cut(
        link=link,
        right=seen.right_nodes == seen.nodes and inside,
        retransmitted_frames=seen.traffic.retransmitted,
        trouble=seen.first_wrong or ("" if inside else "the run was over before the cut"),
        **figures,
    )

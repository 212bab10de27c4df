# SPDX-License-Identifier: Apache-2.0
"""One scenario run many times in parallel processes: what sweeps of all kinds share."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TypeVar

from emulation.errors import EmulationError
from lab.errors import ScenarioError
from lab.run.prepare import Prepared, prepare
from lab.scenario.document import Document
from lab.scenario.loader import load
from lab.scenario.schema import Scenario, Variant

__all__ = ["in_processes", "only", "prepared_from", "with_faults"]

Case = TypeVar("Case")
Came = TypeVar("Came")


def with_faults(scenario: Scenario, document: Document, names: Sequence[str]) -> tuple[Variant, ...]:
    """The variants of these names, or all that have a fault; ScenarioError when one has none to move."""
    found = {variant.name: variant for variant in scenario.variants if variant.faults}
    unknown = [name for name in names if name not in found]
    if unknown or not found:
        wanted = f"no variant {unknown[0]!r} with a fault" if unknown else "no variant with a fault"
        remedy = f"variants with a fault: {', '.join(found) or 'none'}"
        raise ScenarioError(document.at((), wanted), remedy=remedy)
    return tuple(found[name] for name in dict.fromkeys(names) or found)


def only(scenario: Scenario, variants: Sequence[Variant]) -> Scenario:
    """The scenario with these variants, and nothing that it asserts of others."""
    return scenario.model_copy(update={"variants": tuple(variants), "assertions": ()})


def prepared_from(path: Path, names: Sequence[str]) -> dict[str, Prepared]:
    """The variants of these names, for a process that has just begun; it leaves Ctrl-C to its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    scenario, document = load(path)
    chosen = [scenario.variant(name) for name in names]
    return {one.variant.name: one for one in prepare(only(scenario, chosen), document)}


def in_processes(
    run: Callable[[Case], Came], cases: Sequence[Case], jobs: int, begin: Callable[..., None], *told: object
) -> Generator[Came, None, None]:
    """What `run` makes of each case, in their order; every process calls `begin(*told)` first.

    Leaving early waits for the runs under way. EmulationError when a process dies.
    """
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(jobs, len(cases)), context, begin, told)
    try:
        yield from pool.map(run, cases)
    except BrokenProcessPool:
        raise EmulationError(
            "a process of the sweep ended", remedy="use fewer --jobs if memory ran out"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)

# SPDX-License-Identifier: Apache-2.0
"""Parallel runs of one scenario, the base of all sweeps."""

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
Result = TypeVar("Result")


def with_faults(scenario: Scenario, document: Document, names: Sequence[str]) -> tuple[Variant, ...]:
    """Return the variants of these names, or all variants with a fault.

    Raises:
        ScenarioError: A variant has no fault that the sweep could replace.
    """
    with_fault = {variant.name: variant for variant in scenario.variants if variant.faults}
    unknown = [name for name in names if name not in with_fault]
    if unknown or not with_fault:
        message = f"no variant {unknown[0]!r} with a fault" if unknown else "no variant with a fault"
        remedy = f"variants with a fault: {', '.join(with_fault) or 'none'}"
        raise ScenarioError(document.at((), message), remedy=remedy)
    return tuple(with_fault[name] for name in dict.fromkeys(names) or with_fault)


def only(scenario: Scenario, variants: Sequence[Variant]) -> Scenario:
    """Return the scenario with these variants and without assertions."""
    return scenario.model_copy(update={"variants": tuple(variants), "assertions": ()})


def prepared_from(path: Path, names: Sequence[str]) -> dict[str, Prepared]:
    """Return prepared variants by name, in a worker process, which leaves Ctrl-C to its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    scenario, document = load(path)
    chosen = [scenario.variant(name) for name in names]
    return {ready.variant.name: ready for ready in prepare(only(scenario, chosen), document)}


def in_processes(
    run: Callable[[Case], Result],
    cases: Sequence[Case],
    jobs: int,
    begin: Callable[..., None],
    *arguments: object,
) -> Generator[Result, None, None]:
    """Yield `run(case)` of each case in order, from parallel processes that call `begin(*arguments)` first.

    Closing the generator early waits for running cases.

    Raises:
        EmulationError: A process died.
    """
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(jobs, len(cases)), context, begin, arguments)
    try:
        yield from pool.map(run, cases)
    except BrokenProcessPool:
        raise EmulationError(
            "a process of the sweep died", remedy="use fewer --jobs if memory ran out"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)

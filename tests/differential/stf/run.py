# SPDX-License-Identifier: Apache-2.0
"""One STF test on one switch."""

import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import final

from tests.differential.stf.compiled import CompileError, compiled
from tests.differential.stf.language import Statement, StfError, parse
from tests.differential.stf.on_bmv2 import Bmv2Error, run_on_bmv2
from tests.differential.stf.on_engine import run_on_engine
from tests.differential.stf.verdict import verdict

__all__ = ["SWITCHES", "Case", "differences", "run_all"]

SWITCHES = ("engine", "BMv2")


@final
@dataclass(frozen=True, slots=True)
class Case:
    """A test and its program: P4 source, or BMv2's JSON when the name ends so."""

    stf: Path
    program: Path

    @property
    def name(self) -> str:
        return self.stf.stem


def differences(case: Case, switch: str) -> list[str]:
    """Return the reasons why the test fails on a switch of SWITCHES; none when it passes."""
    try:
        statements = parse(case.stf.read_text())
        program = case.program.read_bytes() if case.program.suffix == ".json" else compiled(case.program)
        return _compare(program, statements, switch)
    except (StfError, CompileError, Bmv2Error) as ex:
        return [str(ex)]


def run_all(cases: Sequence[Case], switch: str, jobs: int) -> Iterable[tuple[Case, list[str]]]:
    """Each case with its differences, in order; several processes of BMv2 wait at a time."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from zip(cases, pool.map(partial(differences, switch=switch), cases), strict=True)


def _compare(program: bytes, statements: Sequence[Statement], switch: str) -> list[str]:
    if switch == "BMv2":
        with tempfile.TemporaryDirectory(prefix="stf-") as directory:
            return verdict(statements, run_on_bmv2(program, statements, Path(directory)))
    try:
        return verdict(statements, run_on_engine(program, statements))
    except (ValueError, RuntimeError) as ex:  # the program is refused, or an assertion of it has failed
        return [f"{type(ex).__name__}: {ex}"]

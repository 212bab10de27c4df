# SPDX-License-Identifier: Apache-2.0
"""Finished variants of an interrupted run: the same command reads them back and runs the rest.

unfinished/VARIANT.run in the folder of the results is the run of a variant, pickled. It counts only while the
scenario, the files that it names, the seed, the testbed and the program are the same. A file may come from
somebody else: only values of our own data classes, plain values and arrays are read.
"""

from __future__ import annotations

import dataclasses
import enum
import io
import pickle
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, final

from harness.errors import OutputError
from harness.output import OutputFolder
from harness.program import program_digest
from harness.run.observation.variant_run import VariantRun
from harness.run.testbeds import TestbedChoice
from harness.scenario.digest import canonical, digest, sha256
from harness.scenario.schema import Scenario

__all__ = ["ResumeStore", "run_key"]

Seconds = Mapping[str, float]

_FOLDER = "unfinished"
_ROOMS = ("topologies", "controller", "emulation", "harness")
_ARRAYS = {
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy._core.numeric", "_frombuffer"),
}
_PLAIN = {("builtins", name) for name in ("frozenset", "set", "bytearray", "complex")}


def run_key(scenario: Scenario, seed: int, choice: TestbedChoice, captures: Mapping[str, Path]) -> str:
    """Return the hash of all that the variants of a run depend on."""
    return sha256(canonical([digest(scenario, seed), program_digest(), repr(choice), sorted(captures)]))


@final
class ResumeStore:
    """Finished variants in the folder of a run; without `resume` those of earlier calls are removed."""

    def __init__(self, output: OutputFolder, key: str, *, resume: bool) -> None:
        self._folder = OutputFolder(output.path / _FOLDER)
        self._key = key
        if not resume:
            self.clear()

    def get(self, variant: str) -> tuple[VariantRun, Seconds] | None:
        """Return the run of a variant and its wall-clock seconds by stage; None if it has not finished."""
        try:
            content = _Reader(io.BytesIO(self._file(variant).read_bytes())).load()
        except (
            OSError,
            EOFError,
            ValueError,
            TypeError,
            AttributeError,
            ImportError,
            pickle.UnpicklingError,
        ):
            return None
        if not (isinstance(content, tuple) and len(content) == 3 and content[0] == self._key):
            return None
        return content[1], content[2]

    def put(self, variant: str, run: VariantRun, seconds: Seconds) -> None:
        """Keep the run of a variant that has just ended, whole or not at all."""
        try:
            self._folder.path.mkdir(exist_ok=True)
        except OSError as ex:
            raise OutputError(
                f"{self._folder.path}: {ex.strerror}", remedy="give another folder with --out"
            ) from None
        self._folder.write_bytes(self._file(variant).name, pickle.dumps((self._key, run, dict(seconds))))

    def clear(self) -> None:
        """Remove all: the run has ended, or begins anew."""
        with suppress(OSError):
            for file in self._folder.path.iterdir():
                file.unlink()
            self._folder.path.rmdir()

    def _file(self, variant: str) -> Path:
        return self._folder.path / f"{variant}.run"


@final
class _Reader(pickle.Unpickler):
    """Reads values; a class or function of any other kind is refused."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _ARRAYS | _PLAIN:
            return super().find_class(module, name)
        if module.partition(".")[0] in _ROOMS and module in sys.modules:
            known = super().find_class(module, name)
            if isinstance(known, type) and (dataclasses.is_dataclass(known) or issubclass(known, enum.Enum)):
                return known
        raise pickle.UnpicklingError(f"{module}.{name} is no value of a run")

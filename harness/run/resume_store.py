# SPDX-License-Identifier: Apache-2.0
"""Store of finished variants of an interrupted run; the repeated command reads them and runs the rest.

The file unfinished/VARIANT.run in the folder of results is the pickled run of a variant. It is valid only
while the scenario, the files that it names, the seed, the testbed and the code are unchanged. A file may come
from somebody else, so the reader accepts only our own data classes, plain values and arrays.
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
    """Return the hash of the scenario, seed, testbed, captured links and code of a run."""
    return sha256(canonical([digest(scenario, seed), program_digest(), repr(choice), sorted(captures)]))


@final
class ResumeStore:
    """Finished variants of the run with key `key`, in its results folder.

    Without `resume`, the variants of an earlier, interrupted run are removed.
    """

    def __init__(self, output: OutputFolder, key: str, *, resume: bool) -> None:
        self._folder = OutputFolder(output.path / _FOLDER)
        self._key = key
        if not resume:
            self.clear()

    def get(self, variant: str) -> tuple[VariantRun, Seconds] | None:
        """Return the stored run of a variant and its wall-clock seconds by stage, or None.

        The result is None if the variant has not finished, or its file is unreadable or has another key.
        """
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
        """Store the run of a variant; an interruption leaves the whole file or none.

        Raises:
            OutputError: The folder cannot be created or written.
        """
        try:
            self._folder.path.mkdir(exist_ok=True)
        except OSError as ex:
            raise OutputError(
                f"the folder {self._folder.path} cannot be created: {ex.strerror}",
                remedy="give another folder with --out",
            ) from None
        self._folder.write_bytes(self._file(variant).name, pickle.dumps((self._key, run, dict(seconds))))

    def clear(self) -> None:
        """Remove all stored variants and their folder."""
        with suppress(OSError):
            for file in self._folder.path.iterdir():
                file.unlink()
            self._folder.path.rmdir()

    def _file(self, variant: str) -> Path:
        return self._folder.path / f"{variant}.run"


@final
class _Reader(pickle.Unpickler):
    """Unpickler that loads only arrays, plain values, and data classes and enums of this project."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _ARRAYS | _PLAIN:
            return super().find_class(module, name)
        if module.partition(".")[0] in _ROOMS and module in sys.modules:
            known = super().find_class(module, name)
            if isinstance(known, type) and (dataclasses.is_dataclass(known) or issubclass(known, enum.Enum)):
                return known
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed in a stored run")

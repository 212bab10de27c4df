# SPDX-License-Identifier: Apache-2.0
"""p4runtime_target under libFuzzer.

Usage: python -m tests.fuzz.fuzz_p4runtime [CORPUS] [libFuzzer's options]; needs the package atheris.
RAILYARD_FUZZ_ENGINE names an engine module built with sanitizers, to be used instead of the one installed.
"""

import importlib
import importlib.util
import os
import sys
from typing import Any

from tests.fuzz.instrumented import instrumented, prefer_sources

__all__ = ["PACKAGES", "main"]

PACKAGES = ("emulation.p4runtime",)


class _Choices:
    def __init__(self, data: Any) -> None:
        self._in = data  # atheris' FuzzedDataProvider

    @property
    def spent(self) -> bool:
        return self._in.remaining_bytes() == 0

    def below(self, count: int) -> int:
        return self._in.ConsumeIntInRange(0, count - 1)

    def bytes(self, count: int) -> bytes:
        return self._in.ConsumeBytes(count)


def _use_engine(path: str) -> None:
    package = importlib.import_module("emulation")
    spec = importlib.util.spec_from_file_location("emulation._engine", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["emulation._engine"] = vars(package)["_engine"] = module


def main() -> None:
    """Fuzz until libFuzzer's options say stop."""
    atheris: Any = importlib.import_module("atheris")
    prefer_sources()
    if engine := os.environ.get("RAILYARD_FUZZ_ENGINE"):
        _use_engine(engine)
    target = instrumented(atheris, "tests.fuzz.p4runtime_target", PACKAGES)
    atheris.Setup(sys.argv, lambda data: target.drive(_Choices(atheris.FuzzedDataProvider(data))))
    atheris.Fuzz()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""formats_target under libFuzzer.

Usage: python -m tests.fuzz.fuzz_formats [CORPUS] [libFuzzer's options] in the project's folder; needs the
package atheris.
"""

import importlib
import sys
from typing import Any

from tests.fuzz.instrumented import instrumented

__all__ = ["PACKAGES", "main"]

PACKAGES = ("harness.formats", "topologies.sources", "emulation.traffic.graph")


def main() -> None:
    """Fuzz until libFuzzer's options say stop."""
    atheris: Any = importlib.import_module("atheris")
    target = instrumented(atheris, "tests.fuzz.formats_target", PACKAGES)
    target.shorten()
    atheris.Setup(sys.argv, target.drive)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

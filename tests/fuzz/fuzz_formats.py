# SPDX-License-Identifier: Apache-2.0
"""formats_target under libFuzzer.

Usage: python -m tests.fuzz.fuzz_formats [CORPUS] [libFuzzer's options] in the project's folder; needs the
package atheris.
"""

import importlib
import sys
from typing import Any

__all__ = ["main", "prefer_sources"]


def prefer_sources() -> None:
    """Import from the current folder first; atheris instruments nothing that an editable install loads."""
    sys.meta_path.sort(key=lambda finder: "ScikitBuild" in type(finder).__name__)


def main() -> None:
    """Fuzz until libFuzzer's options say stop."""
    prefer_sources()
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["lab.formats", "topologies.sources"]):
        target = importlib.import_module("tests.fuzz.formats_target")
    target.shorten()
    atheris.Setup(sys.argv, target.drive)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

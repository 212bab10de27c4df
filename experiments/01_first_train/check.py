# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder, twice, and says what is true of it; exit code 1 when something is not."""

import sys
import tempfile
from pathlib import Path

from papers.checking.statements import say
from railyard.command import railyard

HERE = Path(__file__).parent


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder, "first"), Path(folder, "second")
        codes = [railyard("run", HERE / "scenario.yaml", "--out", out) for out in (first, second)]
        same = (first / "result.json").read_bytes() == (second / "result.json").read_bytes()
    return say(
        {
            "all assertions hold": codes == [0, 0],
            "the same seed gives the same result.json, byte for byte": same,
        }
    )


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""A program for a controlling machine: run features over several machines and in virtual time, and compare.

Arguments: the file of the machines, the kind of switch, then names of features.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from emulation.mininet.cluster.machines import read_machines
from harness.run.real_time import RealTime
from harness.run.runner import run
from harness.run.testbeds import Embedded
from tests.harness.run.mininet.features.compare import Run, compare
from tests.harness.run.mininet.features.table import FEATURES


def main() -> None:
    """Run them; the first difference ends the program."""
    file, kind, *names = sys.argv[1:]
    for feature in [item for item in FEATURES if item.feature in names]:
        with tempfile.TemporaryDirectory() as folder:
            ready = feature.prepare(Path(folder))
        choice = RealTime("bmv2" if kind == "bmv2" else "builtin", None, read_machines(Path(file)), file)
        virtual, real = (
            Run.of(run([ready], 1, choice=testbed).runs["run"].observation)
            for testbed in (Embedded(), choice)
        )
        compare(virtual, real, feature.same)
        print(f"same: {feature.feature}, {real.received} frames", flush=True)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Collectives that others wrote or measured: algorithms of MSCCL, GPUs, and astra-sim's microbenchmarks.

Files and programs are those of other projects, named by options; a part without its own is skipped, and says
so. Prints a table a part; exit code 1 if a result is wrong.
"""

import argparse
import sys
from pathlib import Path

import algorithms
import astra
import measured

from papers.checking.statements import say


def main() -> int:
    """Compare what is at hand."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--algorithms", type=Path, help="folder of MSCCL algorithms, .xml")
    parser.add_argument("--measured", type=Path, help="Validation/SingleCollective of ns3-msccl-data")
    parser.add_argument("--astra", type=Path, help="AstraSim_Analytical_Congestion_Aware")
    parser.add_argument("--astra-checkout", type=Path, help="checkout of astra-sim, for its examples")
    chosen = parser.parse_args()
    checks: dict[str, bool] = {}
    parts = (
        ("algorithms of MSCCL: --algorithms FOLDER", algorithms.compare, (chosen.algorithms,)),
        ("measurements of ns3-msccl-data: --measured FOLDER", measured.compare, (chosen.measured,)),
        (
            "astra-sim: --astra PROGRAM --astra-checkout FOLDER",
            astra.compare,
            (chosen.astra, chosen.astra_checkout),
        ),
    )
    for what, compare, paths in parts:
        if None in paths:
            print(f"skipped: needs {what}")
            continue
        print()
        checks |= dict(compare(*paths))
    return say(checks)


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Runs the scenarios of this folder and holds what came of them against the paper's equations.

Prints the figures as a Markdown table; exit code 1 when something is not as it must be.
"""

import sys
from pathlib import Path

from papers.checking.statements import say
from papers.rail_only import collectives as equations
from railyard.command import result_of

HERE = Path(__file__).parent
GRID, RATES = equations.Grid(x=8, y=4), equations.A100
GATHER_BYTES = 4 * 4194304
# What a GPU has for each other of the 32.
PAIR_BYTES = 4 * 2097152 / 32


def main() -> int:
    runs = [result_of(HERE / f"{name}.yaml") for name in ("rail-only", "rail-optimised")]
    took = {
        figure.removesuffix(".completion_us"): us
        for _, result in runs
        for figure, us in result["metrics"].items()
        if figure.endswith(".completion_us")
    }
    theirs = {
        "steps": equations.alltoall_rail_only(GRID, PAIR_BYTES, RATES),
        "spines": equations.alltoall_rail_optimised(GRID, PAIR_BYTES, RATES),
        "all-gather": equations.allgather(GRID, GATHER_BYTES, RATES),
        "reduce-scatter": equations.reduce_scatter(GRID, GATHER_BYTES, RATES),
        "allreduce": equations.allreduce(GRID, GATHER_BYTES, RATES),
    }
    print("| variant | equation, µs | measured, µs | difference |\n|---|---:|---:|---:|")
    for variant, seconds in theirs.items():
        us = seconds * 10**6
        print(f"| `{variant}` | {us:.1f} | {took[variant]:.1f} | {100 * (took[variant] / us - 1):+.1f} % |")
    ratio, expected = took["steps"] / took["spines"], 1 + equations.slowdown(GRID, RATES)
    print(f"| `steps` to `spines` | {expected:.4f} | {ratio:.4f} | {100 * (ratio / expected - 1):+.1f} % |")
    gathers = ("all-gather", "reduce-scatter", "allreduce")
    checks = {
        "all assertions hold": all(code == 0 for code, _ in runs),
        "All-to-All, rail-only to rail-optimised: within 3 % of the equation": abs(ratio / expected - 1)
        <= 0.03,
        "gathers: within 5 %": all(
            abs(took[gather] / theirs[gather] / 10**6 - 1) <= 0.05 for gather in gathers
        ),
        "slice by slice rail-only is no slower than rail-optimised": took["slices"] <= took["spines"],
    }
    return say(checks)


if __name__ == "__main__":
    sys.exit(main())

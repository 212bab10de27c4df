# SPDX-License-Identifier: Apache-2.0
"""Runs the scenarios of this folder and says what paths are worth, and how a NIC's two ports are loaded.

Exit code 1 when data is wrong, when the search is no faster than chance, or when planes do not balance ports.
"""

import sys
from pathlib import Path

from papers.checking.statements import say
from papers.claims.runs import observed
from papers.hpn.figures.paths import idle_downlinks, port_imbalance
from railyard.command import result_of

HERE = Path(__file__).parent


def main() -> int:
    code, result = result_of(HERE / "scenario.yaml")
    took = {
        name: result["metrics"][f"{name}.completion_us"]
        for name in ("search", "random-least", "random", "five-tuple")
    }
    print("| connections | completion, µs | search is faster by |\n|---|---:|---:|")
    for name, us in took.items():
        print(f"| `{name}` | {us:.1f} | {100 * (us / took['search'] - 1):.1f} % |")
    print("\n| fabric, hash | heavier port to lighter | idle links down |\n|---|---:|---:|")
    ports = {}
    right = True
    for name in ("typical", "planes"):
        for variant, (ready, seen) in observed(f"17_paths/{name}.yaml", lambda what, share: None).items():
            ports[name, variant] = port_imbalance(ready, seen)
            right = right and seen.correct_nodes == seen.nodes
            idle = 100 * idle_downlinks(ready, seen)
            print(f"| `{name}`, `{variant}` | {ports[name, variant]:.2f} | {idle:.0f} % |")
    checks = {
        "all assertions hold": code == 0,
        "all data is right": right,
        "the search is faster than all others": took["search"] == min(took.values()),
        "same bits, typical Clos: one port has twice as much": ports["typical", "same"] >= 2,
        "same bits, two planes: within a tenth": ports["planes", "same"] <= 1.1,
    }
    return say(checks)


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Paths of the case clos_32hosts-4leafs-8spines_pod2pod: pairs meet on a spine where ns-3-UB's hashes do.

In the simulator's trace tasks 1 and 2 take 16.9 µs, tasks 3 and 7 too, and all others 8.8 µs: each of these
two pairs of flows shares a link. Task n goes from host n to host 16 + n.
"""

from collections.abc import Iterator

from controller.paths.graph.admitted import AdmittedPaths
from controller.plan.entry import Path

# Spine by source.
_SPINES = {"n0": 0, "n1": 1, "n2": 1, "n3": 2, "n7": 2, "n4": 3, "n5": 4, "n6": 5}


def collide(paths: AdmittedPaths, source: str, destination: str) -> Iterator[Path]:
    """Yield a single path of fewest hops, by the spine of the source; other sources take the first spine."""
    fewest = paths.fewest_hops(source, destination)
    if fewest is not None:
        ways = sorted(paths.paths(source, destination, fewest))
        yield ways[_SPINES.get(source, 0) % len(ways)]

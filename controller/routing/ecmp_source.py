# SPDX-License-Identifier: Apache-2.0
"""The strategy hashed: a source chooses the port by which a frame leaves it, switches choose by hash.

A port, and with planes all that a frame can reach by it, is the host's choice; in the network the tables
decide, hop by hop (HPN, path selection). So a source route steers a frame to its first switch and no further.
"""

from collections.abc import Sequence

from controller.plan import BUCKETS, Path
from controller.routing.paths import PathFinder
from controller.tables.linear import table_path
from topologies import Fabric

__all__ = ["until_first_switch", "port_of_bucket", "ecmp_routes"]

# The bit of lb from which on it counts the ports. With bit 1 as the port of two, the other seven bits reach
# all 60 uplinks of either ToR, with bit 0 they reach 58: tests/controller/routing/test_path_probing.py.
_PORT_BIT = 1


def until_first_switch(fabric: Fabric, path: Path) -> Path:
    """A path as far as its first switch; all of it when there is none."""
    first = next((place for place, name in enumerate(path) if fabric.node(name).tier), len(path))
    return path[: first + 1]


def port_of_bucket(bucket: int, ports: int) -> int:
    """Which of so many ports the frames of a bucket leave by; each has as many buckets, or one more."""
    turned = bucket >> _PORT_BIT | (bucket & (1 << _PORT_BIT) - 1) * (BUCKETS >> _PORT_BIT)
    return turned % ports


def ecmp_routes(finder: PathFinder, paths: Sequence[Path]) -> tuple[Path, ...]:
    """A pair's 16 paths: each that of a frame whose lb is the bucket. Of others only the head is the same."""
    fabric = finder.fabric
    heads = list(dict.fromkeys(until_first_switch(fabric, path) for path in paths))
    chosen = [heads[port_of_bucket(bucket, len(heads))] for bucket in range(BUCKETS)]
    return tuple(
        begun if begun[-1] == paths[0][-1] else table_path(finder, paths[0][0], paths[0][-1], bucket, begun)
        for bucket, begun in enumerate(chosen)
    )

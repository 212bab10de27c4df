# SPDX-License-Identifier: Apache-2.0
"""Paths of one and of two hops between many pairs of nodes, in the order of a search by ports."""

import numpy as np
from numpy.typing import NDArray

from controller.deadlock.channels import Numbers
from controller.paths.bulk.working_hops import WorkingHops

__all__ = ["paths_of_one_hop", "paths_of_two_hops"]


def paths_of_one_hop(
    hops: WorkingHops, sources: Numbers, destinations: Numbers
) -> tuple[NDArray[np.intp], Numbers]:
    """Return the admitted paths of one hop, as two arrays: the index of each path's pair, and its hops.

    Pair i is `sources[i]` and `destinations[i]`.
    """
    direct = hops.hops(sources, destinations)
    return _admitted(hops, np.flatnonzero(direct >= 0), direct[direct >= 0][:, None])


def paths_of_two_hops(
    hops: WorkingHops, sources: Numbers, destinations: Numbers
) -> tuple[NDArray[np.intp], Numbers]:
    """Return the admitted paths of two hops, as two arrays: the index of each path's pair, and its hops.

    Pair i is `sources[i]` and `destinations[i]`; indices of pairs ascend.
    """
    pair, begun = hops.onward(sources)
    ended = hops.hops(hops.table.heads[begun], destinations[pair])
    joined = ended >= 0
    return _admitted(hops, pair[joined], np.stack([begun[joined], ended[joined]], axis=1))


def _admitted(hops: WorkingHops, pairs: NDArray[np.intp], paths: Numbers) -> tuple[NDArray[np.intp], Numbers]:
    allowed = hops.admitted(paths)
    return pairs[allowed], paths[allowed]

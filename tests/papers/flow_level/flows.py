# SPDX-License-Identifier: Apache-2.0
"""Routes of flows that are written down by hand, and put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from papers.flow_level.rates import Routes

__all__ = ["joined", "routes"]


def routes(flows: Iterable[Sequence[tuple[int, float]]], counts: ArrayLike | None = None) -> Routes:
    """Return a row for each flow.

    Args:
        flows: pairs (link, weight) of each flow.
        counts: number of flows that each row stands for; 1 if None.
    """
    listed = [list(flow) for flow in flows]
    entries = np.array([(row, *pair) for row, flow in enumerate(listed) for pair in flow]).reshape(-1, 3)
    number = np.ones(len(listed)) if counts is None else np.asarray(counts, float)
    return Routes(entries[:, 0].astype(np.int64), entries[:, 1].astype(np.int64), entries[:, 2], number)


def joined(parts: Sequence[Routes]) -> Routes:
    """Concatenate the rows of all parts."""
    if not parts:
        return routes([])
    first = np.cumsum([0, *(len(part.counts) for part in parts[:-1])])
    return Routes(
        np.concatenate([part.rows + offset for part, offset in zip(parts, first, strict=True)]),
        np.concatenate([part.links for part in parts]),
        np.concatenate([part.weights for part in parts]),
        np.concatenate([part.counts for part in parts]),
    )

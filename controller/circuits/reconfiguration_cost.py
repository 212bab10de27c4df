# SPDX-License-Identifier: Apache-2.0
"""The price of sharing circuits between two places where some stand already.

A demand of a circuits is shared, x in the first place and a - x in the second, where u0 and u1 such circuits
stand. Source: LumosCore, max(0, u0 - x) + max(0, u1 - (a - x)), the circuits that go; flat between u0 and a -
u1.
"""

import numpy as np

from controller.circuits.flow import Ints

__all__ = ["sharing_cost"]


def sharing_cost(a: Ints, low: Ints, high: Ints, u0: Ints, u1: Ints) -> tuple[Ints, Ints]:
    """Points and slopes, as `Items` has them, of x from `low` to `high`."""
    u0, u1 = np.minimum(u0, a), a - np.minimum(u1, a)
    points = np.stack(
        (low, np.clip(np.minimum(u0, u1), low, high), np.clip(np.maximum(u0, u1), low, high), high)
    )
    slopes = np.broadcast_to(np.array([[-1], [0], [1]]), (3, len(a)))
    return points, slopes

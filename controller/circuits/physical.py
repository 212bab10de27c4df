# SPDX-License-Identifier: Apache-2.0
"""Cross-connects of optical switches, and a check that both directions of a port have one peer.

Cross wiring: switch 2k takes what even ports 2k send and gives it to odd ports 2k + 1; switch 2k + 1 takes
what odd ports 2k + 1 send and gives it to even ports 2k. Uniform wiring: switch k takes from ports k and
gives to ports k. Wiring as derived from LumosCore's solver, which makes the odd switch the transpose of the
even one.
"""

from typing import Literal

import numpy as np

from controller.circuits.flow import Ints
from controller.errors import PlanError

__all__ = ["check_crossconnects", "check_l2", "crossconnects"]


def crossconnects(maps: Ints) -> Ints:
    """Return input to output of each switch, (..., 2 * pairs, N): 2k is map k, 2k + 1 its inverse."""
    maps = np.asarray(maps)
    return np.stack((maps, _inverse(maps)), axis=-2).reshape(*maps.shape[:-2], -1, maps.shape[-1])


def check_l2(maps: Ints) -> None:
    """Raise PlanError unless maps, (..., pairs, N), give each port one peer for both directions."""
    check_crossconnects(crossconnects(maps))


def check_crossconnects(switches: Ints, wiring: Literal["cross", "uniform"] = "cross") -> None:
    """Raise PlanError unless each of (..., K, N) is a partial permutation and each port hears its own peer.

    `switches[k, i] = j`: what Pod i sends into switch k comes out at Pod j; -1 is dark. The error names the
    switch and the port.
    """
    switches = np.asarray(switches)
    n = switches.shape[-1]
    if wiring == "cross" and switches.shape[-2] % 2:
        raise PlanError(
            f"a group has {switches.shape[-2]} switches, which is odd",
            remedy="use an even number: cross wiring has pairs",
        )
    if (wrong := np.argwhere((switches < -1) | (switches >= n))).size:
        at = tuple(wrong[0])
        raise PlanError(
            f"{_name(at)}: port {at[-1]} leads to port {switches[at]}, which does not exist",
            remedy=f"use ports from 0 to {n - 1}",
        )
    ways = np.sort(switches, axis=-1)
    if (twice := np.argwhere((ways[..., 1:] == ways[..., :-1]) & (ways[..., 1:] >= 0))).size:
        at = tuple(twice[0])
        port = int(ways[at])
        both = np.flatnonzero(switches[at[:-1]] == port)
        raise PlanError(
            f"{_name(at)}: ports {both[0]} and {both[1]} both lead to {port}",
            remedy="let at most one port lead there",
        )
    heard = _inverse(switches)
    if wiring == "cross":  # who hears a port of switch 2k sends into 2k + 1, and the other way round
        heard = heard.reshape(*heard.shape[:-2], -1, 2, n)[..., ::-1, :].reshape(heard.shape)
    if (apart := np.argwhere(switches != heard)).size:
        at = tuple(apart[0])
        talks, hears = (f"Pod {pod}" if pod >= 0 else "nobody" for pod in (int(switches[at]), int(heard[at])))
        raise PlanError(
            f"{_name(at)}: port {at[-2]} of Pod {at[-1]} sends to {talks}, but receives from {hears}",
            remedy="give both directions of a port the same peer",
        )


def _inverse(maps: Ints) -> Ints:
    inverse = np.full_like(maps, -1)
    at = np.nonzero((maps >= 0) & (maps < maps.shape[-1]))
    inverse[(*at[:-1], maps[at])] = at[-1]
    return inverse


def _name(at: tuple[int, ...]) -> str:
    """Return the name of the switch at (..., k, port)."""
    return " ".join(("".join(f"group {number}, " for number in at[:-2]) + f"optical switch {at[-2]}").split())

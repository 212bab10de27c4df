# SPDX-License-Identifier: Apache-2.0
"""Cross-connects of optical switches, and a check that both directions of a port have the same peer.

    cross wiring    Switch 2k connects the transmitters of even ports 2k to the receivers of odd ports 2k + 1.
                    Switch 2k + 1 connects the transmitters of odd ports 2k + 1 to the receivers of even
                    ports 2k.
    uniform wiring  Switch k connects ports k to ports k.

We derive cross wiring from LumosCore's solver, in which the odd switch is the transpose of the even switch.
"""

from typing import Literal

import numpy as np

from controller.circuits.flow import Ints
from controller.errors import PlanError

__all__ = ["check_crossconnects", "check_l2", "crossconnects"]


def crossconnects(maps: Ints) -> Ints:
    """Return each switch's output by input, (..., 2 * pairs, N).

    Switch 2k has map k; switch 2k + 1 has the inverse of map k.
    """
    maps = np.asarray(maps)
    return np.stack((maps, _inverse(maps)), axis=-2).reshape(*maps.shape[:-2], -1, maps.shape[-1])


def check_l2(maps: Ints) -> None:
    """Raise PlanError unless maps, (..., pairs, N), give each port the same peer in both directions."""
    check_crossconnects(crossconnects(maps))


def check_crossconnects(switches: Ints, wiring: Literal["cross", "uniform"] = "cross") -> None:
    """Raise PlanError unless each switch is a partial permutation and both directions of a port agree.

    `switches[..., k, i] = j`, (..., K, N), means that switch k passes the light of Pod i to Pod j; -1 is
    dark. Each port must send to the Pod from which it receives. The error names the switch and the port.
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
            remedy="let at most one port lead to each port",
        )
    heard = _inverse(switches)
    if wiring == "cross":  # even ports send to switch 2k and hear switch 2k + 1; odd ports the reverse
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
    """Return the name, for messages, of the switch at index (..., switch, port)."""
    return " ".join(("".join(f"group {number}, " for number in at[:-2]) + f"optical switch {at[-2]}").split())

# SPDX-License-Identifier: Apache-2.0
"""Netlink requests for a link with priority queues: Linux's hierarchical token bucket (htb).

Each service level has a class; all classes share the link's rate. The highest level with waiting frames
sends, but each class is guaranteed a thousandth of the rate. A classic BPF filter reads the level from a
frame: the upper three bits of the VL, which is in the last bit of byte 14 and the first three bits of
byte 15. The functions return encoded requests, as in `requests`.
"""

import struct
from typing import Any, Final, final

from pyroute2.netlink import NLM_F_CREATE, NLM_F_REPLACE, nla
from pyroute2.netlink.rtnl import RTM_NEWQDISC, RTM_NEWTCLASS
from pyroute2.netlink.rtnl.tcmsg import tcmsg

from emulation.linux.netlink import Request
from emulation.linux.requests import (
    FRAME_HEAD,
    NETEM_HANDLE,
    ROOT,
    TIMER_SLACK,
    Program,
    bpf_filter,
    request,
    speed,
)
from emulation.traffic.frames.values import SERVED_VLS

__all__ = ["queue", "rates", "waiting"]

_HANDLE: Final = 0x30000
_ALL: Final = _HANDLE | 0x100  # the parent class: it limits all levels together to the link's rate
_VERSION = 3  # HTB_VER >> 16
_TICK_NS = 64
_LEAST_SHARE = 1000
_LONGEST_TICKS = (1 << 32) - 1

_LEVELS: Final = tuple(dict.fromkeys(vl >> 1 for vl in reversed(SERVED_VLS)))
"""Service levels, the highest priority first: responses before data."""

_LOAD_HALF, _SHIFT_RIGHT, _AND, _ADD, _RETURN_A = 0x28, 0x74, 0x54, 0x04, 0x16
_CLASS_OF_LEVEL: Final[Program] = (
    (_LOAD_HALF, 0, 0, 14),
    (_SHIFT_RIGHT, 0, 0, 6),
    (_AND, 0, 0, 7),
    (_ADD, 0, 0, _HANDLE | 1),
    (_RETURN_A, 0, 0, 0),
)


@final
class _HtbOptions(nla):
    nla_map = (
        ("TCA_HTB_UNSPEC", "none"),
        ("TCA_HTB_PARMS", "cdata"),
        ("TCA_HTB_INIT", "cdata"),
        ("TCA_HTB_CTAB", "cdata"),
        ("TCA_HTB_RTAB", "cdata"),
        ("TCA_HTB_DIRECT_QLEN", "uint32"),
        ("TCA_HTB_RATE64", "uint64"),
        ("TCA_HTB_CEIL64", "uint64"),
    )


@final
class _FifoOptions(nla):
    fields = (("limit", "I"),)


_OWN = {"htb": _HtbOptions, "bfifo": _FifoOptions}


@final
class _TcMessage(tcmsg):
    @staticmethod
    def get_options(message: Any, *argv: Any, **kwarg: Any) -> Any:
        return _OWN.get(message.get_attr("TCA_KIND")) or tcmsg.get_options(message, *argv, **kwarg)


def queue(index: int, what: str, *, delayed: bool = False) -> Request:
    """Make the htb queue of an interface's egress, without classes; `delayed`: below netem's queue."""
    start = struct.pack("=5I", _VERSION, 1, 1, 0, 0)  # frames of no level belong to level 0
    parent = NETEM_HANDLE | 1 if delayed else ROOT
    options = {"attrs": [("TCA_HTB_INIT", start)]}
    return _made(RTM_NEWQDISC, index, parent, _HANDLE, "htb", options, what)


def rates(index: int, rate_bps: float, mtu: int, what: str) -> list[Request]:
    """Make the classes of the htb queue, or change their rates; waiting frames stay."""
    rate = max(1, round(rate_bps / 8))
    asked = [_class(index, _HANDLE, _ALL, rate, rate, mtu, 0, what)]
    for priority, level in enumerate(_LEVELS):
        least = max(1, rate // _LEAST_SHARE)
        asked.append(_class(index, _ALL, _HANDLE | level + 1, least, rate, mtu, priority, what))
    return asked


def waiting(index: int, queue_bytes: int, what: str) -> list[Request]:
    """Give every class a queue of `queue_bytes`, and set the filter that chooses the class of a frame."""
    asked = [
        _made(
            RTM_NEWQDISC,
            index,
            _HANDLE | level + 1,
            _HANDLE + (level + 1 << 16),
            "bfifo",
            {"limit": queue_bytes},
            what,
        )
        for level in _LEVELS
    ]
    # Handle 0: the kernel chooses the handle of a filter at the root queue.
    by_level = bpf_filter(index, 1, _CLASS_OF_LEVEL, what, parent=_HANDLE, handle=0)
    return [*asked, by_level]


def _class(
    index: int, parent: int, handle: int, rate: int, most: int, mtu: int, priority: int, what: str
) -> Request:
    """Make a class with a guaranteed `rate` and a ceiling `most`, both in bytes per second."""
    burst = mtu + FRAME_HEAD + round(most * TIMER_SLACK)
    ticks = min(_LONGEST_TICKS, burst * 10**9 // most // _TICK_NS)
    parameters = speed(rate) + speed(most) + struct.pack("=5I", ticks, ticks, mtu + FRAME_HEAD, 0, priority)
    attributes: list[tuple[str, Any]] = [("TCA_HTB_PARMS", parameters)]
    if most > 0xFFFFFFFF:
        attributes += [("TCA_HTB_RATE64", rate), ("TCA_HTB_CEIL64", most)]
    return _made(RTM_NEWTCLASS, index, parent, handle, "htb", {"attrs": attributes}, what)


def _made(kind: int, index: int, parent: int, handle: int, name: str, options: Any, what: str) -> Request:
    message = _message(index, parent, handle, name, options)
    return request(message, kind, NLM_F_CREATE | NLM_F_REPLACE, what)


def _message(index: int, parent: int, handle: int, name: str, options: Any) -> _TcMessage:
    message = _TcMessage()
    message["index"], message["parent"], message["handle"] = index, parent, handle
    message["attrs"] = [("TCA_KIND", name), ("TCA_OPTIONS", options)]
    return message

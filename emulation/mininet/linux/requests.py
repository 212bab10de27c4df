# SPDX-License-Identifier: Apache-2.0
"""What is asked of the kernel about links, queues and filters, as pyroute2's messages, encoded."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from pyroute2.netlink import NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, nla
from pyroute2.netlink.rtnl import (
    RTM_DELLINK,
    RTM_DELQDISC,
    RTM_DELTFILTER,
    RTM_GETLINK,
    RTM_GETQDISC,
    RTM_GETSTATS,
    RTM_NEWLINK,
    RTM_NEWQDISC,
    RTM_NEWTFILTER,
)
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg
from pyroute2.netlink.rtnl.ifstatsmsg import ifstatsmsg
from pyroute2.netlink.rtnl.tcmsg import tcmsg

from emulation.mininet.linux.netlink import Request

__all__ = [
    "LOSS", "ROOT", "TIMER_SLACK", "Side",
    "clsact", "delay", "delete_filter", "delete_filters", "delete_group", "delete_link", "delete_root",
    "link_dump", "loss", "queue_dump", "rate_limit", "redirect", "set_up", "stats_dump", "threshold", "veth",
]  # fmt: skip

GROUP = 0x5241
"""The link group of everything a panel makes: the kernel deletes a whole group in one go."""
ROOT = 0xFFFFFFFF
LOSS, REDIRECT = 1, 2
"""Preferences of the two filters of a jack: a frame that is lost is not redirected."""
TIMER_SLACK = 100e-6
"""Seconds by which a timer may fire late without a link's losing rate."""

_IFF_UP = 1
_CLSACT, _INGRESS = 0xFFFFFFF1, 0xFFFFFFF2
_ANY_PROTOCOL = 0x0300  # ETH_P_ALL in network byte order
_FRAME_HEAD = 14 + 8  # Ethernet and two VLAN tags: what a frame may have beyond the MTU
_NETEM_HANDLE, _TBF_HANDLE = 0x10000, 0x20000
_LINKLAYER_ETHERNET = 1
_TICK_NS = 64  # PSCHED_SHIFT
_STOLEN, _EGRESS_REDIRECT = 4, 1  # TC_ACT_STOLEN, TCA_EGRESS_REDIR
_DIRECT_ACTION = 1  # TCA_BPF_FLAG_ACT_DIRECT
_SKIP_STATS = 8  # RTEXT_FILTER_SKIP_STATS
_LINK_64 = 1  # IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64)

_Program = Sequence[tuple[int, int, int, int]]
"""Classic BPF: code, jump if true, jump if false, constant."""

_LOAD, _JUMP_IF_NOT_LESS, _RETURN = 0x20, 0x35, 0x06
_RANDOM = 0xFFFFF038  # SKF_AD_OFF + SKF_AD_RANDOM: 32 random bits
_SHOT, _ON = 2, 0xFFFFFFFF  # TC_ACT_SHOT; TC_ACT_UNSPEC, with which the next filter is tried
_EVERY_FRAME: _Program = ((_RETURN, 0, 0, 0xFFFFFFFF),)


@final
@dataclass(frozen=True, slots=True)
class Side:
    """One interface of a veth pair."""

    index: int
    interface: str
    mtu: int


@final
class _TbfOptions(nla):
    nla_map = (
        ("TCA_TBF_UNSPEC", "none"),
        ("TCA_TBF_PARMS", "cdata"),
        ("TCA_TBF_RTAB", "cdata"),
        ("TCA_TBF_PTAB", "cdata"),
        ("TCA_TBF_RATE64", "uint64"),
        ("TCA_TBF_PRATE64", "uint64"),
        ("TCA_TBF_BURST", "uint32"),
    )


@final
class _BpfOptions(nla):
    nla_map = (
        ("TCA_BPF_UNSPEC", "none"),
        ("TCA_BPF_ACT", "actions"),
        ("TCA_BPF_POLICE", "none"),
        ("TCA_BPF_CLASSID", "uint32"),
        ("TCA_BPF_OPS_LEN", "uint16"),
        ("TCA_BPF_OPS", "cdata"),
        ("TCA_BPF_FD", "uint32"),
        ("TCA_BPF_NAME", "asciiz"),
        ("TCA_BPF_FLAGS", "uint32"),
    )

    class actions(nla):
        nla_map = (("TCA_ACT_PRIO_0", "none"), ("TCA_ACT_PRIO_1", "action"))

        class action(nla):
            nla_map = (
                ("TCA_ACT_UNSPEC", "none"),
                ("TCA_ACT_KIND", "asciiz"),
                ("TCA_ACT_OPTIONS", "mirred"),
            )

            class mirred(nla):
                nla_map = (
                    ("TCA_MIRRED_UNSPEC", "none"),
                    ("TCA_MIRRED_TM", "none"),
                    ("TCA_MIRRED_PARMS", "cdata"),
                )


_OWN = {"tbf": _TbfOptions, "bpf": _BpfOptions}


@final
class _TcMessage(tcmsg):
    """pyroute2 has no burst in bytes for tbf, and no classic bytecode for cls_bpf."""

    @staticmethod
    def get_options(message: Any, *argv: Any, **kwarg: Any) -> Any:
        return _OWN.get(message.get_attr("TCA_KIND")) or tcmsg.get_options(message, *argv, **kwarg)


def veth(patch: Side, device: Side, namespace: int, what: str) -> Request:
    """A pair: the device side, up, in the namespace behind the handle; the patch side here, down.

    The indices of the two sides must differ: where they are equal, the kernel takes the interface for one
    that is its own lower one, and tells of a carrier that is lost up to a second late (linkwatch).
    """
    peer = {"index": patch.index, "attrs": _side(patch)}
    data = {"attrs": [("VETH_INFO_PEER", peer)]}
    message = ifinfmsg()
    message["index"], message["change"], message["flags"] = device.index, _IFF_UP, _IFF_UP
    message["attrs"] = [
        *_side(device),
        ("IFLA_NET_NS_FD", namespace),
        ("IFLA_LINKINFO", {"attrs": [("IFLA_INFO_KIND", "veth"), ("IFLA_INFO_DATA", data)]}),
    ]
    return _request(message, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, what)


def _side(side: Side) -> list[tuple[str, Any]]:
    # Without a number of queues the kernel makes one for every processor that there could be.
    return [
        ("IFLA_IFNAME", side.interface),
        ("IFLA_MTU", side.mtu),
        ("IFLA_GROUP", GROUP),
        ("IFLA_NUM_TX_QUEUES", 1),
        ("IFLA_NUM_RX_QUEUES", 1),
    ]


def set_up(index: int, up: bool, what: str) -> Request:
    message = ifinfmsg()
    message["index"], message["change"], message["flags"] = index, _IFF_UP, _IFF_UP if up else 0
    return _request(message, RTM_NEWLINK, 0, what)


def delete_link(index: int, what: str) -> Request:
    message = ifinfmsg()
    message["index"] = index
    return _request(message, RTM_DELLINK, 0, what)


def delete_group(what: str) -> Request:
    """Every interface that a panel has made here, each with its far side. ENODEV when there is none."""
    message = ifinfmsg()
    message["attrs"] = [("IFLA_GROUP", GROUP)]
    return _request(message, RTM_DELLINK, 0, what)


def clsact(index: int, what: str) -> Request:
    """The place for filters: what the interface receives passes them before anyone else sees it."""
    message = _tc(index, _CLSACT, 0xFFFF0000)
    message["attrs"] = [("TCA_KIND", "clsact")]
    return _request(message, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, what)


def rate_limit(
    index: int, rate_bps: float, mtu: int, queue_bytes: int, what: str, *, delayed: bool = False
) -> Request:
    """A queue that lets `rate_bps` bits a second out of the interface; one that is there keeps its frames.

    `delayed`: behind the queue that `delay` makes.
    """
    rate = max(1, round(rate_bps / 8))
    # One frame must fit; beyond it the bucket holds what a timer that fires late has missed.
    burst = mtu + _FRAME_HEAD + round(rate * TIMER_SLACK)
    speed = struct.pack("=BBHhHI", 0, _LINKLAYER_ETHERNET, 0, -1, 0, min(rate, 0xFFFFFFFF))
    parameters = speed + bytes(len(speed)) + struct.pack("=III", queue_bytes, 0, 0)  # no peak rate
    options: list[tuple[str, Any]] = [("TCA_TBF_PARMS", parameters), ("TCA_TBF_BURST", burst)]
    if rate > 0xFFFFFFFF:
        options.append(("TCA_TBF_RATE64", rate))
    message = _tc(index, _NETEM_HANDLE | 1 if delayed else ROOT, _TBF_HANDLE)
    message["attrs"] = [("TCA_KIND", "tbf"), ("TCA_OPTIONS", {"attrs": options})]
    return _request(message, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, what)


def delay(index: int, seconds: float, frames: int, what: str) -> Request:
    """A queue that holds every frame for `seconds`, `frames` of them at most."""
    message = _tc(index, ROOT, _NETEM_HANDLE)
    options = {"delay": round(seconds * 1e9 / _TICK_NS), "limit": frames, "attrs": []}
    message["attrs"] = [("TCA_KIND", "netem"), ("TCA_OPTIONS", options)]
    return _request(message, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, what)


def delete_root(index: int, what: str) -> Request:
    """The queues before what the interface sends, with all that waits in them."""
    return _request(_tc(index, ROOT, 0), RTM_DELQDISC, 0, what)


def redirect(index: int, to: int, what: str) -> Request:
    """What interface `index` receives leaves by interface `to`."""
    mirred = struct.pack("=IIiiiiI", 0, 0, _STOLEN, 0, 0, _EGRESS_REDIRECT, to)
    action = [("TCA_ACT_KIND", "mirred"), ("TCA_ACT_OPTIONS", {"attrs": [("TCA_MIRRED_PARMS", mirred)]})]
    actions = {"attrs": [("TCA_ACT_PRIO_1", {"attrs": action})]}
    return _filter(index, REDIRECT, _EVERY_FRAME, ("TCA_BPF_ACT", actions), what)


def loss(index: int, probability: float, what: str) -> Request:
    """Lose what interface `index` receives with this probability, each frame by a draw of its own."""
    limit = threshold(probability)
    program: _Program = (
        (_LOAD, 0, 0, _RANDOM),
        (_JUMP_IF_NOT_LESS, 0, 1, limit),
        (_RETURN, 0, 0, _SHOT),
        (_RETURN, 0, 0, _ON),
    )
    return _filter(index, LOSS, program, ("TCA_BPF_FLAGS", _DIRECT_ACTION), what)


def threshold(probability: float) -> int:
    """32 random bits that are no less than this lose a frame: never less often than once in 2^32."""
    return min(round((1.0 - probability) * 2**32), 2**32 - 1)


def delete_filter(index: int, preference: int, what: str) -> Request:
    message = _tc(index, _INGRESS, 0)
    message["info"] = preference << 16 | _ANY_PROTOCOL
    return _request(message, RTM_DELTFILTER, 0, what)


def delete_filters(index: int, what: str) -> Request:
    return _request(_tc(index, _INGRESS, 0), RTM_DELTFILTER, 0, what)


def link_dump() -> bytes:
    """Every interface, without its counters."""
    message = ifinfmsg()
    message["attrs"] = [("IFLA_EXT_MASK", _SKIP_STATS)]
    return _request(message, RTM_GETLINK, 0, "").data


def stats_dump() -> bytes:
    """Of every interface its counters and nothing else: a fraction of what a dump of the interfaces costs."""
    message = ifstatsmsg()
    message["filter_mask"] = _LINK_64
    return _request(message, RTM_GETSTATS, 0, "").data


def queue_dump() -> bytes:
    """Of every interface its queues."""
    return _request(tcmsg(), RTM_GETQDISC, 0, "").data


def _tc(index: int, parent: int, handle: int) -> _TcMessage:
    message = _TcMessage()
    message["index"], message["parent"], message["handle"] = index, parent, handle
    return message


def _filter(index: int, preference: int, program: _Program, then: tuple[str, Any], what: str) -> Request:
    """In the place of the one of this preference that may be there: a frame sees the old one or the new."""
    code = b"".join(struct.pack("=HBBI", *one) for one in program)
    options = {"attrs": [("TCA_BPF_OPS_LEN", len(program)), ("TCA_BPF_OPS", code), then]}
    message = _tc(index, _INGRESS, 1)
    message["info"] = preference << 16 | _ANY_PROTOCOL
    message["attrs"] = [("TCA_KIND", "bpf"), ("TCA_OPTIONS", options)]
    return _request(message, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_REPLACE, what)


def _request(message: Any, kind: int, flags: int, what: str) -> Request:
    message["header"]["type"] = kind
    message["header"]["flags"] = NLM_F_REQUEST | flags
    message.encode()
    return Request(bytes(message.data), what)

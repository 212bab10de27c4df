# SPDX-License-Identifier: Apache-2.0
"""Netlink requests for links, queues and filters, encoded from pyroute2's messages.

A function named for an action returns the request for the action; RouteSocket sends the request. `what` names
the subject of the request in errors; `index` is the index of an interface.
"""

import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any, final

from pyroute2.netlink import NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, nla
from pyroute2.netlink.rtnl import (
    RTM_DELLINK,
    RTM_DELQDISC,
    RTM_DELTFILTER,
    RTM_GETLINK,
    RTM_GETQDISC,
    RTM_GETSTATS,
    RTM_NEWADDR,
    RTM_NEWLINK,
    RTM_NEWQDISC,
    RTM_NEWTFILTER,
)
from pyroute2.netlink.rtnl.ifaddrmsg import ifaddrmsg
from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg
from pyroute2.netlink.rtnl.ifstatsmsg import ifstatsmsg
from pyroute2.netlink.rtnl.tcmsg import tcmsg

from emulation.linux.netlink import Request

__all__ = [
    "FRAME_HEAD", "LOSS", "NETEM_HANDLE", "ROOT", "TIMER_SLACK", "Program", "Side",
    "add_address", "bpf_filter", "clsact", "delay", "delete_filter", "delete_filters", "delete_group",
    "delete_link", "delete_root", "link_dump", "loss", "queue_dump", "rate_limit", "redirect", "request",
    "set_mac", "set_up", "speed",
    "stats_dump", "threshold", "veth", "vxlan",
]  # fmt: skip

GROUP = 0x5241
"""Link group of all interfaces of a cross-connect; the kernel deletes a group in one request."""
ROOT = 0xFFFFFFFF
LOSS, REDIRECT = 1, 2
"""Preferences of the two filters of an endpoint: the loss filter runs first, then redirection."""
TIMER_SLACK = 100e-6
"""Seconds by which a timer of the kernel may fire late without reducing a link's rate."""

_IFF_UP = 1
_CLSACT, _INGRESS = 0xFFFFFFF1, 0xFFFFFFF2
_ANY_PROTOCOL = 0x0300  # ETH_P_ALL in network byte order
FRAME_HEAD = 14 + 8
"""Bytes of a frame's headers, which the MTU does not count: Ethernet and two VLAN tags."""
NETEM_HANDLE = 0x10000
_TBF_HANDLE = 0x20000
_LINKLAYER_ETHERNET = 1
_TICK_NS = 64  # PSCHED_SHIFT
_STOLEN, _EGRESS_REDIRECT = 4, 1  # TC_ACT_STOLEN, TCA_EGRESS_REDIR
_DIRECT_ACTION = 1  # TCA_BPF_FLAG_ACT_DIRECT
_SKIP_STATS = 8  # RTEXT_FILTER_SKIP_STATS
_LINK_64 = 1  # IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64)

Program = Sequence[tuple[int, int, int, int]]
"""Classic BPF program: instructions as (code, jump if true, jump if false, constant)."""

_LOAD, _JUMP_IF_NOT_LESS, _RETURN = 0x20, 0x35, 0x06
_RANDOM = 0xFFFFF038  # SKF_AD_OFF + SKF_AD_RANDOM: 32 random bits
_SHOT, _ON = 2, 0xFFFFFFFF  # TC_ACT_SHOT: drop; TC_ACT_UNSPEC: try the next filter
_EVERY_FRAME: Program = ((_RETURN, 0, 0, 0xFFFFFFFF),)


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
    """Traffic control message with attributes missing in pyroute2: tbf's burst in bytes, classic BPF code."""

    @staticmethod
    def get_options(message: Any, *argv: Any, **kwarg: Any) -> Any:
        return _OWN.get(message.get_attr("TCA_KIND")) or tcmsg.get_options(message, *argv, **kwarg)


def veth(inner: Side, device: Side, namespace: int, what: str) -> Request:
    """Make a veth pair: the inner side, down, in the socket's namespace; the device side, up, in `namespace`.

    `namespace` is an open descriptor. The indices of the two sides must differ: otherwise the kernel takes
    the interface for its own lower device, and reports a lost carrier up to a second late (linkwatch).
    """
    peer = {"index": inner.index, "attrs": _side(inner)}
    data = {"attrs": [("VETH_INFO_PEER", peer)]}
    message = ifinfmsg()
    message["index"], message["change"], message["flags"] = device.index, _IFF_UP, _IFF_UP
    message["attrs"] = [
        *_side(device),
        ("IFLA_NET_NS_FD", namespace),
        ("IFLA_LINKINFO", {"attrs": [("IFLA_INFO_KIND", "veth"), ("IFLA_INFO_DATA", data)]}),
    ]
    return request(message, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, what)


def vxlan(
    side: Side,
    namespace: int,
    identifier: int,
    addresses: tuple[IPv4Address, IPv4Address],
    udp_port: int,
    what: str,
) -> Request:
    """Make a VXLAN tunnel from `addresses[0]` to `addresses[1]`, with its interface, down, in `namespace`.

    `namespace` is an open descriptor. The tunnel's own packets leave by the namespace of the socket that
    sends the request.
    """
    local, remote = map(str, addresses)
    options = [
        ("IFLA_VXLAN_ID", identifier),
        ("IFLA_VXLAN_LOCAL", local),
        ("IFLA_VXLAN_GROUP", remote),
        ("IFLA_VXLAN_PORT", udp_port),
        ("IFLA_VXLAN_LEARNING", 0),
        ("IFLA_VXLAN_TTL", 64),
    ]
    message = ifinfmsg()
    message["index"] = side.index
    message["attrs"] = [
        *_side(side),
        ("IFLA_NET_NS_FD", namespace),
        ("IFLA_LINKINFO", {"attrs": [("IFLA_INFO_KIND", "vxlan"), ("IFLA_INFO_DATA", {"attrs": options})]}),
    ]
    return request(message, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, what)


def _side(side: Side) -> list[tuple[str, Any]]:
    # One queue to send and one to receive: by default the kernel makes a queue for every possible processor.
    return [
        ("IFLA_IFNAME", side.interface),
        ("IFLA_MTU", side.mtu),
        ("IFLA_GROUP", GROUP),
        ("IFLA_NUM_TX_QUEUES", 1),
        ("IFLA_NUM_RX_QUEUES", 1),
    ]


def set_up(index: int, up: bool, what: str, *, mtu: int | None = None) -> Request:
    """Set an interface up or down, and its MTU if one is given."""
    message = ifinfmsg()
    if mtu is not None:
        message["attrs"] = [("IFLA_MTU", mtu)]
    message["index"], message["change"], message["flags"] = index, _IFF_UP, _IFF_UP if up else 0
    return request(message, RTM_NEWLINK, 0, what)


def set_mac(index: int, mac: bytes, what: str) -> Request:
    """Set the MAC address of an interface."""
    message = ifinfmsg()
    message["index"] = index
    message["attrs"] = [("IFLA_ADDRESS", ":".join(f"{byte:02x}" for byte in mac))]
    return request(message, RTM_NEWLINK, 0, what)


def add_address(index: int, address: IPv4Address, prefix_length: int, what: str) -> Request:
    """Add an IPv4 address to an interface."""
    message = ifaddrmsg()
    message["family"], message["prefixlen"], message["index"] = socket.AF_INET, prefix_length, index
    message["attrs"] = [("IFA_LOCAL", str(address)), ("IFA_ADDRESS", str(address))]
    return request(message, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, what)


def delete_link(index: int, what: str) -> Request:
    """Delete an interface."""
    message = ifinfmsg()
    message["index"] = index
    return request(message, RTM_DELLINK, 0, what)


def delete_group(what: str) -> Request:
    """Delete all interfaces of group GROUP in the namespace, and their veth peers; ENODEV without any."""
    message = ifinfmsg()
    message["attrs"] = [("IFLA_GROUP", GROUP)]
    return request(message, RTM_DELLINK, 0, what)


def clsact(index: int, what: str) -> Request:
    """Attach the clsact qdisc; its ingress filters see received frames before any other code."""
    message = _tc(index, _CLSACT, 0xFFFF0000)
    message["attrs"] = [("TCA_KIND", "clsact")]
    return request(message, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, what)


def rate_limit(
    index: int, rate_bps: float, mtu: int, queue_bytes: int, what: str, *, delayed: bool = False
) -> Request:
    """Limit an interface's egress to `rate_bps`; an existing tbf queue keeps its frames.

    `delayed`: the tbf queue is the child of the netem queue that `delay` makes.
    """
    rate = max(1, round(rate_bps / 8))
    # The bucket holds a frame, and the bytes that the rate allows while a timer is late.
    burst = mtu + FRAME_HEAD + round(rate * TIMER_SLACK)
    limit = speed(rate)
    parameters = limit + bytes(len(limit)) + struct.pack("=III", queue_bytes, 0, 0)  # no peak rate
    options: list[tuple[str, Any]] = [("TCA_TBF_PARMS", parameters), ("TCA_TBF_BURST", burst)]
    if rate > 0xFFFFFFFF:
        options.append(("TCA_TBF_RATE64", rate))
    message = _tc(index, NETEM_HANDLE | 1 if delayed else ROOT, _TBF_HANDLE)
    message["attrs"] = [("TCA_KIND", "tbf"), ("TCA_OPTIONS", {"attrs": options})]
    return request(message, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, what)


def speed(rate: int) -> bytes:
    """Return the kernel's tc_ratespec of a rate in bytes per second."""
    return struct.pack("=BBHhHI", 0, _LINKLAYER_ETHERNET, 0, -1, 0, min(rate, 0xFFFFFFFF))


def delay(index: int, seconds: float, frames: int, what: str) -> Request:
    """Delay every frame by `seconds` in a queue of at most `frames` frames."""
    message = _tc(index, ROOT, NETEM_HANDLE)
    options = {"delay": round(seconds * 1e9 / _TICK_NS), "limit": frames, "attrs": []}
    message["attrs"] = [("TCA_KIND", "netem"), ("TCA_OPTIONS", options)]
    return request(message, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, what)


def delete_root(index: int, what: str) -> Request:
    """Delete the egress queues of an interface, with all waiting frames."""
    return request(_tc(index, ROOT, 0), RTM_DELQDISC, 0, what)


def redirect(index: int, to: int, what: str) -> Request:
    """Send out of interface `to` all frames that interface `index` receives."""
    mirred = struct.pack("=IIiiiiI", 0, 0, _STOLEN, 0, 0, _EGRESS_REDIRECT, to)
    action = [("TCA_ACT_KIND", "mirred"), ("TCA_ACT_OPTIONS", {"attrs": [("TCA_MIRRED_PARMS", mirred)]})]
    actions = {"attrs": [("TCA_ACT_PRIO_1", {"attrs": action})]}
    return bpf_filter(index, REDIRECT, _EVERY_FRAME, what, ("TCA_BPF_ACT", actions))


def loss(index: int, probability: float, what: str) -> Request:
    """Drop each frame received by interface `index` with this probability, independently."""
    limit = threshold(probability)
    program: Program = (
        (_LOAD, 0, 0, _RANDOM),
        (_JUMP_IF_NOT_LESS, 0, 1, limit),
        (_RETURN, 0, 0, _SHOT),
        (_RETURN, 0, 0, _ON),
    )
    return bpf_filter(index, LOSS, program, what, ("TCA_BPF_FLAGS", _DIRECT_ACTION))


def threshold(probability: float) -> int:
    """Return the smallest 32-bit random number that drops a frame; at least one number does."""
    return min(round((1.0 - probability) * 2**32), 2**32 - 1)


def delete_filter(index: int, preference: int, what: str) -> Request:
    """Delete the ingress filter with a preference, such as LOSS."""
    message = _tc(index, _INGRESS, 0)
    message["info"] = preference << 16 | _ANY_PROTOCOL
    return request(message, RTM_DELTFILTER, 0, what)


def delete_filters(index: int, what: str) -> Request:
    """Delete all ingress filters of an interface."""
    return request(_tc(index, _INGRESS, 0), RTM_DELTFILTER, 0, what)


def link_dump() -> bytes:
    """Return the dump request for every interface, without its counters."""
    message = ifinfmsg()
    message["attrs"] = [("IFLA_EXT_MASK", _SKIP_STATS)]
    return request(message, RTM_GETLINK, 0, "").data


def stats_dump() -> bytes:
    """Return the dump request for the counters of every interface, far cheaper than dumping interfaces."""
    message = ifstatsmsg()
    message["filter_mask"] = _LINK_64
    return request(message, RTM_GETSTATS, 0, "").data


def queue_dump() -> bytes:
    """Return the dump request for the queues of every interface."""
    return request(tcmsg(), RTM_GETQDISC, 0, "").data


def _tc(index: int, parent: int, handle: int) -> _TcMessage:
    message = _TcMessage()
    message["index"], message["parent"], message["handle"] = index, parent, handle
    return message


def bpf_filter(
    index: int,
    preference: int,
    program: Program,
    what: str,
    *more: tuple[str, Any],
    parent: int = _INGRESS,
    handle: int = 1,
) -> Request:
    """Set a BPF filter; replace a filter with the same preference atomically. `more`: further attributes."""
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    options = {"attrs": [("TCA_BPF_OPS_LEN", len(program)), ("TCA_BPF_OPS", code), *more]}
    message = _tc(index, parent, handle)
    message["info"] = preference << 16 | _ANY_PROTOCOL
    message["attrs"] = [("TCA_KIND", "bpf"), ("TCA_OPTIONS", options)]
    return request(message, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_REPLACE, what)


def request(message: Any, kind: int, flags: int, what: str) -> Request:
    """Encode a message as the request of type `kind`, such as RTM_NEWLINK, with `flags`."""
    message["header"]["type"] = kind
    message["header"]["flags"] = NLM_F_REQUEST | flags
    message.encode()
    return Request(bytes(message.data), what)

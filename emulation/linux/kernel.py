# SPDX-License-Identifier: Apache-2.0
"""Kernel features needed by the testbeds, each tried once in a temporary namespace."""

import errno
import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address
from types import MappingProxyType
from typing import final

from emulation.errors import MachineError
from emulation.linux import netns, priority_queues, requests
from emulation.linux.netlink import Refusal, Request, RouteSocket

__all__ = [
    "CLSACT",
    "CLS_BPF",
    "FEATURES",
    "HTB",
    "MIRRED",
    "NETEM",
    "TBF",
    "VETH",
    "VXLAN",
    "Feature",
    "missing",
    "need",
]


@final
@dataclass(frozen=True, slots=True)
class Feature:
    """A kernel feature: its module, its configuration option, and its purpose in the testbed."""

    module: str
    option: str
    purpose: str


VETH = Feature("veth", "CONFIG_VETH", "links between namespaces")
CLSACT = Feature("sch_ingress", "CONFIG_NET_SCH_INGRESS", "filters on what an interface receives")
CLS_BPF = Feature("cls_bpf", "CONFIG_NET_CLS_BPF", "redirecting and losing frames")
MIRRED = Feature("act_mirred", "CONFIG_NET_ACT_MIRRED", "redirecting frames")
TBF = Feature("sch_tbf", "CONFIG_NET_SCH_TBF", "the rate of a link")
HTB = Feature("sch_htb", "CONFIG_NET_SCH_HTB", "priorities on a link")
NETEM = Feature("sch_netem", "CONFIG_NET_SCH_NETEM", "the delay of a link")
VXLAN = Feature("vxlan", "CONFIG_VXLAN", "links between machines")
FEATURES = (VETH, CLSACT, CLS_BPF, MIRRED, TBF, HTB, NETEM, VXLAN)

_INNER, _DEVICE, _TUNNEL, _MTU = 2, 3, 4, 1500
_LOCALHOST = (IPv4Address("127.0.0.1"), IPv4Address("127.0.0.2"))


@cache
def missing() -> Mapping[Feature, str]:
    """Return the missing features with the kernel's refusals; MachineError if the process may not try."""
    return MappingProxyType(netns.inside_new(_try))


def need(*features: Feature) -> None:
    """Raise a MachineError naming the missing `features`, if this kernel lacks any."""
    lacking = [feature for feature in features if feature in missing()]
    if not lacking:
        return
    what = "; ".join(
        f"{feature.module} ({feature.option}), for {feature.purpose}: {missing()[feature]}"
        for feature in lacking
    )
    modules = " ".join(feature.module for feature in lacking)
    raise MachineError(
        f"kernel {platform.release()} has no {what}",
        remedy=f"load it (`modprobe -a {modules}`) or boot a kernel that has it; on Ubuntu it is in "
        f"the package linux-modules-extra-{platform.release()}",
    )


def _try() -> dict[Feature, str]:
    route = RouteSocket()
    namespace = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    def attempt(request: Request) -> list[Refusal]:
        return route.attempt([request])

    pair = requests.Side(_INNER, "inner", _MTU), requests.Side(_DEVICE, "device", _MTU)
    # In order: a trial uses the interfaces and queues of earlier trials.
    trials: tuple[tuple[Feature, Callable[[], Request]], ...] = (
        (VETH, lambda: requests.veth(*pair, namespace, "a veth pair")),
        (TBF, lambda: requests.rate_limit(_INNER, 1e6, _MTU, 1 << 20, "tbf")),
        (HTB, lambda: priority_queues.queue(_DEVICE, "htb")),
        (NETEM, lambda: requests.delay(_DEVICE, 1e-3, 1000, "netem")),
        (CLSACT, lambda: requests.clsact(_INNER, "clsact")),
        (CLS_BPF, lambda: requests.loss(_INNER, 0.5, "a filter")),
        (MIRRED, lambda: requests.redirect(_INNER, _DEVICE, "a redirection")),
        (
            VXLAN,
            lambda: requests.vxlan(
                requests.Side(_TUNNEL, "tunnel", _MTU), namespace, 1, _LOCALHOST, 4789, "a tunnel"
            ),
        ),
    )
    needed = dict.fromkeys(FEATURES[1:], (VETH,))
    needed |= {VXLAN: (), CLS_BPF: (VETH, CLSACT), MIRRED: (VETH, CLSACT, CLS_BPF)}
    refusals: dict[Feature, str] = {}
    try:
        for feature, trial in trials:
            without = next((need for need in needed.get(feature, ()) if need in refusals), None)
            refused = [] if without else attempt(trial())
            if without:
                refusals[feature] = f"cannot be tried without {without.module}"
            elif refused and refused[0].errno in (errno.EPERM, errno.EACCES):
                raise MachineError(f"the kernel refused {refused[0]}", remedy="run as root (sudo)")
            elif refused:
                refusals[feature] = str(refused[0])
    finally:
        os.close(namespace)
        route.close()
    return refusals

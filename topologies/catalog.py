# SPDX-License-Identifier: Apache-2.0
"""Generators by name, their parameters described: for whoever reads names from a file or a command line."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from topologies.errors import TopologyError
from topologies.families.full_mesh import LANE_RATE_BPS, LINK_DELAY_PS, NPU_LANES, full_mesh
from topologies.families.hpn import HPN_HB_RATE_BPS, dcn_plus, hpn
from topologies.families.hpn_shape import SWITCH_LANES, TORS
from topologies.families.lumos import CORE_DELAY_PS, lumos
from topologies.families.lumos_core import WIRINGS
from topologies.families.rail_parts import (
    HB_RATE_BPS,
    INSIDES,
    NIC_DELAY_PS,
    NIC_RATE_BPS,
    RADIX,
    SPINE_DELAY_PS,
)
from topologies.families.rails import any_to_any, rail_only, rail_optimised
from topologies.families.ub_mesh import (
    PLANES,
    UB_POD_DIMS,
    UB_RACK_DIMS,
    UB_SUPERPOD_DIMS,
    UPLINK_LANES,
    ub_pod,
    ub_pod_clos,
    ub_rack,
    ub_rack_lrs,
    ub_superpod,
)
from topologies.families.ub_mesh_parts import HRS_DELAY_PS, PEER_LANES, RACK_DELAY_PS
from topologies.families.ub_mesh_racks import (
    BOARD_LANES,
    CLOS_LRS,
    HRS_UPLINK_LANES,
    ub_rack_1dfm_a,
    ub_rack_1dfm_b,
    ub_rack_clos,
)
from topologies.model.checks import check
from topologies.model.fabric import RECONFIGURATION_PS, Fabric

__all__ = ["Generator", "Parameter", "build", "describe", "names"]


@final
@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a generator; one whose default is None must be given."""

    name: str
    kind: str
    default: int | str | bool | tuple[int, ...] | None
    text: str


@final
@dataclass(frozen=True, slots=True)
class Generator:
    name: str
    text: str
    parameters: tuple[Parameter, ...]
    build: Callable[..., Fabric]


_LINKS = (
    Parameter("lane_rate_bps", "integer", LANE_RATE_BPS, "bits per second of one lane, each way"),
    Parameter("lanes", "integer", PEER_LANES, "lanes of a link"),
    Parameter("delay_ps", "integer", LINK_DELAY_PS, "picoseconds from one end of a link to the other"),
)

_HOST_LANES = Parameter("host_lanes", "integer", NPU_LANES, "lanes of an NPU; its links may use no more")
_PEERS = Parameter("lanes", "integer", PEER_LANES, "lanes from an NPU to each of its peers")
_DEVICES = (
    Parameter("spares", "integer", 1, "spare NPUs of a rack"),
    Parameter("cpus", "integer", 1, "CPUs of a rack"),
)
_DELAY = Parameter("delay_ps", "integer", LINK_DELAY_PS, "picoseconds from end to end of a link in a rack")
_RACK_DELAY = Parameter("rack_delay_ps", "integer", RACK_DELAY_PS, "the same of links between racks")
_HRS_DELAY = Parameter("hrs_delay_ps", "integer", HRS_DELAY_PS, "the same of links to HRS")
_EXTENTS = ("slots of a board", "boards of a rack", "columns of racks", "rows of racks", "Pods")


def _dims(default: tuple[int, ...]) -> Parameter:
    return Parameter("dims", "list of integers", default, ", ".join(_EXTENTS[: len(default)]))


def _planes(text: str = "planes of switches of a rack") -> Parameter:
    return Parameter("planes", "integer", PLANES, text)


def _uplink(lanes: int, text: str = "lanes from an NPU to its rack's switches") -> Parameter:
    return Parameter("uplink_lanes", "integer", lanes, text)


def _racks(dims: tuple[int, ...], *, hrs_per_lrs: int | None = None) -> tuple[Parameter, ...]:
    """What fabrics of racks with planes of LRS take, but for delays between racks."""
    hrs = Parameter("hrs_per_lrs", "integer", hrs_per_lrs, "HRS that an LRS for other racks leads to")
    return (
        _dims(dims),
        _planes("planes of switches of a rack, 18 LRS each at full size"),
        *_DEVICES,
        *(() if hrs_per_lrs is None else (hrs,)),
        _LINKS[0],
        _PEERS,
        _uplink(UPLINK_LANES),
        _HOST_LANES,
        _DELAY,
    )


_RAILS = (
    Parameter("domains", "integer", 4, "high-bandwidth (HB) domains"),
    Parameter("hb_size", "integer", 8, "GPUs of an HB domain, each of another rail"),
    Parameter("inside", "text", "mesh", f"how GPUs of an HB domain are joined: {' or '.join(INSIDES)}"),
    Parameter("radix", "integer", RADIX, "ports of a switch"),
    Parameter("uplinks", "integer", 0, "cables up from a leaf; 0: as many as it has below"),
    Parameter("spines", "integer", 0, "spines above a leaf; 0: as few as carry its uplinks"),
    Parameter("hb_rate_bps", "integer", HB_RATE_BPS, "bits per second of a GPU in its HB domain, each way"),
    Parameter("nic_rate_bps", "integer", NIC_RATE_BPS, "bits per second of a NIC and of a cable, each way"),
    Parameter("hb_delay_ps", "integer", LINK_DELAY_PS, "picoseconds from end to end of a link in a domain"),
    Parameter("nic_delay_ps", "integer", NIC_DELAY_PS, "the same of links from NICs to leaves"),
    Parameter("spine_delay_ps", "integer", SPINE_DELAY_PS, "the same of links between switches"),
)

_RAIL_SPARES = (
    Parameter("spares", "integer", 0, "idle GPUs of an HB domain"),
    Parameter("spare_domains", "integer", 0, "idle HB domains beside the others"),
    Parameter("spare_rails", "integer", 0, "idle rail switches, behind the optical ones"),
    Parameter("optical", "boolean", False, "whether each domain has an optical switch at its NICs"),
    Parameter("reconfiguration_ps", "integer", RECONFIGURATION_PS, "picoseconds until new circuits stand"),
)

_LUMOS = (
    Parameter("pods", "integer", 4, "Pods"),
    Parameter("leaves", "integer", 2, "leaves of a Pod"),
    Parameter("spines", "integer", 2, "spines of a Pod, and groups of optical switches"),
    Parameter("accelerators", "integer", 16, "GPUs of a leaf"),
    Parameter("hb_size", "integer", 8, "GPUs of a server, an HB domain"),
    Parameter("tau", "integer", 0, "cables from a leaf to a spine; 0: as many up as down"),
    Parameter("ports", "integer", 0, "a spine's ports to optical switches; 0: as many up as down"),
    Parameter("wiring", "text", "cross", f"of these ports: {', '.join(WIRINGS)}"),
    Parameter("inside", "text", "mesh", f"how GPUs of a server are joined: {' or '.join(INSIDES)}"),
    *(parameter for parameter in _RAILS if parameter.name in ("radix", "hb_rate_bps", "nic_rate_bps")),
    *(parameter for parameter in _RAILS if parameter.name.endswith("delay_ps")),
    Parameter("core_delay_ps", "integer", CORE_DELAY_PS, "the same of circuits from spine to spine"),
    Parameter("reconfiguration_ps", "integer", RECONFIGURATION_PS, "picoseconds until new circuits stand"),
)

_HPN_RATES = (
    Parameter("radix", "integer", SWITCH_LANES, "ports of 200 Gbit/s of a switch; cables upwards take two"),
    Parameter("hb_rate_bps", "integer", HPN_HB_RATE_BPS, "bits per second of a GPU in its host, each way"),
    Parameter("nic_rate_bps", "integer", NIC_RATE_BPS, "bits per second of one of a NIC's two ports"),
    *(parameter for parameter in _RAILS if parameter.name.endswith("delay_ps")),
)

_HPN = (
    Parameter("segments", "integer", 2, "segments of a Pod; 15 in the paper"),
    Parameter("hosts", "integer", 4, "hosts of a segment; 128 in the paper"),
    Parameter("rails", "integer", 8, "GPUs of a host, each with a NIC and of another rail"),
    Parameter("backup", "integer", 0, "idle hosts of a segment; 8 in the paper"),
    Parameter("tors", "text", "dual", f"how many ToRs a NIC leads to: {' or '.join(TORS)}"),
    Parameter("planes", "integer", 0, "planes of switches; 0: as many as a NIC has ToRs, 1: a typical Clos"),
    Parameter("aggs", "integer", 4, "aggregation switches of a plane, and cables up from a ToR; 60 there"),
    Parameter("pods", "integer", 1, "Pods, joined by cores"),
    Parameter("cores", "integer", 0, "cores of a plane, and cables to them from an agg; 8 there"),
    *_HPN_RATES,
)

_DCN_PLUS = (
    Parameter("pods", "integer", 2, "Pods; 32 in the paper"),
    Parameter("segments", "integer", 2, "segments of a Pod; 4 in the paper"),
    Parameter("hosts", "integer", 4, "hosts of a segment; 16 in the paper"),
    Parameter("rails", "integer", 8, "GPUs of a host, each with a NIC"),
    Parameter("aggs", "integer", 4, "aggregation switches of a Pod; 8 in the paper"),
    Parameter("trunk", "integer", 1, "cables from a ToR to each of them"),
    Parameter("cores", "integer", 4, "cores above the Pods"),
    *_HPN_RATES,
)

_GENERATORS = {
    generator.name: generator
    for generator in (
        Generator(
            "full-mesh",
            "NPUs in an n-dimensional full mesh",
            (
                Parameter("dims", "list of integers", None, "nodes a dimension, the fastest counted first"),
                *_LINKS,
                _HOST_LANES,
            ),
            full_mesh,
        ),
        Generator(
            "ub-rack",
            "UB-Mesh rack: 8 boards of 8 NPUs in a 2D full mesh, 448 links",
            _LINKS,
            ub_rack,
        ),
        Generator(
            "ub-rack-lrs",
            "UB-Mesh rack with its switches: 64+1 NPUs, a CPU, 72 LRS in 4 planes",
            _racks(UB_RACK_DIMS),
            ub_rack_lrs,
        ),
        Generator(
            "ub-rack-1dfm-a",
            "the rack as 1D-FM-A: boards in a full mesh, each slot through 4 LRS, 4 HRS for other racks",
            (
                _dims(UB_RACK_DIMS),
                _planes(),
                Parameter("hrs", "integer", 4, "HRS of the rack"),
                *_DEVICES,
                _LINKS[0],
                _PEERS,
                Parameter("board_lanes", "integer", BOARD_LANES, "lanes from an NPU to other boards' LRS"),
                _uplink(UPLINK_LANES, "lanes from an NPU to HRS"),
                _HOST_LANES,
                _DELAY,
            ),
            ub_rack_1dfm_a,
        ),
        Generator(
            "ub-rack-1dfm-b",
            "the rack as 1D-FM-B: boards in a full mesh, the rest through 8 HRS, the CPU through 16 LRS",
            (
                _dims(UB_RACK_DIMS),
                _planes(),
                Parameter("hrs", "integer", 8, "HRS of the rack"),
                *_DEVICES,
                _LINKS[0],
                _PEERS,
                _uplink(HRS_UPLINK_LANES, "lanes from an NPU to HRS"),
                _HOST_LANES,
                _DELAY,
            ),
            ub_rack_1dfm_b,
        ),
        Generator(
            "ub-rack-clos",
            "the rack as a Clos: all lanes of 64+1 NPUs on 72 LRS",
            (
                _dims(UB_RACK_DIMS),
                Parameter("lrs", "integer", CLOS_LRS, "LRS of the rack"),
                *_DEVICES,
                _LINKS[0],
                Parameter("lanes", "integer", 1, "lanes from an NPU to each LRS"),
                _HOST_LANES,
                _DELAY,
            ),
            ub_rack_clos,
        ),
        Generator(
            "ub-pod",
            "UB-Mesh Pod: 4 x 4 racks in a full mesh along rows and along columns, 1,024 NPUs",
            (*_racks(UB_POD_DIMS, hrs_per_lrs=0), _RACK_DELAY, _HRS_DELAY),
            ub_pod,
        ),
        Generator(
            "ub-pod-clos",
            "the racks of a Pod joined by 32 HRS alone, to compare with",
            (*_racks(UB_POD_DIMS), _HRS_DELAY),
            ub_pod_clos,
        ),
        Generator(
            "ub-superpod",
            "UB-Mesh SuperPod: 8 Pods behind 64 HRS, 8,192 NPUs",
            (*_racks(UB_SUPERPOD_DIMS, hrs_per_lrs=2), _RACK_DELAY, _HRS_DELAY),
            ub_superpod,
        ),
        Generator(
            "rail-only",
            "GPUs in HB domains, a network a rail and none between rails",
            (*_RAILS, *_RAIL_SPARES),
            rail_only,
        ),
        Generator(
            "rail-optimised",
            "the same with spines that join the rails",
            _RAILS,
            rail_optimised,
        ),
        Generator(
            "any-to-any",
            "the same as one Clos whose leaves take GPUs in their order",
            _RAILS,
            any_to_any,
        ),
        Generator(
            "lumos",
            "LumosCore: Pods of leaves and spines, joined by groups of optical switches",
            _LUMOS,
            lumos,
        ),
        Generator(
            "hpn",
            "HPN: segments of hosts, every NIC on two ToRs, and a plane of switches for each of its ports",
            _HPN,
            hpn,
        ),
        Generator(
            "dcn-plus",
            "DCN+, a Clos of three tiers with two ToRs a NIC, to compare HPN with",
            _DCN_PLUS,
            dcn_plus,
        ),
    )
}


def names() -> tuple[str, ...]:
    """Names of all generators, sorted."""
    return tuple(sorted(_GENERATORS))


def describe(name: str) -> Generator:
    """What a generator makes and takes; TopologyError lists the names there are."""
    if name not in _GENERATORS:
        raise TopologyError(f"no topology named {name!r}", remedy=f"there are {', '.join(names())}")
    return _GENERATORS[name]


def build(name: str, **params: Any) -> Fabric:
    """The checked fabric of a generator; TopologyError when a parameter is unknown, missing or misfit."""
    generator = describe(name)
    known = {parameter.name: parameter for parameter in generator.parameters}
    remedy = f"parameters of {name}: {', '.join(known) or 'none'}"
    for given, value in params.items():
        if given not in known:
            raise TopologyError(f"topology {name}: no parameter named {given!r}", remedy=remedy)
        if not _fits(known[given].kind, value):
            raise TopologyError(
                f"topology {name}: parameter {given} is {value!r}", remedy=f"its kind is {known[given].kind}"
            )
    for parameter in generator.parameters:
        if parameter.default is None and parameter.name not in params:
            raise TopologyError(f"topology {name}: parameter {parameter.name} is missing", remedy=remedy)
    fabric = generator.build(**params)
    check(fabric)
    return fabric


def _fits(kind: str, value: object) -> bool:
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "text":
        return isinstance(value, str)
    return isinstance(value, list | tuple) and all(_fits("integer", item) for item in value)

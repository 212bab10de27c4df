# SPDX-License-Identifier: Apache-2.0
"""Generators by name, their parameters described: for whoever reads names from a file or a command line."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from topologies.checks import check
from topologies.errors import TopologyError
from topologies.full_mesh import LANE_RATE_BPS, LINK_DELAY_PS, NPU_LANES, full_mesh
from topologies.model import Fabric
from topologies.ub_mesh import PEER_LANES, ub_rack

__all__ = ["Generator", "Parameter", "build", "describe", "names"]


@final
@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a generator; one whose default is None must be given."""

    name: str
    kind: str
    default: int | None
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

_GENERATORS = {
    generator.name: generator
    for generator in (
        Generator(
            "full-mesh",
            "NPUs in an n-dimensional full mesh",
            (
                Parameter("dims", "list of integers", None, "nodes a dimension, the fastest counted first"),
                *_LINKS,
                Parameter("host_lanes", "integer", NPU_LANES, "lanes of an NPU; its links may use no more"),
            ),
            full_mesh,
        ),
        Generator(
            "ub-rack",
            "UB-Mesh rack: 8 boards of 8 NPUs in a 2D full mesh, 448 links",
            _LINKS,
            ub_rack,
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
    return isinstance(value, list | tuple) and all(_fits("integer", item) for item in value)

# SPDX-License-Identifier: Apache-2.0
"""Families of fabrics by name: of this package, of installed packages, and registered in this process.

An installed package adds a family by an entry point of the group `railyard.families`; its name is the name of
the family:

    [project.entry-points."railyard.families"]
    row = "package.module:row"
"""

from typing import Any

from topologies.errors import TopologyError
from topologies.families.declaration import Family
from topologies.families.ecmp_clos import ecmp_clos
from topologies.families.full_mesh import full_mesh
from topologies.families.graphs.bcube import bcube
from topologies.families.graphs.dragonfly import dragonfly
from topologies.families.graphs.dragonfly_plus import dragonfly_plus
from topologies.families.graphs.fat_tree import fat_tree
from topologies.families.graphs.hyperx import hyperx
from topologies.families.graphs.jellyfish import jellyfish
from topologies.families.graphs.slim_fly import slim_fly
from topologies.families.graphs.torus import torus
from topologies.families.hpn.fabrics import dcn_plus, hpn
from topologies.families.lumos.fabric import lumos
from topologies.families.optical_rings import optical_rings
from topologies.families.rails.fabrics import any_to_any, rail_only, rail_optimised
from topologies.families.ub_mesh.fabrics import ub_pod, ub_pod_clos, ub_rack, ub_rack_lrs, ub_superpod
from topologies.families.ub_mesh.racks import ub_rack_1dfm_a, ub_rack_1dfm_b, ub_rack_clos
from topologies.model import Fabric
from topologies.plugins.entry_points import Registry

__all__ = ["GROUP", "REGISTRY", "build", "families", "find", "names", "register"]

GROUP = "railyard.families"
"""Entry point group of families in installed packages."""


def _checked(name: str, origin: str, value: object) -> Family[...]:
    if not isinstance(value, Family) or value.name != name:
        raise TopologyError(
            f"topology {name}: {origin} is {value!r}, which is not a family of that name",
            remedy="repair the package that declares it, or uninstall it",
        )
    return value


_OURS = (
    any_to_any,
    bcube,
    dcn_plus,
    dragonfly,
    dragonfly_plus,
    ecmp_clos,
    fat_tree,
    full_mesh,
    hpn,
    hyperx,
    jellyfish,
    lumos,
    optical_rings,
    rail_only,
    rail_optimised,
    slim_fly,
    torus,
    ub_pod,
    ub_pod_clos,
    ub_rack,
    ub_rack_1dfm_a,
    ub_rack_1dfm_b,
    ub_rack_clos,
    ub_rack_lrs,
    ub_superpod,
)
# No names FILE.py:NAME here: topologies.sources.fabrics reads fabrics of Python files.
REGISTRY: Registry[Family[...]] = Registry(
    "topology",
    GROUP,
    {family.name: family for family in _OURS},
    _checked,
    TopologyError,
    matches=3,
    shown=str,
    files=False,
    otherwise="; a scenario takes your own by `python: FILE.py:NAME` or `file:`, a command by FILE.py:NAME",
)


def register(family: Family[...]) -> None:
    """Add a family for this process; TopologyError when its name is taken."""
    REGISTRY.register(family.name, family)


def names() -> tuple[str, ...]:
    """Return the names of all families, sorted."""
    return tuple(sorted(REGISTRY.names()))


def families() -> tuple[Family[...], ...]:
    """Return all families, sorted by name; TopologyError names an entry point that cannot be loaded."""
    return tuple(find(name) for name in names())


def find(name: str) -> Family[...]:
    """Return the family of a name; TopologyError suggests similar names, or lists all families."""
    return REGISTRY.find(name)


def build(name: str, **parameters: Any) -> Fabric:
    """Build and check the fabric of a family; TopologyError when a parameter or the fabric has a problem."""
    return find(name).build(**parameters)

# SPDX-License-Identifier: Apache-2.0
"""Forwarding schemes by name: the default scheme of a fabric, and schemes that a user adds.

An installed package adds a scheme by an entry point of the group `railyard.schemes`. A scenario names a
scheme of a Python file as FILE.py:NAME.
"""

from collections.abc import Set
from dataclasses import dataclass
from typing import cast, final

from controller.deadlock.turn_rules import RuleSet
from controller.errors import PlanError
from controller.paths.finder import PathFinder
from controller.plan.entry import Hashing
from controller.plan.plan import Plan
from controller.schemes.clos import Clos
from controller.schemes.graph import Graph
from controller.schemes.mesh import Mesh
from controller.schemes.optical import Optical
from controller.schemes.rails import Rails
from controller.schemes.scheme import Scheme
from controller.schemes.strategy import Strategy
from topologies import Fabric
from topologies.model.computed_once import computed_once
from topologies.plugins.entry_points import Registry

__all__ = [
    "GROUP",
    "Routing",
    "names",
    "routing_of",
    "rule_set",
    "scheme_class",
    "scheme_for",
    "scheme_of",
    "strategy_of",
]

GROUP = "railyard.schemes"
"""Entry point group of schemes in installed packages."""

SCHEMES: dict[str, type[Scheme]] = {
    "graph": Graph,
    "optical": Optical,
    "rails": Rails,
    "clos": Clos,
    "mesh": Mesh,
}
"""Schemes by name; the default of a fabric is the first scheme that serves the fabric."""


def _checked(name: str, origin: str, chosen: object) -> type[Scheme]:
    if not (isinstance(chosen, type) and issubclass(chosen, Scheme)):
        raise PlanError(
            f"scheme {name} of {origin} is {chosen!r}, which is not a forwarding scheme",
            remedy="name a class derived from controller.schemes.scheme.Scheme",
        )
    return cast(type[Scheme], chosen)


_REGISTRY: Registry[type[Scheme]] = Registry(
    "scheme", GROUP, SCHEMES, _checked, PlanError, unknown="no scheme named {name!r}", known="use one of"
)


def names() -> tuple[str, ...]:
    """Return the names of all schemes; schemes of installed packages come last."""
    return _REGISTRY.names()


def scheme_class(fabric: Fabric, name: str = "") -> type[Scheme]:
    """Return the scheme with a name, or of FILE.py:NAME; without a name, the default scheme of the fabric.

    Raises:
        PlanError: No scheme has the name.
    """
    return _REGISTRY.find(name) if name else _served_by(fabric)


@computed_once
def _served_by(fabric: Fabric) -> type[Scheme]:
    return next(scheme for scheme in SCHEMES.values() if scheme.serves(fabric))


@final
@dataclass(frozen=True, slots=True)
class Routing:
    """A scheme and one of its strategies, chosen for a fabric."""

    scheme: type[Scheme]
    strategy: Strategy


def routing_of(fabric: Fabric, strategy: str, scheme: str = "") -> Routing:
    """Return the scheme and strategy with these names; PlanError if the fabric cannot carry them out."""
    kind = scheme_class(fabric, scheme)
    chosen = kind.find_strategy(strategy)
    kind.check_strategy(chosen, fabric)
    return Routing(kind, chosen)


def rule_set(name: str, fabric: Fabric) -> RuleSet:
    """Return the named turn rules on a fabric; PlanError for an unknown name."""
    return scheme_class(fabric).rule_set(name, fabric)


def strategy_of(plan: Plan) -> Strategy:
    """Return the strategy of a plan."""
    return scheme_class(plan.fabric, plan.scheme).find_strategy(plan.strategy)


def scheme_for(
    fabric: Fabric,
    *,
    failed: Set[str] = frozenset(),
    strategy: str = "all-path",
    rules: str = "T2-G",
    hashing: Hashing = "per-tier",
    scheme: str = "",
) -> Scheme:
    """Return a scheme over the working links of a fabric; PlanError for an unknown name."""
    kind = scheme_class(fabric, scheme)
    turns = kind.rule_set(rules, fabric)
    finder = PathFinder(fabric, failed, hashing, up_first=turns.up_first)
    return kind(finder, turns, kind.find_strategy(strategy))


def scheme_of(plan: Plan, failed: Set[str] | None = None, base: Scheme | None = None) -> Scheme:
    """Return the scheme of a plan over working links.

    Args:
        plan: The plan.
        failed: Failed links; None: the failed links of the plan.
        base: Scheme of the plan with fewer failed links, whose search results are used again.
    """
    kind = scheme_class(plan.fabric, plan.scheme)
    rules = kind.rule_set(plan.rules, plan.fabric)
    lost = plan.failed if failed is None else frozenset(failed)
    finder = PathFinder(plan.fabric, lost, plan.hashing, up_first=rules.up_first)
    return kind(finder, rules, kind.find_strategy(plan.strategy), base)

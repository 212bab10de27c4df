# SPDX-License-Identifier: Apache-2.0
"""Kinds of collectives by name: from this package, from installed packages, and registered at run time.

An installed package adds a kind by an entry point of the group `railyard.collectives`:

    [project.entry-points."railyard.collectives"]
    half-exchange = "package.module:half"

A scenario may also name a kind in a Python file, as FILE.py:NAME.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from math import inf
from numbers import Integral, Real

from emulation.errors import EmulationError
from emulation.traffic.collectives.catalogue import KINDS
from emulation.traffic.collectives.declaration import CollectiveKind, Request
from emulation.traffic.schedule.schedule import Schedule
from topologies.plugins.entry_points import Registry
from topologies.plugins.python_file import guarded

__all__ = ["GROUP", "REGISTRY", "find", "kinds", "names", "register"]

GROUP = "railyard.collectives"
"""Entry point group of kinds of collectives in installed packages."""


def _checked(name: str, origin: str, value: object) -> CollectiveKind:
    if name == origin:  # FILE.py:NAME
        if not isinstance(value, CollectiveKind):
            raise EmulationError(
                f"{origin} is of type {type(value).__name__}, not a CollectiveKind",
                remedy="name a CollectiveKind (docs/use/collectives.md)",
            )
        return _guarded(replace(value, name=origin), origin)
    if not isinstance(value, CollectiveKind) or value.name != name:
        raise EmulationError(
            f"collective {name}: {origin} is {value!r}, but must be a collective of that name",
            remedy="repair the package that declares it, or uninstall it",
        )
    return _guarded(value, origin)


_WHOLE = ("step", "source", "target", "offset", "length", "shift")
"""Fields of a transfer that are whole numbers."""


def _guarded(kind: CollectiveKind, origin: str) -> CollectiveKind:
    """Wrap the functions of a kind, to name the user's file and line in errors.

    `origin` is FILE.py:NAME, or package.module:NAME of an installed package.
    """
    module, _, attribute = origin.rpartition(":")
    file = getattr(sys.modules.get(module), "__file__", None) or module
    origin = f"{file}:{attribute}"

    def schedule(build: Callable[[Request], Schedule]) -> Callable[[Request], Schedule]:
        def built(request: Request) -> Schedule:
            result: object = guarded(origin, lambda: build(request))
            if not isinstance(result, Schedule):
                raise EmulationError(
                    f"{origin}: an algorithm returned {type(result).__name__}, not a Schedule",
                    remedy="return a Schedule (docs/use/collectives.md)",
                )
            for transfer in result.transfers:
                numbers = [getattr(transfer, name) for name in _WHOLE]
                if not all(isinstance(number, Integral) for number in numbers):
                    raise EmulationError(
                        f"{origin}: schedule {result.name}: {transfer} has values that are not whole numbers",
                        remedy="divide elements by //, not by /",
                    )
            return result

        return built

    def number(name: str, function: Callable[..., float]) -> Callable[..., float]:
        def checked(*arguments: object) -> float:
            result: object = guarded(origin, lambda: function(*arguments))
            if not isinstance(result, Real) or not 0 <= float(result) < inf:
                raise EmulationError(
                    f"{origin}: {name} returned {result!r}", remedy="return a finite number of at least 0"
                )
            return float(result)

        return checked

    return replace(
        kind,
        algorithms=tuple(replace(each, build=schedule(each.build)) for each in kind.algorithms),
        bound_ps=number("bound_ps", kind.bound_ps),
        crossing_bytes=kind.crossing_bytes and number("crossing_bytes", kind.crossing_bytes),
        pair_bytes=kind.pair_bytes and number("pair_bytes", kind.pair_bytes),
    )


REGISTRY: Registry[CollectiveKind] = Registry(
    "collective",
    GROUP,
    {kind.name: kind for kind in KINDS},
    _checked,
    EmulationError,
    unknown="{name!r} is not known",
    known="known are",
)


def register(kind: CollectiveKind) -> None:
    """Add a kind of collective for this process; EmulationError when its name is taken."""
    REGISTRY.register(kind.name, kind)


def names() -> tuple[str, ...]:
    """Return the names of all kinds: first the kinds of this package in their order, then others."""
    return REGISTRY.names()


def kinds() -> tuple[CollectiveKind, ...]:
    """Return all kinds of collectives; EmulationError names an entry point that cannot be loaded."""
    return tuple(find(name) for name in names())


def find(name: str) -> CollectiveKind:
    """Return the kind of collective with this name.

    EmulationError if there is none; the error suggests similar names, or else all names.
    """
    return REGISTRY.find(name)

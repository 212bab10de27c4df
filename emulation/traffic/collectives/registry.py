# SPDX-License-Identifier: Apache-2.0
"""Kinds of collectives by name: those of this package, of installed packages, and registered ones.

An installed package adds a kind by an entry point of the group `railyard.collectives`:

    [project.entry-points."railyard.collectives"]
    half-exchange = "package.module:half"

A scenario may also name a kind in a Python file, as FILE.py:NAME.
"""

from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from emulation.errors import EmulationError
from emulation.traffic.collectives.catalogue import KINDS
from emulation.traffic.collectives.declaration import CollectiveKind
from topologies.sources.python_file import is_reference, load

__all__ = ["GROUP", "find", "kinds", "names", "register"]

GROUP = "railyard.collectives"
"""Entry point group of kinds of collectives in installed packages."""

_kinds: dict[str, CollectiveKind] = {kind.name: kind for kind in KINDS}


def register(kind: CollectiveKind) -> None:
    """Add a kind of collective for this process; EmulationError when its name is taken."""
    if kind.name in _kinds or kind.name in _installed():
        raise EmulationError(f"collective {kind.name} exists already", remedy="give it another name")
    _kinds[kind.name] = kind


def names() -> tuple[str, ...]:
    """Return the names of all kinds: those of this package in their order, then others."""
    return (*_kinds, *_installed())


def kinds() -> tuple[CollectiveKind, ...]:
    """Return all kinds; EmulationError names an entry point that cannot be loaded."""
    return tuple(find(name) for name in names())


def find(name: str) -> CollectiveKind:
    """Return the kind of a name; EmulationError names close matches, or all kinds."""
    if name in _kinds:
        return _kinds[name]
    if name in _installed():
        return _loaded(_installed()[name])
    if is_reference(name):
        return _from_file(name)
    close = get_close_matches(name, names(), n=1)
    remedy = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(names()))}"
    raise EmulationError(f"{name!r} is not known", remedy=remedy)


def _from_file(reference: str) -> CollectiveKind:
    kind = load(reference)
    if not isinstance(kind, CollectiveKind):
        raise EmulationError(
            f"{reference} is {type(kind).__name__}", remedy="name a CollectiveKind (docs/collectives.md)"
        )
    return replace(kind, name=reference)


@cache
def _installed() -> dict[str, EntryPoint]:
    """Return entry points of installed packages by name, without those that a kind of ours hides."""
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in _kinds}


@cache
def _loaded(point: EntryPoint) -> CollectiveKind:
    remedy = "repair the package that declares it, or uninstall it"
    try:
        kind = point.load()
    except Exception as ex:
        raise EmulationError(
            f"collective {point.name}: cannot load {point.value}: {ex}", remedy=remedy
        ) from ex
    if not isinstance(kind, CollectiveKind) or kind.name != point.name:
        raise EmulationError(
            f"collective {point.name}: {point.value} is {kind!r}, not a collective of that name",
            remedy=remedy,
        )
    return kind

# SPDX-License-Identifier: Apache-2.0
"""Comparison of a p4info's objects with the program's, by name; ProgramError names the first difference."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from finsy.proto import p4i

from emulation.errors import ProgramError

__all__ = [
    "REMEDY",
    "alias_of",
    "objects_by_id",
    "items_by_name",
    "find_object",
    "is_field",
    "present_objects",
    "check_same",
    "find_sized",
]

REMEDY = "push the p4info that the compiler wrote beside this program"

_Named = TypeVar(
    "_Named",
    p4i.Table,
    p4i.Action,
    p4i.ActionProfile,
    p4i.Counter,
    p4i.Meter,
    p4i.Register,
    p4i.Digest,
    p4i.DirectMeter,
    p4i.ValueSet,
)
_Sized = TypeVar("_Sized", p4i.Counter, p4i.Meter, p4i.Register)


def alias_of(info: _Named) -> str:
    """Return the alias of an object, or its full name if it has no alias."""
    return info.preamble.alias or info.preamble.name


def is_field(given: str, real: str) -> bool:
    """Return whether field `given` of the p4info is field `real` of the program.

    In a header with a struct p4c renames every field: "tag.pad" of the p4info is "_tag_pad7" in the program.
    """
    flat = "_" + given.replace(".", "_")
    return given == real or (real.startswith(flat) and real[len(flat) :].isdigit())


def find_sized(kind: str, info: _Sized, among: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the program's array named by `info`; ProgramError if it is absent or of another size."""
    real = find_object(kind, info.preamble.name, among)
    check_same(f"{kind} {info.preamble.name!r}", "size", info.size, real["size"])
    return real


def items_by_name(items: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the program's objects by name."""
    return {item["name"]: item for item in items}


def objects_by_id(kind: str, items: Iterable[_Named]) -> dict[int, _Named]:
    """Return the p4info's objects by id; ProgramError if an id is 0 or used twice."""
    result: dict[int, _Named] = {}
    for item in items:
        if item.preamble.id == 0 or item.preamble.id in result:
            raise ProgramError(
                f"p4info: {kind} {item.preamble.name!r} has id {item.preamble.id}, which is 0 or used twice",
                remedy=REMEDY,
            )
        result[item.preamble.id] = item
    return result


def present_objects(
    kind: str,
    items: Iterable[_Named],
    in_program: Mapping[str, Mapping[str, Any]],
    named: Iterable[str] | None = None,
) -> dict[int, _Named]:
    """Return the p4info's objects, by id, that the program has too.

    ProgramError if the p4info has an object that the program lacks, and also lacks a name of `named` (by
    default all names in the program).
    """
    known = objects_by_id(kind, items)
    missing = [info.preamble.name for info in known.values() if info.preamble.name not in in_program]
    unnamed = set(in_program if named is None else named) - {info.preamble.name for info in known.values()}
    if missing and unnamed:
        raise ProgramError(
            f"the p4info has {kind} {missing[0]!r}, but the program has {min(unnamed)!r} instead",
            remedy=REMEDY,
        )
    return {id: info for id, info in known.items() if info.preamble.name in in_program}


def find_object(kind: str, name: str, among: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the program's object with a name; ProgramError if absent."""
    if name not in among:
        raise ProgramError(f"the p4info has {kind} {name!r}, but the program does not", remedy=REMEDY)
    return among[name]


def check_same(what: str, property: str, in_p4info: object, in_program: object) -> None:
    """Raise ProgramError if a property differs between p4info and program."""
    if in_p4info != in_program:
        raise ProgramError(
            f"{what}: {property} is {in_p4info!r} in the p4info, but {in_program!r} in the program",
            remedy=REMEDY,
        )

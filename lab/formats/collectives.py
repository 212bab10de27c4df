# SPDX-License-Identifier: Apache-2.0
"""A collective inside a traffic graph: the direct algorithm, between computations that begin and end it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from emulation.traffic.collectives.declaration import Request
from emulation.traffic.collectives.registry import find
from emulation.traffic.graph.of_schedule import graph_of_schedule
from emulation.traffic.graph.operations import ELEMENT_BYTES, Operation

__all__ = ["begin_of", "collective", "end_of"]


def begin_of(name: str, member: str) -> str:
    """Return the name of the computation that begins a collective on a member."""
    return f"{name}@{member}"


def end_of(name: str, member: str) -> str:
    """Return the name of the computation that ends a collective on a member."""
    return f"{name}.end@{member}"


def collective(
    name: str,
    kind: str,
    members: Sequence[str],
    size: int,
    after: Mapping[str, Sequence[str]],
    tag: int,
    place: int,
    root: int = 0,
) -> tuple[list[Operation], int]:
    """Return the operations of a collective and the bytes that it takes in each member's buffer.

    Args:
        name: Name that begins the names of all operations.
        kind: Kind of collective, such as allreduce.
        members: Members by rank.
        size: Bytes of a member's array, rounded up to equal blocks.
        after: Operations that have to end on a member before it takes part.
        tag: First tag; a collective takes as many as it has transfers.
        place: First byte of the array in each member's buffer.
        root: Rank of the source of a broadcast or the target of a reduce.
    """
    ranks = len(members)
    elements = max(1, -(-size // (ELEMENT_BYTES * ranks))) * ranks
    algorithm = next(each for each in find(kind).algorithms if each.name == "direct")
    schedule = algorithm.build(Request((ranks,), elements, root=root))
    operations = [
        Operation(begin_of(name, member), "compute", member, after=tuple(after[member])) for member in members
    ]
    ends: dict[str, list[str]] = {member: [begin_of(name, member)] for member in members}
    for operation in graph_of_schedule(schedule, members).operations:
        read = None if operation.read is None else int(operation.read) + place
        write = None if operation.write is None else operation.write + place
        label = f"{name}.{operation.id}"
        operations.append(
            replace(
                operation,
                id=label,
                read=read,
                write=write,
                tag=tag + (operation.tag or 0),
                after=(begin_of(name, operation.member),),
            )
        )
        ends[operation.member].append(label)
    operations += [
        Operation(end_of(name, member), "compute", member, after=tuple(ends[member])) for member in members
    ]
    return operations, elements * ELEMENT_BYTES

# SPDX-License-Identifier: Apache-2.0
"""Operations of a collective in a traffic graph: begin marker, sends of the direct algorithm, end marker."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import attrgetter

from emulation.traffic.collectives.declaration import Request
from emulation.traffic.collectives.registry import find
from emulation.traffic.graph.operations import ELEMENT_BYTES, Operation
from emulation.traffic.schedule.dag import Transfer

__all__ = ["begin_of", "collective", "end_of"]


def begin_of(name: str, member: str) -> str:
    """Return the name of a member's compute operation at the start of the collective `name`."""
    return f"{name}@{member}"


def end_of(name: str, member: str) -> str:
    """Return the name of a member's compute operation at the end of the collective `name`."""
    return f"{name}.end@{member}"


def collective(
    name: str,
    kind: str,
    members: Sequence[str],
    size: int,
    after: Mapping[str, Sequence[str]],
    array_offset: int,
    root: int = 0,
    compute_ps: int = 0,
) -> tuple[list[Operation], int]:
    """Return a collective's operations, and the number of bytes needed for its data in each member's buffer.

    Every transfer is a send that writes into the target's buffer, even if the target has not yet begun. If
    blocks move to another offset, as in an all-to-all, they are written to a second array behind the first.
    No block is then overwritten before it has been sent.

    Args:
        name: Prefix of the names of all operations.
        kind: Kind of collective, such as allreduce.
        members: Members by rank.
        size: Bytes of a member's array; rounded up so that every rank has an equal block.
        after: By member, names of the operations that must end before the member begins the collective.
        array_offset: Offset of the array in each member's buffer, in bytes.
        root: Rank of the source of a broadcast, or of the target of a reduce.
        compute_ps: Duration of each member's computation before the collective, in picoseconds.
    """
    ranks = len(members)
    elements = max(1, -(-size // (ELEMENT_BYTES * ranks))) * ranks
    transfers = _direct(kind, ranks, elements, root)
    taken = elements * ELEMENT_BYTES
    moved = taken if any(t.shift for t in transfers) else 0
    operations = [
        Operation(
            begin_of(name, member), "compute", member, after=tuple(after[member]), compute_ps=compute_ps
        )
        for member in members
    ]
    ends: dict[str, list[str]] = {member: [begin_of(name, member)] for member in members}
    for number, t in enumerate(transfers):
        source, target, label = members[t.source], members[t.target], f"{name}.s{number}"
        operations.append(
            Operation(
                label,
                "send",
                source,
                target,
                t.length * ELEMENT_BYTES,
                read=array_offset + t.offset * ELEMENT_BYTES,
                write=array_offset + moved + (t.offset + t.shift) * ELEMENT_BYTES,
                combine=t.op,
                after=(begin_of(name, source),),
            )
        )
        ends[source].append(label)
        ends[target].append(label)
    operations += [
        Operation(end_of(name, member), "compute", member, after=tuple(ends[member])) for member in members
    ]
    return operations, taken + moved


@lru_cache(maxsize=64)
def _direct(kind: str, ranks: int, elements: int, root: int) -> tuple[Transfer, ...]:
    """Return the transfers of the direct algorithm for a collective, sorted by step and source."""
    algorithm = next(each for each in find(kind).algorithms if each.name == "direct")
    schedule = algorithm.build(Request((ranks,), elements, root=root))
    return tuple(sorted(schedule.transfers, key=attrgetter("step", "source")))

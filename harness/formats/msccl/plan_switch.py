# SPDX-License-Identifier: Apache-2.0
"""Execution plans of MSCCL++ whose switch adds up (NVLS), as a collective that switches carry out.

A GPU that carries out `glres` reads a chunk of all GPUs through the switch, which adds them up, and writes
the sum to all of them. Here the members send each chunk up a tree, whose root sends the sum down to all.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from emulation.traffic.graph.operations import ELEMENT_BYTES
from harness.formats.documents import Item, read_json
from harness.formats.imported import Imported
from harness.formats.msccl.symbols import MAX_CHUNKS

__all__ = ["read_switch_plan"]

_SUM: Final = "glres"
_SIGNALS: Final = frozenset({"signal", "rlxsignal"})
_WAITS: Final = frozenset({"wait", "rlxwait"})
_WITHOUT_DATA: Final = _SIGNALS | _WAITS | {"nop", "barrier", "flush", "sem_acquire", "sem_release"}


def read_switch_plan(path: Path, chunk_bytes: int) -> Imported | None:
    """Return the AllReduce of a plan with `glres`; None for a plan without.

    FormatError if the plan moves data in another way as well, adds a chunk never or twice, or reads a GPU
    that has not signalled.
    """
    document = read_json(path)
    gpus = document.child("gpus").elements()
    if not any(op.text("name") == _SUM for gpu in gpus for _, op in _operations(gpu)):
        return None
    if document.text("collective") != "allreduce":
        document.child("collective").refuse(
            f"collective {document.text('collective')!r} with {_SUM!r}", "give allreduce"
        )
    chunks = gpus[0].integer("input_chunks", low=1, high=MAX_CHUNKS)
    adder: dict[int, int] = {}
    for rank, gpu in enumerate(gpus):
        for first, count, item in _sums(gpu, rank, len(gpus)):
            for chunk in range(first, first + count):
                if chunk >= chunks:
                    item.refuse(f"chunk {chunk}, but GPUs have {chunks}")
                if adder.setdefault(chunk, rank) != rank or count > chunks:
                    item.refuse(f"chunk {chunk} is added up by GPU {adder[chunk]} already")
    if missing := sorted({*range(chunks)} - adder.keys()):
        document.child("gpus").refuse(f"no GPU adds up chunk {missing[0]}", "give every chunk to a GPU")
    name = document.text("name", path.stem)
    return Imported(
        name,
        None,
        topology={"name": "rail-only", "domains": 2, "hb_size": len(gpus), "inside": "switch"},
        collective=_collective(len(gpus), chunks * chunk_bytes),
        notes=(
            f"A chunk has {chunk_bytes} bytes; the file has no sizes.",
            "On GPUs a switch reads the memory of all when one asks; here each sends its blocks up.",
            "All begin at the same time, so signals before and after the sums are not sent.",
        ),
    )


def _collective(ranks: int, size: int) -> dict[str, Any]:
    return {
        "kind": "allreduce",
        "algorithm": "switch-tree",
        "elements": size // ELEMENT_BYTES,
        "members": [f"gpu0..gpu{ranks - 1}"],
    }


def _operations(gpu: Item) -> Iterator[tuple[Item, Item]]:
    """Yield each operation with its threadblock; those inside of a pipeline stand for themselves."""
    for block in gpu.items("threadblocks"):
        for op in block.items("ops"):
            if op.text("name") == "pipeline":
                yield from ((block, inner) for inner in op.items("ops"))
            else:
                yield block, op


def _sums(gpu: Item, rank: int, ranks: int) -> Iterator[tuple[int, int, Item]]:
    """Yield first chunk and number of chunks of each sum of a GPU."""
    peers = [
        peer.number(high=ranks - 1)
        for row in gpu.items("channels")
        if _kind(row) != "switch"
        for peer in row.items("connected_to")
    ]
    groups = [
        {each.number(high=ranks - 1) for each in group.items("ranks")}
        for row in gpu.items("channels")
        if _kind(row) == "switch"
        for group in row.items("rank_groups")
    ]
    heard: set[int] = {rank}
    for block, op in _operations(gpu):
        name = op.text("name")
        if name in _WAITS:
            own = [
                place.number(high=len(peers) - 1)
                for row in block.items("channels")
                if _kind(row) != "switch"
                for place in row.items("channel_ids")
            ]
            heard |= {peers[own[place.number(high=len(own) - 1)]] for place in op.items("channel_ids")}
        elif name == _SUM:
            (source,), (target,) = op.items("src_buff"), op.items("dst_buff")
            group = groups[source.integer("switch_channel_id", high=len(groups) - 1)]
            if len(group) != ranks:
                op.refuse(f"{_SUM!r} over {len(group)} of {ranks} GPUs", "take a plan that adds up all GPUs")
            if quiet := sorted(group - heard):
                op.refuse(
                    f"{_SUM!r} reads GPU {quiet[0]}, which has not signalled", "wait for every GPU before"
                )
            first, count = (source.integer(key, high=MAX_CHUNKS) for key in ("index", "size"))
            if (first, count) != (target.integer("index"), target.integer("size")):
                op.refuse(f"{_SUM!r} writes other chunks than it reads")
            yield first, count, op
        elif name not in _WITHOUT_DATA:
            op.refuse(f"operation {name!r} beside {_SUM!r}", f"take a plan whose data {_SUM!r} alone moves")


def _kind(row: Item) -> str:
    """Return the kind of channels; files have two names of the key."""
    return row.text("channel_type" if "channel_type" in row else "type")

# SPDX-License-Identifier: Apache-2.0
"""Importer of SimAI's workloads: layers of a model with computations and collectives, forward and backward.

The first line has `key: value` pairs, the second the number of layers. Each further line has 12 fields: name,
dependency, three times (computation in ns, collective, bytes) for the forward pass, for the gradients of the
input and for the gradients of the weights, and the time of the update (ns).

Every rank computes the layers forward and then backward. It waits for the collectives of the forward pass and
of the input gradients; collectives of weight gradients run beside the rest of the backward pass. Consecutive
computations without a collective between them become one operation. Collectives for which ranks wait share a
part of the buffers if their kind, group and size are equal, for they never run at the same time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from emulation.traffic.graph.operations import Operation
from harness.formats.collectives import begin_of, collective, end_of
from harness.formats.imported import MAX_OPERATIONS, WHOLE, Imported, Part, graph_of, mesh_of
from harness.formats.text import FileLocation, lines_of

__all__ = ["read_workload"]

_PS_PER_NS = 1000
_FIELDS = 12
_WEIGHTS = 2  # Index of the weight gradients among the three passes of a layer.
_MAX_BYTES = 1 << 40
_KINDS = {
    "ALLREDUCE": "allreduce",
    "ALLGATHER": "all-gather",
    "REDUCESCATTER": "reduce-scatter",
    "ALLTOALL": "all-to-all",
}


@final
@dataclass(frozen=True, slots=True)
class _Pass:
    """A computation of a layer and the collective after it, one of the three passes of a layer.

    `kind` is the kind of collective, empty for none; `group` (tp, dp, ep or dp_ep) says which ranks share it.
    """

    name: str
    compute_ps: int
    kind: str
    group: str
    size: int


@final
@dataclass(frozen=True)
class _Ranks:
    """Numbers of ranks in each kind of parallelism.

    Rank numbers count tensor-parallel ranks first, then data-parallel ranks, then pipeline stages.
    """

    tensor: int
    data: int
    pipeline: int
    expert: int

    @property
    def all(self) -> int:
        return self.tensor * self.data * self.pipeline

    def size(self, kind: str) -> int:
        """Return the number of ranks in a group of a kind (tp, dp, ep or dp_ep)."""
        return {
            "tp": self.tensor,
            "dp": self.data,
            "ep": self.expert,
            "dp_ep": self.data // self.expert,
        }[kind]

    def groups(self, kind: str) -> list[list[int]]:
        """Return all groups of a kind (tp, dp, ep or dp_ep), each as a list of ranks."""
        stages = [
            [
                [stage * self.data * self.tensor + d * self.tensor + t for t in range(self.tensor)]
                for d in range(self.data)
            ]
            for stage in range(self.pipeline)
        ]
        if kind == "tp":
            return [line for stage in stages for line in stage]
        columns = [[line[t] for line in stage] for stage in stages for t in range(self.tensor)]
        if kind == "dp":
            return columns
        blocks = [c[at : at + self.expert] for c in columns for at in range(0, self.data, self.expert)]
        return (
            blocks if kind == "ep" else [c[at :: self.expert] for c in columns for at in range(self.expert)]
        )


def read_workload(paths: Sequence[Path], part: Part = WHOLE) -> Imported:
    """Return the traffic of one forward and backward pass of a workload; rank R is npuR of a full mesh.

    Args:
        paths: A single workload file.
        part: Part of the workload to import.

    Raises:
        FormatError: The file is invalid, or the workload is too large.
    """
    (path,) = paths
    lines = lines_of(path)
    location, head = next(lines, (FileLocation(path), ""))
    values = _head(location, head)
    location, count = next(lines, (FileLocation(path), ""))
    layers = [_layer(*line) for line in lines]
    if location.integer(count, "number of layers", low=1) != len(layers):
        location.refuse(
            f"the second line says {count} layers, but the file has {len(layers)}; it may be cut short",
            "correct the number of layers",
        )
    whole = _ranks(FileLocation(path, 1), values)
    ranks = _fewer(FileLocation(path, 1), whole, part.ranks)
    taken = [
        tuple(_scaled(step, part.scale) for step in layer) for layer in layers[: part.layers or len(layers)]
    ]
    array_bytes = _bound(path, ranks, taken)
    forward = [layer[0] for layer in taken]
    backward = [step for layer in reversed(taken) for step in layer[1:]]
    built = _Built(ranks)
    for step in forward:
        built.add(step, waited=True)
    for at, step in enumerate(backward):
        built.add(step, waited=at % 2 == 0)
    built.end()
    graph, further = graph_of(path.stem, built.operations)
    notes = [
        "The traffic is one forward and one backward pass; collectives use the direct algorithm.",
        "The update of weights takes no time.",
        f"The arrays of all ranks take {array_bytes / 2**30:.3g} GiB.",
    ]
    if len(taken) < len(layers):
        notes.append(f"Only the first {len(taken)} of {len(layers)} layers are imported.")
    if part.scale != 1:
        notes.append(
            f"Sizes of messages and durations of computations are scaled by {part.scale:.10g}; "
            "delays of links and headers of frames are not."
        )
    if ranks != whole:
        notes.append(
            f"{ranks.all} of {whole.all} ranks are imported: {ranks.data} of {whole.data} data-parallel ranks"
            + (f", one of {whole.pipeline} pipeline stages." if whole.pipeline > 1 else ".")
        )
    elif ranks.pipeline > 1:
        notes.append("Every pipeline stage computes all layers; nothing is sent between stages.")
    return Imported(path.stem, graph, topology=mesh_of(ranks.all), notes=(*notes, *further))


def _scaled(step: _Pass, factor: float) -> _Pass:
    size = max(1, round(step.size * factor)) if step.size else 0
    return replace(step, compute_ps=round(step.compute_ps * factor), size=size)


def _fewer(location: FileLocation, whole: _Ranks, count: int | None) -> _Ranks:
    """Return the parallelism of `count` ranks of one pipeline stage, with fewer data-parallel ranks.

    Tensor- and expert-parallel groups keep their sizes. Without `count` all ranks of the file remain.
    Raises FormatError if `count` is no multiple of the groups, or exceeds a pipeline stage.
    """
    if count is None:
        return whole
    least = whole.tensor * whole.expert
    most = whole.tensor * whole.data
    if count % least or not least <= count <= most or count < 2:
        location.refuse(
            f"{count} ranks are no multiple of {whole.tensor} tensor-parallel by {whole.expert} "
            f"expert-parallel ranks, or more than the {most} ranks of a pipeline stage",
            f"give a multiple of {least} up to {most} to --ranks",
        )
    return replace(whole, data=count // whole.tensor, pipeline=1)


def _bound(path: Path, ranks: _Ranks, layers: Sequence[Sequence[_Pass]]) -> int:
    """Return the total size of the ranks' buffers in bytes.

    Raises FormatError if the workload needs too many operations or bytes; one line can stand for millions.
    """
    count, array_bytes = 3 * ranks.all, 0
    shapes = set()
    for layer in layers:
        for at, step in enumerate(layer):
            size = ranks.size(step.group)
            if not step.kind or size < 2:
                continue
            sends = (size - 1) * (2 if step.kind == "allreduce" else 1)
            count += ranks.all * (sends + 2)
            shape = (step.kind, step.group, step.size)
            if at == _WEIGHTS or shape not in shapes:
                array_bytes += step.size * (2 if step.kind == "all-to-all" else 1) * ranks.all
            if at != _WEIGHTS:
                shapes.add(shape)
    if count <= MAX_OPERATIONS and array_bytes <= _MAX_BYTES:
        return array_bytes
    least = max(2, ranks.tensor * ranks.expert)
    FileLocation(path, 1).refuse(
        f"{ranks.all} ranks and {len(layers)} layers need about {count} operations, and the arrays of all "
        f"ranks take {array_bytes / 2**30:.0f} GiB, which is more than {MAX_OPERATIONS} operations or "
        f"{_MAX_BYTES >> 30} GiB",
        f"import fewer ranks (--ranks {least}), fewer layers (--layers), or scale down sizes and durations "
        "(--scale 0.001) with `railyard import simai`",
    )


def _head(location: FileLocation, text: str) -> dict[str, int]:
    """Return the numbers of the first line by key; a colon may be missing, as after SimAI's `pp_comm`."""
    words = text.replace(":", " ").split()
    if not words or words[0].isdigit():
        location.refuse(
            "the first line has no `key: value` pairs",
            "begin with `... model_parallel_NPU_group: N ep: N pp: N ... all_gpus: N`",
        )
    values = {}
    for name, value in zip(words[1::2], words[2::2], strict=False):
        values[name] = location.integer(value, name)
    return values


def _ranks(location: FileLocation, values: dict[str, int]) -> _Ranks:
    tensor, stages, expert = (max(1, values.get(key, 1)) for key in ("model_parallel_NPU_group", "pp", "ep"))
    total = values.get("all_gpus", 0)
    if total < 2 or total % (tensor * stages):
        location.refuse(
            f"all_gpus {total} is no multiple of {tensor} tensor-parallel ranks by {stages} pipeline stages",
            f"give a multiple of {tensor * stages}, at least 2",
        )
    data = total // tensor // stages
    if data % expert:
        location.refuse(
            f"ep {expert} does not divide {data} data-parallel ranks", f"give a divisor of {data}"
        )
    return _Ranks(tensor, data, stages, expert)


def _layer(location: FileLocation, text: str) -> tuple[_Pass, _Pass, _Pass]:
    fields = text.split()
    if len(fields) != _FIELDS:
        location.refuse(f"the layer has {len(fields)} fields", f"give {_FIELDS} fields")
    return (
        _pass(location, fields[0], fields[2:5], "tp"),
        _pass(location, fields[0], fields[5:8], "tp"),
        _pass(location, fields[0], fields[8:11], "dp"),
    )


def _pass(location: FileLocation, name: str, fields: Sequence[str], group: str) -> _Pass:
    compute = location.integer(fields[0], "computation") * _PS_PER_NS
    size = location.integer(fields[2], "bytes")
    if fields[1] == "NONE" or not size:
        return _Pass(name, compute, "", group, 0)
    kind, _, suffix = fields[1].partition("_")
    if kind not in _KINDS or suffix not in ("", "EP", "DP_EP", "DP"):
        location.refuse(
            f"collective {fields[1]!r} is unknown",
            f"give NONE, {', '.join(_KINDS)}, or one of these with _EP, _DP or _DP_EP behind it",
        )
    return _Pass(name, compute, _KINDS[kind], suffix.lower() or group, size)


@final
class _Built:
    """Builds the operations of all ranks, pass by pass."""

    def __init__(self, ranks: _Ranks) -> None:
        self.operations: list[Operation] = []
        self._ranks = ranks
        self._last: dict[int, tuple[str, ...]] = {}
        self._offsets: dict[tuple[str, str, int], int] = {}
        self._computed_ps = 0  # Computation of every rank that no operation contains yet.
        self._number = self._end = 0

    def add(self, step: _Pass, *, waited: bool) -> None:
        """Add a computation on every rank and its collective; `waited`: the next computation waits for it."""
        self._number += 1
        self._computed_ps += step.compute_ps
        if step.kind and self._ranks.size(step.group) > 1:
            self._collective(f"{self._number}.{step.name}", step, waited=waited)

    def end(self) -> None:
        """Add the computations after the last collective, an operation for each rank."""
        if not self._computed_ps and self.operations:
            return
        self.operations += [
            Operation(
                f"end@{rank}",
                "compute",
                f"npu{rank}",
                after=self._last.get(rank, ()),
                compute_ps=self._computed_ps,
            )
            for rank in range(self._ranks.all)
        ]

    def _collective(self, name: str, step: _Pass, *, waited: bool) -> None:
        shape = (step.kind, step.group, step.size)
        offset = self._offsets.get(shape, self._end) if waited else self._end
        taken = 0
        for number, group in enumerate(self._ranks.groups(step.group)):
            members = [f"npu{rank}" for rank in group]
            after = {member: self._last.get(rank, ()) for member, rank in zip(members, group, strict=True)}
            label = f"{name}.{step.group}{number}"
            operations, taken = collective(
                label, step.kind, members, step.size, after, offset, compute_ps=self._computed_ps
            )
            self.operations += operations
            for member, rank in zip(members, group, strict=True):
                self._last[rank] = (end_of(label, member) if waited else begin_of(label, member),)
        self._computed_ps = 0
        if offset == self._end:
            self._end += taken
        if waited:
            self._offsets[shape] = offset

# SPDX-License-Identifier: Apache-2.0
"""SimAI's workloads: layers of a model with computations and collectives, forward and backward.

The first line has `key: value` pairs, the second the number of layers, and each further line 12 fields: name,
dependency, then computation (ns), collective and bytes of the forward pass, of the gradients of the input and
of the gradients of the weights, and the time of the update (ns).

Every rank carries out the layers forward and then backward. Collectives of the forward pass and of the
gradients of the input are waited for; those of weights run beside the rest of the backward pass.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from emulation.traffic.graph.operations import Operation
from lab.formats.collectives import collective, end_of
from lab.formats.imported import MAX_OPERATIONS, Imported, graph_of, mesh_of
from lab.formats.text import Place, lines_of

__all__ = ["read_workload"]

_PS_PER_NS = 1000
_FIELDS = 12
_KINDS = {
    "ALLREDUCE": "allreduce",
    "ALLGATHER": "all-gather",
    "REDUCESCATTER": "reduce-scatter",
    "ALLTOALL": "all-to-all",
}


@final
@dataclass(frozen=True, slots=True)
class _Pass:
    """A computation and the collective behind it; `group` is tp, dp, ep or dp_ep."""

    place: Place
    name: str
    compute_ns: int
    kind: str
    group: str
    size: int


@final
@dataclass(frozen=True)
class _Ranks:
    """Ranks by their places: tensor parallel first, then data parallel, then pipeline."""

    tensor: int
    data: int
    pipeline: int
    expert: int

    @property
    def all(self) -> int:
        return self.tensor * self.data * self.pipeline

    def groups(self, kind: str) -> list[list[int]]:
        """Return the groups of ranks that share a collective."""
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


def read_workload(paths: Sequence[Path]) -> Imported:
    """Return the traffic of a pass over a workload's layers; rank r is npuR of a full mesh."""
    (path,) = paths
    lines = lines_of(path)
    place, head = next(lines, (Place(path), ""))
    values = _head(place, head)
    place, count = next(lines, (Place(path), ""))
    layers = [_layer(*line) for line in lines]
    if place.integer(count, "number of layers", low=1) != len(layers):
        place.refuse(f"{count} layers, but the file has {len(layers)}; it may be cut short")
    ranks = _ranks(Place(path, 1), values)
    _bound(path, ranks, layers)
    forward = [layer[0] for layer in layers]
    backward = [step for layer in reversed(layers) for step in layer[1:]]
    built = _Built(ranks, path)
    for step in forward:
        built.add(step, waited=True)
    for at, step in enumerate(backward):
        built.add(step, waited=at % 2 == 0)
    graph, further = graph_of(path.stem, built.operations)
    notes = [
        "One forward and one backward pass; collectives are carried out by the direct algorithm.",
        "The update of weights takes no time.",
    ]
    if ranks.pipeline > 1:
        notes.append("Every pipeline stage computes all layers; nothing is sent between stages.")
    return Imported(path.stem, graph, topology=mesh_of(ranks.all), notes=(*notes, *further))


def _bound(path: Path, ranks: _Ranks, layers: Sequence[Sequence[_Pass]]) -> None:
    """Refuse a workload that would become too many operations: a line of it can stand for millions."""
    steps = [step for layer in layers for step in layer]
    count = len(steps) * ranks.all
    if count <= MAX_OPERATIONS:
        kinds = Counter(step.group for step in steps if step.kind)
        transfers = {kind: sum(4 * len(group) ** 2 for group in ranks.groups(kind)) for kind in kinds}
        count += sum(transfers[kind] * number for kind, number in kinds.items())
    if count > MAX_OPERATIONS:
        held = ranks.all * max(step.size for step in steps) / 2**30
        Place(path, 1).refuse(
            f"{ranks.all} ranks and {len(layers)} layers are {count} operations or so, and the arrays of the "
            f"largest collective take {held:.0f} GiB, for every rank holds real numbers",
            f"up to {MAX_OPERATIONS} operations are taken: lower all_gpus, take fewer layers and bytes",
        )


def _head(place: Place, text: str) -> dict[str, int]:
    """Return the numbers of the first line; `pp_comm` may stand without its colon."""
    words = text.replace(":", " ").split()
    if not words or words[0].isdigit():
        place.refuse("no first line with model_parallel_NPU_group, all_gpus and others")
    values = {}
    for name, value in zip(words[1::2], words[2::2], strict=False):
        values[name] = place.integer(value, name)
    return values


def _ranks(place: Place, values: dict[str, int]) -> _Ranks:
    tensor, stages, expert = (max(1, values.get(key, 1)) for key in ("model_parallel_NPU_group", "pp", "ep"))
    total = values.get("all_gpus", 0)
    if total < 2 or total % (tensor * stages):
        place.refuse(
            f"all_gpus {total}: no multiple of {tensor} tensor-parallel ranks by {stages} pipeline stages"
        )
    data = total // tensor // stages
    if data % expert:
        place.refuse(f"ep {expert} does not divide {data} data-parallel ranks")
    return _Ranks(tensor, data, stages, expert)


def _layer(place: Place, text: str) -> tuple[_Pass, _Pass, _Pass]:
    fields = text.split()
    if len(fields) != _FIELDS:
        place.refuse(f"{len(fields)} fields", f"give {_FIELDS}")
    return (
        _pass(place, fields[0], fields[2:5], "tp"),
        _pass(place, fields[0], fields[5:8], "tp"),
        _pass(place, fields[0], fields[8:11], "dp"),
    )


def _pass(place: Place, name: str, fields: Sequence[str], group: str) -> _Pass:
    compute = place.integer(fields[0], "computation")
    size = place.integer(fields[2], "bytes")
    if fields[1] == "NONE" or not size:
        return _Pass(place, name, compute, "", group, 0)
    kind, _, suffix = fields[1].partition("_")
    if kind not in _KINDS or suffix not in ("", "EP", "DP_EP", "DP"):
        place.refuse(f"collective {fields[1]!r}", f"give NONE, {', '.join(_KINDS)}, with _EP, _DP or _DP_EP")
    return _Pass(place, name, compute, _KINDS[kind], suffix.lower() or group, size)


@final
class _Built:
    """Operations of all ranks, pass by pass."""

    def __init__(self, ranks: _Ranks, path: Path) -> None:
        self.operations: list[Operation] = []
        self._ranks = ranks
        self._path = path
        self._last: dict[int, tuple[str, ...]] = {}
        self._number = self._place = self._tag = 0

    def add(self, step: _Pass, *, waited: bool) -> None:
        """Add a computation on every rank and the collective behind it."""
        self._number += 1
        name = f"{self._number}.{step.name}"
        for rank in range(self._ranks.all):
            computed = f"{name}@{rank}"
            self.operations.append(
                Operation(
                    computed,
                    "compute",
                    f"npu{rank}",
                    after=self._last.get(rank, ()),
                    compute_ps=step.compute_ns * _PS_PER_NS,
                )
            )
            self._last[rank] = (computed,)
        if step.kind:
            self._collective(name, step, waited=waited)

    def _collective(self, name: str, step: _Pass, *, waited: bool) -> None:
        longest = 0
        for number, group in enumerate(self._ranks.groups(step.group)):
            if len(group) < 2:
                continue
            members = [f"npu{rank}" for rank in group]
            after = {member: self._last[rank] for member, rank in zip(members, group, strict=True)}
            label = f"{name}.{step.group}{number}"
            operations, taken = collective(
                label, step.kind, members, step.size, after, self._tag, self._place
            )
            self.operations += operations
            self._tag += len(operations)
            longest = max(longest, taken)
            if waited:
                for member, rank in zip(members, group, strict=True):
                    self._last[rank] = (end_of(label, member),)
        self._place += longest

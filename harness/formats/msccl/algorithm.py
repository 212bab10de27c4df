# SPDX-License-Identifier: Apache-2.0
"""Reader of MSCCL's XML, as msccl-tools and RCCL use it: an algorithm of GPUs, threadblocks and steps.

A threadblock sends to a single peer and receives from a single peer on a channel. The peer's nth receive on
the channel takes the nth send. A step may wait for a step of another threadblock of its GPU (`depid`, `deps`;
-1 for none). A step of type `nop` moves no data; it adds a dependency to the steps after it. The file does
not give the size of a chunk.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final
from xml.parsers import expat

from harness.formats.msccl.symbols import MAX_CHUNKS
from harness.formats.text import FileLocation, open_file

__all__ = ["BUFFERS", "Algorithm", "Gpu", "Step", "Threadblock", "read_algorithm"]

BUFFERS = {"i": "input", "o": "output", "s": "scratch"}
_TYPES = frozenset({"s", "r", "rcs", "rrs", "rrc", "rrcs", "re", "cpy", "nop"})
_PARENTS = {"algo": "", "gpu": "algo", "tb": "gpu", "step": "tb"}
_MAX = 1 << 24
_MAX_STEPS = 1 << 20


@final
@dataclass(frozen=True, slots=True)
class Step:
    """A step of a threadblock.

    Attributes:
        line: Line in the file.
        type: s send, r receive, re reduce, cpy copy, nop; in rcs, rrs, rrc and rrcs the letters stand for
            receive, reduce (second r), copy and send.
        source: Buffer and first chunk that the step reads.
        target: Buffer and first chunk that the step writes.
        count: Number of chunks.
        wait: Threadblock and step that must end before; None without a dependency.
    """

    line: int
    type: str
    source: tuple[str, int]
    target: tuple[str, int]
    count: int
    wait: tuple[int, int] | None

    @property
    def receives(self) -> bool:
        """True if the step receives data from a peer."""
        return self.type in ("r", "rcs", "rrs", "rrc", "rrcs")

    @property
    def sends(self) -> bool:
        """True if the step sends data to a peer."""
        return self.type in ("s", "rcs", "rrs", "rrcs")


@final
@dataclass(slots=True)
class Threadblock:
    """A threadblock of a GPU; it sends to GPU `send` and receives from GPU `receive` (-1 for none)."""

    line: int
    id: int
    send: int
    receive: int
    channel: int
    steps: list[Step]


@final
@dataclass(slots=True)
class Gpu:
    """A GPU: number of chunks of each buffer (i input, o output, s scratch), and threadblocks by id."""

    line: int
    chunks: dict[str, int]
    threadblocks: dict[int, Threadblock]


@final
@dataclass(slots=True)
class Algorithm:
    """An MSCCL algorithm; with `in_place`, input and output share memory if the collective allows it."""

    path: Path
    name: str
    collective: str
    in_place: bool
    gpus: list[Gpu]


@final
class _Reader:
    """Builds an algorithm in the handlers of an expat parser."""

    def __init__(self, path: Path) -> None:
        self.algorithm: Algorithm | None = None
        self._path = path
        self._gpus: dict[int, Gpu] = {}
        self._open: list[str] = []
        self._steps = 0
        self._threadblock: Threadblock | None = None
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.StartDoctypeDeclHandler = self._doctype

    @property
    def location(self) -> FileLocation:
        return FileLocation(self._path, self.parser.CurrentLineNumber)

    def _doctype(self, *_: object) -> None:
        self.location.refuse("the file has a DOCTYPE, which is not allowed", "remove it")

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        parent = self._open[-1] if self._open else ""
        if _PARENTS.get(tag) != parent:
            where = f"inside <{parent}>" if parent else "at the top level"
            self.location.refuse(
                f"<{tag}> is not allowed {where}", "nest the elements as algo, gpu, tb and step"
            )
        self._open.append(tag)
        {"algo": self._algo, "gpu": self._gpu, "tb": self._tb, "step": self._step}[tag](attributes)

    def _end(self, _: str) -> None:
        self._open.pop()

    def _number(
        self,
        values: Mapping[str, str],
        key: str,
        low: int = 0,
        default: str | None = None,
        high: int = _MAX,
    ) -> int:
        text = values.get(key, default)
        if text is None:
            self.location.refuse(f"attribute {key!r} is missing", f"add {key}=...")
        return self.location.integer(text, key, low=low, high=high)

    def _algo(self, values: Mapping[str, str]) -> None:
        in_place = values.get("inplace", "0") != "0" and values.get("outofplace", "0") == "0"
        name = values.get("name") or self._path.stem
        self.algorithm = Algorithm(self._path, name, values.get("coll", "custom"), in_place, [])

    def _gpu(self, values: Mapping[str, str]) -> None:
        number = self._number(values, "id")
        if number in self._gpus:
            self.location.refuse(f"gpu {number} appears twice", "give each gpu an id of its own")
        chunks = {
            buffer: self._number(values, f"{buffer}_chunks", default="0", high=MAX_CHUNKS)
            for buffer in BUFFERS
        }
        self._gpus[number] = Gpu(self.location.line, chunks, {})
        self._last = number

    def _tb(self, values: Mapping[str, str]) -> None:
        number, threadblocks = self._number(values, "id"), self._gpus[self._last].threadblocks
        if number in threadblocks:
            self.location.refuse(
                f"threadblock {number} of gpu {self._last} appears twice", "give each tb an id of its own"
            )
        send, receive = (self._number(values, key, low=-1, default="-1") for key in ("send", "recv"))
        channel = self._number(values, "chan", default="0")
        self._threadblock = Threadblock(self.location.line, number, send, receive, channel, [])
        threadblocks[number] = self._threadblock

    def _step(self, values: Mapping[str, str]) -> None:
        threadblock = self._threadblock
        assert threadblock is not None
        self._steps += 1
        if self._steps > _MAX_STEPS:
            self.location.refuse(f"the algorithm has more than {_MAX_STEPS} steps", "use fewer steps")
        number = self._number(values, "s")
        if number != len(threadblock.steps):
            self.location.refuse(
                f"expected step {len(threadblock.steps)} of the threadblock, got step {number}",
                "number the steps of a threadblock from 0 without gaps",
            )
        kind = values.get("type", "")
        if kind not in _TYPES:
            self.location.refuse(f"step type {kind!r} is unknown", f"give {', '.join(sorted(_TYPES))}")
        after, step = (self._number(values, key, low=-1, default="-1") for key in ("depid", "deps"))
        wait = (after, step) if after >= 0 and step >= 0 else None
        moved = Step(
            self.location.line,
            kind,
            self._chunks(values, "src", kind),
            self._chunks(values, "dst", kind),
            self._number(values, "cnt", default="0" if kind == "nop" else None),
            wait,
        )
        for key, peer in (("send", threadblock.send), ("recv", threadblock.receive)):
            if (moved.sends if key == "send" else moved.receives) and peer < 0:
                self.location.refuse(
                    f"step type {kind!r} needs a peer, but its threadblock has {key}=-1",
                    f"give the number of a GPU in {key}",
                )
        self._check(moved)
        threadblock.steps.append(moved)

    def _chunks(self, values: Mapping[str, str], side: str, kind: str) -> tuple[str, int]:
        buffer = values.get(f"{side}buf", "i")
        if kind != "nop" and buffer not in BUFFERS:
            self.location.refuse(f"{side}buf {buffer!r} is unknown", "give i, o or s")
        return buffer, self._number(values, f"{side}off", low=-1, default="0")

    def _check(self, step: Step) -> None:
        """Raise FormatError if a step reads or writes chunks beyond the end of a buffer."""
        if step.type == "nop":
            return
        if step.count < 1:
            self.location.refuse(f"cnt {step.count} is too small", "give 1 or more")
        used = {"s": "s", "r": "d", "rcs": "d", "rrs": "s"}.get(step.type, "sd")
        for side, (buffer, first) in zip("sd", (step.source, step.target), strict=True):
            size = self._gpus[self._last].chunks[buffer]
            if side in used and not 0 <= first <= size - step.count:
                self.location.refuse(
                    f"the step uses chunks {first} to {first + step.count - 1} of buffer {buffer}, which has "
                    f"{size} chunks",
                    f"correct the step, or {buffer}_chunks of the gpu",
                )

    def finish(self) -> Algorithm:
        """Return the algorithm after the last element.

        Raises FormatError if GPU ids have gaps, or a step names a GPU, threadblock or step that does not
        exist.
        """
        location = self.location
        if self.algorithm is None or not self._gpus:
            location.refuse("the algorithm has no gpu", "add a <gpu> element for each GPU")
        count = len(self._gpus)
        if sorted(self._gpus) != [*range(count)]:
            location.refuse(f"the ids of {count} GPUs are not 0 to {count - 1}", "number the GPUs from 0")
        for gpu in self._gpus.values():
            for threadblock in gpu.threadblocks.values():
                self._resolve(gpu, threadblock, count)
        self.algorithm.gpus = [self._gpus[number] for number in range(count)]
        return self.algorithm

    def _resolve(self, gpu: Gpu, threadblock: Threadblock, gpus: int) -> None:
        for peer in (threadblock.send, threadblock.receive):
            if peer >= gpus:
                FileLocation(self._path, threadblock.line).refuse(
                    f"the threadblock has peer {peer}, but there are only {gpus} GPUs",
                    f"give 0 to {gpus - 1}, or -1 for none",
                )
        for step in threadblock.steps:
            if step.wait is None:
                continue
            other = gpu.threadblocks.get(step.wait[0])
            if other is None or step.wait[1] >= len(other.steps):
                FileLocation(self._path, step.line).refuse(
                    f"the step waits for step {step.wait[1]} of threadblock {step.wait[0]}, which is missing",
                    "correct depid and deps",
                )


def read_algorithm(path: Path) -> Algorithm:
    """Return the algorithm of an XML file; an invalid file raises FormatError with file and line."""
    reader = _Reader(path)
    try:
        with open_file(path) as file:
            reader.parser.ParseFile(file)
    except OSError as ex:
        FileLocation(path).refuse(
            f"the file cannot be read: {ex.strerror or ex}", "name an existing file that you may read"
        )
    except expat.ExpatError as ex:
        FileLocation(path, ex.lineno).refuse(
            f"the file is no valid XML: {expat.ErrorString(ex.code)}", "correct the line"
        )
    return reader.finish()


def threadblocks_of(algorithm: Algorithm) -> Sequence[tuple[int, Threadblock]]:
    """Return all threadblocks of an algorithm as (id of the GPU, threadblock)."""
    return [(rank, block) for rank, gpu in enumerate(algorithm.gpus) for block in gpu.threadblocks.values()]

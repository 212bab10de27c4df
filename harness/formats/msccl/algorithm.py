# SPDX-License-Identifier: Apache-2.0
"""MSCCL's XML: an algorithm of GPUs, threadblocks and steps, as msccl-tools and RCCL have it.

A threadblock sends to a single peer and receives from a single peer on a channel; the nth send of a channel
meets the nth receive of its peer. A step may wait for a step of another threadblock of its GPU (`depid`,
`deps`; -1 stands for none); `nop` carries a further dependency of the step behind it. The file has no sizes:
a chunk is as long as the caller says.
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
    """A step; chunks `source` and `target` are (buffer, first chunk), `wait` is (threadblock, step)."""

    line: int
    type: str
    source: tuple[str, int]
    target: tuple[str, int]
    count: int
    wait: tuple[int, int] | None

    @property
    def receives(self) -> bool:
        """True if the step takes data from the peer."""
        return self.type in ("r", "rcs", "rrs", "rrc", "rrcs")

    @property
    def sends(self) -> bool:
        """True if the step gives data to the peer."""
        return self.type in ("s", "rcs", "rrs", "rrcs")


@final
@dataclass(slots=True)
class Threadblock:
    """A threadblock: the peers to which it sends and from which it receives, or -1, and its channel."""

    line: int
    id: int
    send: int
    receive: int
    channel: int
    steps: list[Step]


@final
@dataclass(slots=True)
class Gpu:
    """A GPU: chunks of its buffers by their letters i, o and s, and its threadblocks by number."""

    line: int
    chunks: dict[str, int]
    threadblocks: dict[int, Threadblock]


@final
@dataclass(slots=True)
class Algorithm:
    """An algorithm; with `in_place`, input and output are the same memory where the collective allows it."""

    path: Path
    name: str
    collective: str
    in_place: bool
    gpus: list[Gpu]


@final
class _Reader:
    """Handlers of the XML parser."""

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
        self.location.refuse("a DOCTYPE", "algorithms need none, leave it out")

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        parent = self._open[-1] if self._open else ""
        if _PARENTS.get(tag) != parent:
            self.location.refuse(f"<{tag}> inside <{parent or 'nothing'}>", "an algo has gpu, tb and step")
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
            self.location.refuse(f"no attribute {key!r}")
        return self.location.integer(text, key, low=low, high=high)

    def _algo(self, values: Mapping[str, str]) -> None:
        in_place = values.get("inplace", "0") != "0" and values.get("outofplace", "0") == "0"
        name = values.get("name") or self._path.stem
        self.algorithm = Algorithm(self._path, name, values.get("coll", "custom"), in_place, [])

    def _gpu(self, values: Mapping[str, str]) -> None:
        number = self._number(values, "id")
        if number in self._gpus:
            self.location.refuse(f"gpu {number} is there twice")
        chunks = {
            buffer: self._number(values, f"{buffer}_chunks", default="0", high=MAX_CHUNKS)
            for buffer in BUFFERS
        }
        self._gpus[number] = Gpu(self.location.line, chunks, {})
        self._last = number

    def _tb(self, values: Mapping[str, str]) -> None:
        number, threadblocks = self._number(values, "id"), self._gpus[self._last].threadblocks
        if number in threadblocks:
            self.location.refuse(f"threadblock {number} of gpu {self._last} is there twice")
        send, receive = (self._number(values, key, low=-1, default="-1") for key in ("send", "recv"))
        channel = self._number(values, "chan", default="0")
        self._threadblock = Threadblock(self.location.line, number, send, receive, channel, [])
        threadblocks[number] = self._threadblock

    def _step(self, values: Mapping[str, str]) -> None:
        threadblock = self._threadblock
        assert threadblock is not None
        self._steps += 1
        if self._steps > _MAX_STEPS:
            self.location.refuse(f"more than {_MAX_STEPS} steps")
        number = self._number(values, "s")
        if number != len(threadblock.steps):
            self.location.refuse(
                f"step {number} behind step {len(threadblock.steps) - 1}", "number steps from 0"
            )
        kind = values.get("type", "")
        if kind not in _TYPES:
            self.location.refuse(f"step type {kind!r}", f"give {', '.join(sorted(_TYPES))}")
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
                self.location.refuse(f"step type {kind!r}, but its threadblock has {key}=-1")
        self._check(moved)
        threadblock.steps.append(moved)

    def _chunks(self, values: Mapping[str, str], side: str, kind: str) -> tuple[str, int]:
        buffer = values.get(f"{side}buf", "i")
        if kind != "nop" and buffer not in BUFFERS:
            self.location.refuse(f"{side}buf {buffer!r}", "give i, o or s")
        return buffer, self._number(values, f"{side}off", low=-1, default="0")

    def _check(self, step: Step) -> None:
        """Refuse chunks past the end of a buffer, for the sides that the type uses."""
        if step.type == "nop":
            return
        if step.count < 1:
            self.location.refuse(f"cnt {step.count}", "give 1 or more")
        used = {"s": "s", "r": "d", "rcs": "d", "rrs": "s"}.get(step.type, "sd")
        for side, (buffer, first) in zip("sd", (step.source, step.target), strict=True):
            size = self._gpus[self._last].chunks[buffer]
            if side in used and not 0 <= first <= size - step.count:
                self.location.refuse(
                    f"chunks {first} to {first + step.count - 1} of buffer {buffer}, which has {size}"
                )

    def finish(self) -> Algorithm:
        """Return the algorithm; its GPUs are numbered without a gap, and what steps name is there."""
        location = self.location
        if self.algorithm is None or not self._gpus:
            location.refuse("no gpu")
        count = len(self._gpus)
        if sorted(self._gpus) != [*range(count)]:
            location.refuse(f"{count} GPUs, but their ids are not 0 to {count - 1}")
        for gpu in self._gpus.values():
            for threadblock in gpu.threadblocks.values():
                self._resolve(gpu, threadblock, count)
        self.algorithm.gpus = [self._gpus[number] for number in range(count)]
        return self.algorithm

    def _resolve(self, gpu: Gpu, threadblock: Threadblock, gpus: int) -> None:
        for peer in (threadblock.send, threadblock.receive):
            if peer >= gpus:
                FileLocation(self._path, threadblock.line).refuse(f"peer {peer}, but there are {gpus} GPUs")
        for step in threadblock.steps:
            if step.wait is None:
                continue
            other = gpu.threadblocks.get(step.wait[0])
            if other is None or step.wait[1] >= len(other.steps):
                FileLocation(self._path, step.line).refuse(
                    f"depid={step.wait[0]} deps={step.wait[1]}: this GPU has no such step"
                )


def read_algorithm(path: Path) -> Algorithm:
    """Return the algorithm of an XML file; FormatError names file and line of what is wrong."""
    reader = _Reader(path)
    try:
        with open_file(path) as file:
            reader.parser.ParseFile(file)
    except OSError as ex:
        FileLocation(path).refuse(ex.strerror or str(ex))
    except expat.ExpatError as ex:
        FileLocation(path, ex.lineno).refuse(f"no XML: {expat.ErrorString(ex.code)}")
    return reader.finish()


def threadblocks_of(algorithm: Algorithm) -> Sequence[tuple[int, Threadblock]]:
    """Return all threadblocks with the number of their GPU."""
    return [(rank, block) for rank, gpu in enumerate(algorithm.gpus) for block in gpu.threadblocks.values()]

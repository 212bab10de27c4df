# SPDX-License-Identifier: Apache-2.0
"""Damaged, lying and hostile files give a value or an error that names the file, in bounded memory."""

import gzip
import json
import os
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import FormatError
from harness.formats import imported, simai
from harness.formats.chakra.trace import read_trace
from harness.formats.detection import format_of
from harness.formats.msccl import symbols
from harness.formats.registry import FORMATS, read_files
from tests.harness.formats.samples import ESI, FAULTS, GOAL, LINKS, MATRIX, NODES, TASKS, WORKLOAD, case, ring
from tests.harness.formats.test_mscclpp import packets, pair
from topologies.errors import TopologyError

_FILES = {
    "goal": ("sample.goal", GOAL),
    "htsim": ("sample.cm", MATRIX),
    "msccl": ("sample.xml", ring()),
    "mscclpp": ("sample.json", json.dumps(packets(), indent=0)),
    "simai": ("sample.txt", WORKLOAD),
    "chakra": ("sample.1.json", ESI),
}
_CASE = {"node": NODES, "topology": LINKS, "traffic": TASKS, "fault": FAULTS}
_WORDS = st.sampled_from(
    [
        b"",
        b"-1",
        b"65535",
        b"999999999999",
        b"1e400",
        b"\xff",
        b"\0",
        b"..",
        b",",
        b"->",
        b"\n",
        b"<",
        b"[",
        b'"',
    ]
)
_CUTS = st.lists(st.tuples(st.integers(0, 6000), st.integers(0, 12), _WORDS), min_size=1, max_size=4)

# Bytes that a reader may hold for a file of a few kilobytes.
_MEMORY = 96 << 20


def _damaged(text: str, cuts: list[tuple[int, int, bytes]]) -> bytes:
    data = text.encode()
    for place, length, word in cuts:
        at = place % (len(data) + 1)
        data = data[:at] + word + data[at + length :]
    return data


@contextmanager
def _memory(limit: int) -> Iterator[None]:
    """Fail if the block holds more bytes than the limit at any time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()


def _reads_or_refuses(name: str, path: Path) -> None:
    refusal = str(path)
    try:
        # A number of a workload stands for many operations: the bound is lower here, for the time it takes.
        with pytest.MonkeyPatch.context() as patch, _memory(_MEMORY):
            patch.setattr(simai, "MAX_OPERATIONS", 1 << 12)
            read_files(name, [path])
    except FormatError as ex:
        refusal = str(ex)
    except TopologyError:
        pass  # the fabric of a case is refused by the node or link at fault
    assert str(path) in refusal


def test_every_format_is_damaged_here() -> None:
    assert {*_FILES, "ns-3-ub"} == {*FORMATS}


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(sorted(_FILES)), cuts=_CUTS)
def test_damaged_files(name: str, cuts: list[tuple[int, int, bytes]]) -> None:
    file, text = _FILES[name]
    with TemporaryDirectory() as folder:
        path = Path(folder) / file
        path.write_bytes(_damaged(text, cuts))
        _reads_or_refuses(name, path)


@settings(max_examples=60, deadline=None)
@given(file=st.sampled_from(sorted(_CASE)), cuts=_CUTS)
def test_damaged_cases(file: str, cuts: list[tuple[int, int, bytes]]) -> None:
    with TemporaryDirectory() as folder:
        for name, text in _CASE.items():
            data = _damaged(text, cuts) if name == file else text.encode()
            (Path(folder) / f"{name}.csv").write_bytes(data)
        _reads_or_refuses("ns-3-ub", Path(folder))


@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=200), packed=st.booleans(), name=st.sampled_from(sorted(FORMATS)))
def test_any_bytes(name: str, data: bytes, packed: bool) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.0.et"
        path.write_bytes(gzip.compress(data) if packed else data)
        _reads_or_refuses(name, path)


@pytest.mark.parametrize("name", sorted(_FILES))
def test_truncated_files(tmp_path: Path, name: str) -> None:
    file, text = _FILES[name]
    path = tmp_path / file
    for length in range(0, len(text), max(1, len(text) // 60)):
        path.write_text(text[:length])
        _reads_or_refuses(name, path)


def _large_gpu(number: int) -> str:
    return f'<gpu id="{number}" i_chunks="65536" o_chunks="65536" s_chunks="65536"/>'


def _workload(ranks: int, size: int) -> str:
    head = f"HYBRID model_parallel_NPU_group: 1 ep: 1 pp: 1 all_gpus: {ranks}"
    return f"{head}\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE {size} 1\n"


LIES = {
    "empty GPUs with many chunks": (
        "msccl",
        '<algo name="a" ngpus="200" coll="alltoall" inplace="0">'
        + "".join(map(_large_gpu, range(200)))
        + "</algo>",
        "output chunk 0 of GPU 0 is the sum of nothing",
    ),
    "steps that copy many chunks": (
        "msccl",
        '<algo name="a" ngpus="1" coll="allreduce" inplace="1">'
        '<gpu id="0" i_chunks="32768" o_chunks="32768" s_chunks="0"><tb id="0" send="-1" recv="-1" chan="0">'
        + "".join(
            f'<step s="{n}" type="cpy" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="32768"/>'
            for n in range(8)
        )
        + "</tb></gpu></algo>",
        "the steps move, add or wait for too much data to check the result",
    ),
    "a barrier of many flows that starts many flows": (
        "htsim",
        "Nodes 2\nConnections 300\nTriggers 1\n"
        + "0->1 start 0 size 4 send_done_trigger 1\n" * 150
        + "0->1 trigger 1 size 4\n" * 150
        + "trigger id 1 barrier count 150\n",
        "operations have more than 16384 dependencies",
    ),
    "operations that begin with each other": (
        "goal",
        "num_ranks 2\nrank 0 {\n"
        + "".join(f"a{n}: send 4b to 1\n" for n in range(200))
        + "".join(f"a{n + 1} irequires a{n}\n" for n in range(199))
        + "}\n",
        "operations have more than 16384 dependencies",
    ),
    "many ranks in a line": (
        "simai",
        _workload(20_000, 64),
        "more than 2097152 operations or 1024 GiB",
    ),
    "a model beyond memory": (
        "simai",
        _workload(800_000, 1 << 30),
        "the arrays of all ranks take 800000 GiB",
    ),
    "a time beyond a run": (
        "goal",
        "num_ranks 2\nrank 0 {\na: calc 9000000000000000\n}\n",
        "compute_ps of operation r0.a is 9000000000000000000",
    ),
}


@pytest.mark.parametrize(("name", "text", "message"), LIES.values(), ids=LIES)
def test_files_that_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, message: str
) -> None:
    path = tmp_path / "liar"
    path.write_text(text)
    monkeypatch.setattr(imported, "_MAX_WAITS", 1 << 14)
    monkeypatch.setattr(symbols, "_TERMS", 1 << 14)
    with _memory(_MEMORY), pytest.raises(FormatError, match="liar") as caught:
        read_files(name, [path])
    assert message in str(caught.value)


def test_phases_that_wait_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imported, "_MAX_WAITS", 1 << 14)
    folder = case(tmp_path)
    head = TASKS.splitlines()[0]
    first = [f"{n},0,1,8,URMA_WRITE,7,0ns,1," for n in range(150)]
    then = [f"{n + 150},0,1,8,URMA_WRITE,7,0ns,2,1" for n in range(150)]
    (folder / "traffic.csv").write_text("\n".join([head, *first, *then]))
    with pytest.raises(FormatError, match=r"traffic\.csv:\d+: operations have more than 16384 dependencies"):
        read_files("ns-3-ub", [folder])


def test_ranks_that_share_collectives(tmp_path: Path) -> None:
    from harness.formats.chakra.trace import node_class

    nodes = b""
    for number in range(200):
        node = node_class()(id=number + 1, type=7)
        node.attr.add(name="comm_type", int64_val=0)
        node.attr.add(name="comm_size", int64_val=8)
        message = node.SerializeToString()
        nodes += bytes([len(message)]) + message
    for rank in range(80):
        (tmp_path / f"a.{rank}.et").write_bytes(b"\x00" + nodes)
    with _memory(_MEMORY), pytest.raises(FormatError, match="200 collectives need up to 2560000 operations"):
        read_files("chakra", [tmp_path])


@pytest.mark.parametrize("file", ["a.0.et", "a.0.json"])
def test_a_gzip_bomb_stops_early(tmp_path: Path, file: str) -> None:
    """The first message has no bytes, the second 12 MiB of zeros."""
    path = tmp_path / file
    path.write_bytes(gzip.compress(b"\x00\x80\x80\x80\x06" + bytes(12 << 20)))
    assert path.stat().st_size < 20_000
    with _memory(_MEMORY), pytest.raises(FormatError, match="more than 64 bytes for each compressed byte"):
        read_files("chakra", [path])


def test_damaged_gzip(tmp_path: Path) -> None:
    path = tmp_path / "a.0.et"
    data = bytearray(gzip.compress(os.urandom(2000)))
    data[1000] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(FormatError, match=r"a\.0\.et"):
        [*read_trace(path)]


@pytest.mark.parametrize(
    "entity",
    ['<!ENTITY a SYSTEM "file:///etc/hostname">', '<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">', ""],
)
def test_xml_has_no_entities(tmp_path: Path, entity: str) -> None:
    path = tmp_path / "a.xml"
    path.write_text(ring().replace("<algo", f"<!DOCTYPE algo [{entity}]><algo", 1).replace("ring", "&b;", 1))
    with pytest.raises(FormatError, match=r"a\.xml:1: the file has a DOCTYPE"):
        read_files("msccl", [path])


@pytest.mark.parametrize("name", ["node", "topology", "traffic", "fault"])
def test_no_link_leads_out_of_a_case(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "case"
    folder.mkdir()
    case(folder)
    outside = tmp_path / "secret"
    (folder / f"{name}.csv").rename(outside)
    (folder / f"{name}.csv").symlink_to("../secret")
    with pytest.raises(FormatError, match=rf"{name}\.csv: the path leads out of"):
        read_files("ns-3-ub", [folder])
    (folder / f"{name}.csv").unlink()
    outside.rename(folder / "kept")
    (folder / f"{name}.csv").symlink_to("kept")
    assert read_files("ns-3-ub", [folder]).fabric is not None


def test_no_link_leads_out_of_a_folder_of_traces(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / "a.0.et").symlink_to("/etc/hostname")
    with pytest.raises(FormatError, match=r"a\.0\.et: the path leads out of"):
        read_files("chakra", [folder])
    (folder / "a.0.et").unlink()
    (folder / "a.0.et").symlink_to("a.0.et")
    with pytest.raises(FormatError, match=r"a\.0\.et"):
        read_files("chakra", [folder])


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_no_pipe_or_device_is_read(tmp_path: Path, name: str) -> None:
    pipe = tmp_path / "pipe.0.json"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(FormatError, match=r"regular file|no folder|no rank"):
            read_files(name, [path])
    with pytest.raises(FormatError, match="no regular file"):
        format_of(pipe)


def test_a_plan_may_be_deep_or_large(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    for text in ('{"gpus":' * 50_000, json.dumps({**pair(), "gpus": [{"id": 10**30}] * 2})):
        path.write_text(text)
        with pytest.raises(FormatError, match=r"plan\.json"):
            read_files("mscclpp", [path])

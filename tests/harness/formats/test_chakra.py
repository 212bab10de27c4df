# SPDX-License-Identifier: Apache-2.0
"""Chakra's traces: nodes in any arm of their attributes, collectives joined over ranks, damage refused."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import FormatError
from harness.formats.chakra.trace import node_class, read_trace
from harness.formats.imported import Imported
from harness.formats.registry import read_files

COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7


def _node(number: int, kind: int, waits: tuple[int, ...] = (), duration_us: int = 0, **values: Any) -> bytes:
    message = node_class()(
        id=number, name=f"n{number}", type=kind, data_deps=waits, duration_micros=duration_us
    )
    for name, value in values.items():
        arm, content = value if isinstance(value, tuple) else ("int64_val", value)
        message.attr.add(name=name, **{arm: content})
    return message.SerializeToString()


def _trace(*nodes: bytes) -> bytes:
    """Return a trace: each message behind its length of 7 bits a byte; the first is of the trace itself."""
    data = b""
    for message in (b"\x0a\x010", *nodes):
        length = len(message)
        while length > 0x7F:
            data, length = data + bytes([length & 0x7F | 0x80]), length >> 7
        data += bytes([length]) + message
    return data


def _pair() -> list[bytes]:
    first = _trace(
        _node(0, COMPUTE, duration_us=3, is_cpu_op=("bool_val", True)),
        _node(1, SEND, (0,), comm_dst=("int32_val", 1), comm_size=("uint64_val", 400), comm_tag=5),
        _node(2, COLLECTIVE, (1,), comm_type=0, comm_size=1000),
        _node(3, COLLECTIVE, (2,), is_cpu_op=("bool_val", True)),
    )
    second = _trace(
        _node(7, RECEIVE, (), comm_src=("sint32_val", 0), comm_size=400, comm_tag=("fixed32_val", 5)),
        _node(9, COLLECTIVE, (7,), comm_type=("uint32_val", 0), comm_size=1000),
        _node(10, COMPUTE, (9, 99), duration_us=2),
    )
    return [first, second]


def _read(folder: Path, traces: list[bytes]) -> Imported:
    for rank, data in enumerate(traces):
        (folder / f"pair.{rank}.et").write_bytes(data)
    return read_files("chakra", [folder])


def test_two_ranks(tmp_path: Path) -> None:
    imported = _read(tmp_path, _pair())
    operations = {operation.id: operation for operation in imported.graph.operations}
    assert (operations["r0.0"].compute_ps, operations["r0.0"].unit) == (3_000_000, 1)
    send, receive = operations["r0.1"], operations["r1.7"]
    assert (send.size, send.tag, send.peer, send.after) == (400, 5, "npu1", ("r0.0",))
    assert (receive.peer, receive.tag) == ("npu0", 5)
    assert operations["all.0@npu1"].after == ("r1.7",)
    assert operations["r1.10"].after == ("all.0.end@npu1",)
    moved = sum(o.size for o in operations.values() if o.kind == "send" and o.id.startswith("all.0"))
    assert moved == 2 * 1000, "an AllReduce of two members moves half of the array each way, twice"
    assert operations["r0.3"].compute_ps == 0
    assert any("1 dependencies on nodes that the traces lack" in note for note in imported.notes)
    assert any("1 nodes of collectives have no comm_type" in note for note in imported.notes)


def test_gzip(tmp_path: Path) -> None:
    plain = _read(tmp_path, _pair()).graph
    packed = [gzip.compress(data) for data in _pair()]
    assert _read(tmp_path, packed).graph == plain


def test_process_groups_are_apart(tmp_path: Path) -> None:
    def trace(group: str) -> bytes:
        return _trace(_node(0, COLLECTIVE, (), comm_type=2, comm_size=64, pg_name=("string_val", group)))

    imported = _read(tmp_path, [trace("a"), trace("b"), trace("a"), trace("b")])
    pairs = {(o.member, o.peer) for o in imported.graph.operations if o.kind == "send"}
    assert pairs == {("npu0", "npu2"), ("npu2", "npu0"), ("npu1", "npu3"), ("npu3", "npu1")}


@pytest.mark.parametrize(
    ("traces", "message"),
    [
        ([_trace(_node(0, SEND, (), comm_dst=1, comm_size=8))], "node 0 names rank 1, which has no trace"),
        (
            [_trace(_node(0, SEND, (), comm_dst=("string_val", "x"), comm_size=8))],
            "comm_dst of node 0 is 'x', expected a whole number",
        ),
        ([_trace(_node(0, COMPUTE), _node(0, COMPUTE))], "node id 0 appears twice"),
        (
            [_trace(_node(0, COLLECTIVE, (), comm_type=9, comm_size=8))],
            "comm_type 9 of node 0 is not supported",
        ),
        (
            [_trace(_node(0, COLLECTIVE, (), comm_type=0, comm_size=size)) for size in (8, 16)],
            "pair.1.et: comm_size of node 0 is 16, but rank 0 has 8 in the same collective",
        ),
        ([_trace(_node(0, COMPUTE))[:-1]], "is cut short"),
        ([b"\xff\xff\xff\xff\xff"], "the length of a message near byte 0 is invalid"),
        ([b"\xff\xff\xff\x7f" + b"a" * 9], "the message near byte 0 has 268435455 bytes, more than 16777216"),
        ([_trace(b"\xff\xff")], "no Chakra node can be read near byte 5"),
        ([gzip.compress(_pair()[0])[:-9]], "cut short"),
    ],
)
def test_refused(tmp_path: Path, traces: list[bytes], message: str) -> None:
    with pytest.raises(FormatError) as caught:
        _read(tmp_path, traces)
    assert message in str(caught.value)


def _esi(**changes: Any) -> dict[str, Any]:
    node = {"Id": 7, "Name": "c10d::allreduce_", "NodeType": 7, "data_deps": [], "is_cpu_op": False}
    return node | {"runtime": 28, "comm_type": 0, "comm_size": 64} | changes


def _read_esi(folder: Path, *nodes: Any, packed: bool = False) -> Imported:
    text = json.dumps({"workload_graph": nodes, "ngpus": 2}, indent=1).encode()
    for rank in range(2):
        name = f"chakra.{rank}.json" + (".gz" if packed else "")
        (folder / name).write_bytes(gzip.compress(text) if packed else text)
    return read_files("chakra", [folder])


@pytest.mark.parametrize("packed", [False, True])
def test_json_of_esi(tmp_path: Path, packed: bool) -> None:
    compute = {"Id": 0, "Name": "aten::add", "NodeType": 4, "ctrlDeps": [3], "data_deps": [7], "runtime": 318}
    quiet = {"Id": 9, "NodeType": 7, "data_deps": [0], "is_cpu_op": True}
    imported = _read_esi(tmp_path, _esi(), compute, quiet, packed=packed)
    operations = {operation.id: operation for operation in imported.graph.operations}
    assert operations["r0.0"].compute_ps == 318 * 10**6
    assert operations["r0.0"].after == ("all.0.end@npu0",)
    assert operations["r1.9"].compute_ps == 0, "a collective without its kind takes no time"
    assert imported.name == "chakra"


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (7, "chakra.0.json:3: key 'data_deps' is missing"),
        (_esi(NodeType=8), "chakra.0.json:6: NodeType is 8, which is out of range; give 0 to 7"),
        (_esi(data_deps=[-1]), "element 0 is -1, which is out of range"),
        (_esi(runtime="fast"), "runtime is 'fast', which is no whole number"),
        (_esi(comm_size=1.5), "comm_size is neither a number, nor a text, nor a boolean"),
        (_esi(comm_size="8"), "comm_size of node 7 is '8', expected a whole number; give 1 or more"),
        (_esi(comm_type="sum"), "comm_type sum of node 7 is not supported"),
        (_esi(comm_type=5, root_rank=4), "root_rank 4 of node 7 takes no part in its collective"),
        (_esi(NodeType=5, comm_dst=1, comm_tag="x"), "comm_tag of node 7 is 'x', expected a whole number"),
    ],
)
def test_json_of_esi_refused(tmp_path: Path, node: Any, message: str) -> None:
    with pytest.raises(FormatError, match=r"chakra\.\d\.json") as caught:
        _read_esi(tmp_path, node)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["trace.et", "a.70000.et", "a.123456789012.et"])
def test_ranks_of_names(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(_trace())
    with pytest.raises(FormatError, match="the file name has no rank below 65536"):
        read_files("chakra", [tmp_path])


@settings(max_examples=150, deadline=None)
@given(at=st.integers(0, 200), word=st.binary(max_size=4), length=st.integers(0, 6))
def test_damaged_traces(tmp_path_factory: pytest.TempPathFactory, at: int, word: bytes, length: int) -> None:
    data = _pair()[0]
    at %= len(data)
    path = tmp_path_factory.mktemp("damaged") / "pair.0.et"
    path.write_bytes(data[:at] + word + data[at + length :])
    refusal = str(path)
    try:
        list(read_trace(path))
    except FormatError as ex:
        refusal = str(ex)
    assert str(path) in refusal


def test_a_trace_before_chakra_is_refused_with_the_way_to_convert_it(tmp_path: Path) -> None:
    file = tmp_path / "pytorch.0.json"
    file.write_text(json.dumps({"schema": "1.0.2-chakra.0.0.4", "pid": 1, "nodes": []}))
    with pytest.raises(FormatError, match=r"not of Chakra.*chakra_converter"):
        read_files("chakra", [file])

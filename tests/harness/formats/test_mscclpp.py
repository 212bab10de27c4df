# SPDX-License-Identifier: Apache-2.0
"""MSCCL++'s execution plans: operations become sends, copies and waits; a wrong plan is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from emulation.traffic.frames.values import Combine
from emulation.traffic.graph.operations import Operation
from harness.errors import FormatError
from harness.formats.imported import Imported
from harness.formats.registry import read_files

SIGNAL = {"name": "signal", "channel_ids": [0], "channel_type": "memory"}
WAIT = {"name": "wait", "channel_ids": [0], "channel_type": "memory"}


def part(place: str | int, index: int, size: int = 1) -> dict[str, Any]:
    """Return a part of the own memory by its letter, or of a peer's by its number."""
    return {"type" if isinstance(place, str) else "buffer_id": place, "index": index, "size": size}


def plan(
    *blocks: list[list[dict[str, Any]]],
    remote: str = "i",
    chunks: tuple[int, int, int] = (2, 2, 2),
    **keys: Any,
) -> dict[str, Any]:
    """Return a plan of two GPUs, each with a list of operations for each threadblock."""
    kind = keys.pop("channel_type", "memory")
    gpus = []
    for rank, threadblocks in enumerate(blocks):
        gpus.append(
            {
                "id": rank,
                **dict(zip(("input_chunks", "output_chunks", "scratch_chunks"), chunks, strict=True)),
                "channels": [{"channel_type": kind, "connected_to": [1 - rank] * len(threadblocks)}],
                "remote_buffers": [{"rank": 1 - rank, "type": remote, "access_channel_types": [kind]}],
                "semaphores": [{"init_value": 0}],
                "threadblocks": [
                    {
                        "id": number,
                        "ops": operations,
                        "channels": [{"channel_type": kind, "channel_ids": [number]}],
                        "remote_buffer_refs": [{"access_channel_type": kind, "remote_buffer_ids": [0]}],
                    }
                    for number, operations in enumerate(threadblocks)
                ],
            }
        )
    head = {"name": "pair", "collective": "allreduce", "protocol": "Simple", "inplace": True}
    return {**head, **keys, "gpus": gpus}


def rres(rank: int, *, remote: int = 0) -> dict[str, Any]:
    own, peer = part("i", rank), part(remote, rank)
    return {"name": "rres", "src_buff": [own, peer], "dst_buff": [own, peer], "reduce_op": "sum"}


def pair(**keys: Any) -> dict[str, Any]:
    """Return an AllReduce: each GPU adds up its chunk, then gives it to the peer."""
    return plan(*([[rres(rank), SIGNAL, WAIT]] for rank in range(2)), **keys)


def packets() -> dict[str, Any]:
    """Return an AllReduce with packets: each GPU sends the peer's chunk, then its sum."""

    def block(rank: int) -> list[dict[str, Any]]:
        other = 1 - rank
        return [
            {"name": "ppkt", "src_buff": [part("i", other)], "dst_buff": [part(0, other)]},
            {
                "name": "respkt",
                "src_buff": [part("i", rank), part("s", rank)],
                "dst_buff": [part("i", rank), part(0, 2 + rank)],
            },
            {"name": "upkt", "src_buff": [part("s", 2 + other)], "dst_buff": [part("i", other)]},
        ]

    return plan([block(0)], [block(1)], remote="s", chunks=(2, 2, 4), protocol="LL")


def read(folder: Path, document: Any) -> Imported:
    path = folder / "plan.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document, indent=1))
    return read_files("mscclpp", [path])


def by_id(imported: Imported) -> dict[str, Operation]:
    return {operation.id: operation for operation in imported.graph.operations}


def test_a_reduction_asks_the_peer_and_gives_it_the_sum(tmp_path: Path) -> None:
    imported = read(tmp_path, pair())
    operations = by_id(imported)
    request, data = operations["g0.t0.o0.add1.request"], operations["g0.t0.o0.add1"]
    assert (request.member, request.peer, request.size) == ("npu0", "npu1", 4)
    assert (data.member, data.peer, data.after) == ("npu1", "npu0", (request.id,))
    assert (data.combine, data.size) == (Combine.REDUCE, 4096)
    given = operations["g0.t0.o0.to1"]
    assert (given.member, given.peer, given.after) == ("npu0", "npu1", ()), "slices go on as they arrive"
    assert operations["g0.t0.o1.signal1.0"].after == ("g0.t0.o0.add1", "g0.t0.o0.to1")
    assert "Every GPU ends with the result of allreduce." in imported.notes


def test_packets_are_read_where_they_were_written(tmp_path: Path) -> None:
    imported = read(tmp_path, packets())
    operations = by_id(imported)
    sent, added = operations["g1.t0.o0.to0.0"], operations["g0.t0.o1.add1"]
    assert added.read == sent.write, "no message tells of a packet: the reader takes it from its place"
    assert added.after == ("g0.t0.o0.to1.0",)
    assert any("doubles their size" in note for note in imported.notes)
    assert sum(operation.kind == "send" for operation in operations.values()) == 4


def test_a_group_of_threadblocks_takes_slices(tmp_path: Path) -> None:
    document = pair()
    for gpu in document["gpus"]:
        (block,) = gpu["threadblocks"]
        gpu["channels"][0]["connected_to"] *= 3
        gpu["threadblocks"] = [
            {
                **block,
                "id": number,
                "ops": [{**block["ops"][0], "tbg_info": {"tb_id": number, "tbg_size": 3}}, SIGNAL, WAIT],
                "channels": [{"channel_type": "memory", "channel_ids": [number]}],
            }
            for number in range(3)
        ]
    operations = by_id(read(tmp_path, document))
    slices = [operations[f"g0.t{number}.o0.to1"] for number in range(3)]
    assert [(each.size, each.write) for each in slices] == [(1368, 0), (1368, 1368), (1368, 2736)]


def test_a_port_channel_sends_while_the_threadblock_goes_on(tmp_path: Path) -> None:
    def block(rank: int) -> list[dict[str, Any]]:
        port = {"channel_type": "port"}
        put = {"name": "put", "src_buff": [part("i", 0)], "dst_buff": [part(0, rank)], **port}
        return [put, {**put, "src_buff": [part("i", 1)]}, {**SIGNAL, **port}, {"name": "flush"}]

    document = plan([block(0)], [block(1)], remote="s", channel_type="port", collective="custom")
    operations = by_id(read(tmp_path, document))
    assert operations["g0.t0.o1.to1.0"].after == (), "the second put does not wait for the first"
    assert set(operations["g0.t0.o2.signal1.0"].after) == {"g0.t0.o0.to1.0", "g0.t0.o1.to1.0"}


def test_barriers_and_semaphores_order_threadblocks_of_a_gpu(tmp_path: Path) -> None:
    document = pair()
    for rank, gpu in enumerate(document["gpus"]):
        release, acquire = ({"name": f"sem_{verb}", "semaphore_ids": [0]} for verb in ("release", "acquire"))
        meet = {"name": "barrier", "barrier_id": 0, "num_threadblocks": 2}
        copy = {"name": "copy", "src_buff": [part("i", rank)], "dst_buff": [part("s", 0)]}
        gpu["threadblocks"][0]["ops"] += [release, meet]
        gpu["threadblocks"].append({"id": 1, "ops": [acquire, copy, meet, copy]})
    operations = by_id(read(tmp_path, document))
    waited = {"g1.t0.o0.to0", "g1.t0.o1.signal0.0"}
    assert waited <= set(operations["g0.t1.o1"].after), "what the threadblock that releases waited for"
    assert waited | {"g0.t1.o1"} <= set(operations["g0.b0"].after)
    assert operations["g0.t1.o3"].after == ("g0.b0",)


def test_a_pipeline_runs_its_operations_once(tmp_path: Path) -> None:
    document = pair()
    for gpu in document["gpus"]:
        block = gpu["threadblocks"][0]
        block["ops"] = [
            {"name": "pipeline", "iter_context": {"unit_size": 65536, "num_chunks": 1}, "ops": block["ops"]}
        ]
    imported = read(tmp_path, document)
    assert len(imported.graph.operations) == len(read(tmp_path, pair()).graph.operations)
    assert any("pipeline" in note for note in imported.notes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["gpus"][0]["threadblocks"][0]["ops"].pop(1), "never begins"),
        (lambda d: d["gpus"][1]["threadblocks"][0]["ops"].pop(0), "output chunk 1 of GPU 0 is the sum"),
        (lambda d: d["gpus"][0].update(id=1), "the GPU at index 0 has id 1"),
        (lambda d: d["gpus"].pop(), "the plan has too few GPUs: 1; give 2 or more"),
        (lambda d: d["gpus"][0].update(input_chunks=1 << 20), "input_chunks is 1048576, which is"),
        (lambda d: d["gpus"][0].update(scratch_chunks=-1), "scratch_chunks is -1, which is out of"),
        (lambda d: d["gpus"][0].pop("input_chunks"), "key 'input_chunks' is missing"),
        (lambda d: d["gpus"][0]["channels"][0].update(connected_to=[2]), "element 0 is 2, which is"),
        (lambda d: d["gpus"][0]["channels"][0].update(connected_to=[0]), "connects GPU 0 to itself"),
        (lambda d: d["gpus"][0]["remote_buffers"][0].update(rank=True), "rank is True, which is no"),
        (lambda d: _first(d).update(name="gstore"), "operation 'gstore' stores through a switch"),
        (lambda d: _first(d).update(name="add"), "operation 'add' is unknown; give nop, barrier"),
        (lambda d: _first(d).update(reduce_op="max"), "reduce_op 'max' is not supported"),
        (lambda d: _first(d).update(dst_buff="i"), "expected a list, got 'i'"),
        (lambda d: _first(d)["src_buff"][1].update(buffer_id=1), "buffer_id 1 does not exist"),
        (lambda d: _first(d)["src_buff"][0].update(index=2), "chunks 2 to 2 do not exist"),
        (lambda d: _first(d)["src_buff"][0].update(size=2), "parts of different sizes"),
        (lambda d: _first(d)["src_buff"][1].update(part("i", 0)) or _first(d)["src_buff"][1].pop("buffer_id"),
         "part 1 in src_buff of operation 'rres' is the GPU's own memory"),
        (lambda d: _first(d)["src_buff"][0].update(type="s"), "uses buffer s of GPU 0 from chunk 0"),
        (lambda d: _first(d).update(tbg_info={"tb_id": 3, "tbg_size": 2}), "tb_id is 3, which is"),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, change: Any, message: str) -> None:
    document = pair()
    change(document)
    with pytest.raises(FormatError, match=r"plan\.json") as caught:
        read(tmp_path, document)
    assert message in str(caught.value)


def _first(document: dict[str, Any]) -> dict[str, Any]:
    return document["gpus"][0]["threadblocks"][0]["ops"][0]


def test_a_missing_wait_is_noticed(tmp_path: Path) -> None:
    """GPU 1 copies what GPU 0 puts; without the wait, the other order of threadblocks copies too early."""
    put = {"name": "put", "src_buff": [part("i", 0)], "dst_buff": [part(0, 0)]}
    copy = {"name": "copy", "src_buff": [part("s", 0)], "dst_buff": [part("s", 1)]}
    read(tmp_path, plan([[put, SIGNAL]], [[WAIT, copy]], remote="s", collective="custom"))
    with pytest.raises(FormatError, match="which nothing has written"):
        read(tmp_path, plan([[put, SIGNAL]], [[copy]], remote="s", collective="custom"))


def test_lines_of_errors(tmp_path: Path) -> None:
    text = json.dumps(pair(), indent=1)
    line = next(n for n, row in enumerate(text.splitlines(), 1) if '"rres"' in row)
    with pytest.raises(FormatError, match=rf"plan\.json:{line - 1}: operation 'gstore'"):
        read(tmp_path, text.replace('"rres"', '"gstore"', 1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: the file is no JSON: Expecting value"),
        ('{"name": "a",\n"gpus": [', ":2: the file is no JSON"),
        ("[" * 100_000, "too deep to read"),
        ('{"gpus": [], "gpus": []}', "the file is no valid JSON: key 'gpus' appears twice in a block"),
        ('{"gpus": NaN}', "the file is no valid JSON: NaN is no JSON number"),
        ('{"gpus": ' + "9" * 5000 + "}", "the file is no valid JSON: Exceeds the limit"),
        ('{"gpus": 7}', ":1: expected a list, got 7"),
        ("7", ":1: key 'gpus' is missing"),
    ],
)
def test_no_plan(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=r"plan\.json") as caught:
        read(tmp_path, text)
    assert message in str(caught.value)

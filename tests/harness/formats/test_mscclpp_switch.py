# SPDX-License-Identifier: Apache-2.0
"""MSCCL++'s plans whose switch adds up become collectives in switches, which run; wrong ones are refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.errors import FormatError
from harness.formats.registry import read_files
from harness.formats.written import write_imported
from harness.run.prepare import prepare
from harness.run.runner import run
from harness.scenario.loader import load

RANKS = 4


def gpu(rank: int) -> dict[str, Any]:
    """Return a GPU that waits for all others, and adds up chunk `rank`."""
    others = [other for other in range(RANKS) if other != rank]
    every = {"channel_ids": list(range(RANKS - 1)), "channel_type": "memory"}
    chunk = {"switch_channel_id": 0, "index": rank, "size": 1}
    total = {"name": "glres", "channel_ids": [0], "src_buff": [dict(chunk)], "dst_buff": [dict(chunk)]}
    return {
        "id": rank,
        "input_chunks": RANKS,
        "output_chunks": 0,
        "scratch_chunks": 0,
        "channels": [
            {
                "buff": "i",
                "channel_type": "switch",
                "rank_groups": [{"size": RANKS, "ranks": [*range(RANKS)]}],
            },
            {"channel_type": "memory", "connected_to": others},
        ],
        "remote_buffers": [],
        "threadblocks": [
            {
                "id": 0,
                "ops": [{"name": "signal", **every}, {"name": "wait", **every}, {"name": "nop"}, total],
                "channels": [
                    {"buff": "i", "channel_type": "switch", "channel_ids": [0]},
                    {"channel_type": "memory", "channel_ids": list(range(RANKS - 1))},
                ],
            }
        ],
    }


def document() -> dict[str, Any]:
    head = {"name": "nvls", "collective": "allreduce", "protocol": "Simple", "inplace": True}
    return {**head, "gpus": [gpu(rank) for rank in range(RANKS)]}


def written(folder: Path, plan: dict[str, Any]) -> Path:
    path = folder / "plan.json"
    path.write_text(json.dumps(plan, indent=1))
    return path


def test_a_plan_runs_in_the_switch(tmp_path: Path) -> None:
    imported = read_files("mscclpp", [written(tmp_path, document())])
    assert imported.collective["elements"] == RANKS * 4096 // 4
    scenario = write_imported(imported, tmp_path / "out", "plan.json")
    assert not (tmp_path / "out" / "graph.json").exists()
    observation = run(prepare(*load(scenario)), 1).runs["run"].observation
    assert observation.first_wrong == ""
    assert observation.correct_nodes == RANKS


def local(name: str, source: str, first: int, target: str, second: int) -> dict[str, Any]:
    """Return an operation on a GPU's own memory."""
    return {
        "name": name,
        "src_buff": [{"type": source, "index": first, "size": 1}],
        "dst_buff": [{"type": target, "index": second, "size": 1}],
    }


def staged() -> dict[str, Any]:
    """Return a plan whose switch adds up scratch memory, to and from which each GPU copies its chunks."""
    plan = document()
    for each in plan["gpus"]:
        each["scratch_chunks"] = RANKS
        for row in (each["channels"][0], each["threadblocks"][0]["channels"][0]):
            row["buff"] = "s"
        chunks = range(RANKS)
        signal, wait, _, total = each["threadblocks"][0]["ops"]
        each["threadblocks"][0]["ops"] = [
            {"name": "pipeline", "iter_context": {"unit_size": 4096, "num_chunks": 1}, "ops": [
                *(local("copy", "i", chunk, "s", chunk) for chunk in chunks), signal, wait, total,
                dict(signal), dict(wait), *(local("copy", "s", chunk, "i", chunk) for chunk in chunks),
            ]},
        ]  # fmt: skip
    return plan


def test_a_plan_with_copies_around_the_sum_runs(tmp_path: Path) -> None:
    imported = read_files("mscclpp", [written(tmp_path, staged())])
    assert imported.collective["algorithm"] == "switch-tree"
    assert "Copies of a GPU within its own memory take no time." in imported.notes
    scenario = write_imported(imported, tmp_path / "out", "plan.json")
    assert run(prepare(*load(scenario)), 1).runs["run"].observation.correct_nodes == RANKS


@pytest.mark.parametrize(
    ("begin", "end", "message"),
    [
        (9, 13, "output chunk 0 of GPU 1 is the sum of 1:0"),  # GPU 1 keeps its inputs
        (8, 9, "output chunk 2 of GPU 1 is the sum of 1:2"),  # GPU 1 copies before others have added
        (0, 1, "uses buffer s of GPU 1 from chunk 0 on"),
    ],
)
def test_copies_that_miss_the_sum_are_refused(tmp_path: Path, begin: int, end: int, message: str) -> None:
    plan = staged()
    del ops(plan, 1)[0]["ops"][begin:end]
    with pytest.raises(FormatError) as caught:
        read_files("mscclpp", [written(tmp_path, plan)])
    assert message in str(caught.value)


def ops(plan: dict[str, Any], rank: int) -> list[dict[str, Any]]:
    return plan["gpus"][rank]["threadblocks"][0]["ops"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: ops(d, 1).pop(1), "operation 'glres' on GPU 1 reads GPU 0 before its signal"),
        (lambda d: ops(d, 1)[1].update(channel_ids=[0, 1]), "reads GPU 3 before its signal"),
        (lambda d: ops(d, 2).pop(3), "output chunk 2 of GPU 0 is the sum of 0:2, but allreduce wants"),
        (lambda d: ops(d, 2)[3]["dst_buff"][0].update(index=1), "writes other chunks than it reads"),
        (lambda d: [part[0].update(index=1) for part in (ops(d, 2)[3]["src_buff"], ops(d, 2)[3]["dst_buff"])],
         "output chunk 1 of GPU 0 is the sum of 4 x 0:1"),
        (lambda d: d["gpus"][3]["channels"][0]["rank_groups"][0].update(ranks=[0, 3]), "adds up 2 of 4 GPUs"),
        (lambda d: ops(d, 0).append(local("re", "i", 1, "i", 1)), "'re' is not supported in a plan with"),
        (lambda d: ops(d, 0).append({"name": "gstore"}), "operation 'gstore' stores through a switch"),
        (lambda d: ops(d, 2)[3]["src_buff"][0].update(switch_channel_id=1), "writes other chunks"),
        (lambda d: d.update(collective="allgather"), "collective 'allgather' is not supported with 'glres'"),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, change: Any, message: str) -> None:
    plan = document()
    change(plan)
    with pytest.raises(FormatError, match=r"plan\.json") as caught:
        read_files("mscclpp", [written(tmp_path, plan)])
    assert message in str(caught.value)

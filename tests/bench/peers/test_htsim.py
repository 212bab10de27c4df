# SPDX-License-Identifier: Apache-2.0
"""The comparison with htsim: its matrix, its tree, and the engine's side of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.peers import htsim
from topologies import NodeKind
from topologies.sources.files import read_fabric


def test_every_host_sends_to_another_and_receives_once() -> None:
    destinations = htsim.permutation(128, 7)
    assert sorted(destinations) == list(range(128))
    assert all(source != destination for source, destination in enumerate(destinations))


def test_tree_of_radix_4_has_16_hosts_and_20_switches(tmp_path: Path) -> None:
    path = tmp_path / "tree.topo"
    path.write_text(htsim.fat_tree(4))
    fabric = read_fabric(path)
    kinds = [node.kind for node in fabric.nodes]
    assert (kinds.count(NodeKind.NPU), len(kinds)) == (16, 36)


def test_packet_hops_count_the_switches_of_shortest_paths() -> None:
    # One switch to the neighbour, three inside the pod, five to another pod; two packets each.
    assert htsim.packet_hops(4, [1, 3, 15], 8_000) == 2 * (1 + 3 + 5)


def test_last_packet_of_a_flow_counts_whole() -> None:
    assert htsim.packet_hops(4, [1], 4_001) == 2


def test_without_htsim_the_engine_alone_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HTSIM_NDP", raising=False)
    monkeypatch.setattr("sys.argv", ["peers", "--radix", "4", "--flow-bytes", "8000", "--rounds", "1"])
    htsim.main()
    output = capsys.readouterr()
    result = json.loads(output.out)
    assert result["hosts"] == 16
    assert result["engine"]["packet_hops"] == htsim.packet_hops(4, htsim.permutation(16, htsim.SEED), 8_000)
    assert "htsim" not in result
    assert "github.com/Broadcom/csg-htsim" in output.err


def test_program_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.argv", ["peers", "--htsim", str(tmp_path / "htsim_ndp")])
    with pytest.raises(SystemExit) as stopped:
        htsim.main()
    assert stopped.value.code == 2

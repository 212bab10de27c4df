# SPDX-License-Identifier: Apache-2.0
"""Entries in columns and counters in columns, with BMv2 as the server."""

from collections.abc import Iterator

import numpy as np
import pytest

from controller import Entry, Exact, InstallError
from controller.p4runtime import counter_cells
from controller.p4runtime.client import P4RuntimeClient
from controller.plan.rows import MatchColumn, NodeEntries, Rows
from harness.run.boot import read_program
from tests.differential.bmv2 import NODE, Bmv2

pytestmark = pytest.mark.bmv2


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[P4RuntimeClient]:
    with Bmv2((1,), tmp_path_factory.mktemp("bmv2")) as bmv2:
        bmv2.client.push_pipeline({NODE: read_program("ub_npu")})
        yield bmv2.client


def _routes(first: int, count: int) -> Rows:
    index = np.arange(first, first + count)
    match = [MatchColumn("dcna", Exact, index // 16), MatchColumn("bucket", Exact, index % 16)]
    instr = index * 0x01_0101_0101 >> index % 40
    return Rows("all_path", "push_route", match, [("bitmap", index % 4096), ("instr", instr)])


def test_rows_are_read_back_as_their_entries(client: P4RuntimeClient) -> None:
    arrival = Entry("linear", (("index", Exact(3)),), "set_port", (("port", 1),))
    entries = NodeEntries([(arrival,), _routes(0, 300)])
    assert client.install({NODE: entries}) == 301
    assert sorted(map(str, client.read(NODE, "all_path"))) == sorted(map(str, entries.blocks[1]))
    assert client.read(NODE, "linear") == [arrival]
    with pytest.raises(InstallError, match=r"insert of dcna=0x12 bucket=0xb -> push_route\(.*1 of 2 updates"):
        client.install({NODE: _routes(299, 2)})


def test_counters_are_decoded_without_messages(
    client: P4RuntimeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter_cells, "_from_message", None)
    cells = client.read_counter(NODE, "tx_by_port_vl")
    assert len(cells) == 2048
    assert not cells.packets.any()

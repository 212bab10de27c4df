# SPDX-License-Identifier: Apache-2.0
"""A P4 program of one's own on the embedded testbed: entries from a file, frames from Scapy."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from finsy.proto import p4r
from google.protobuf import text_format
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

import railyard
from controller.p4runtime.p4info import P4Info
from controller.plan.entry import Entry, Lpm
from topologies import from_graph

PROGRAM = Path(__file__).resolve().parents[1] / "programs" / "build" / "ipv4.json"
P4INFO = PROGRAM.with_name("ipv4.p4info.txtpb")
SOURCE = PROGRAM.parents[1] / "ipv4.p4"

# A line n0 - n1 - n2: ports are numbered in the order of links, hosts are behind port 0.
LINE = from_graph(nx.path_graph(["n0", "n1", "n2"]), "line")


def forward(prefix: str, length: int, port: int) -> dict[str, Any]:
    return {
        "table": "ipv4",
        "match": {"dst": [prefix, length]},
        "action": "forward",
        "params": {"mac": f"02:00:00:00:00:{port:02x}", "port": port},
    }


ROWS = {
    "n0": [forward("10.0.2.0", 24, 1), forward("10.0.0.0", 24, 0)],
    "n1": [forward("10.0.2.0", 24, 2), forward("10.0.0.0", 24, 1), forward("10.0.1.0", 24, 0)],
    "n2": [forward("10.0.0.0", 16, 1), forward("10.0.2.0", 24, 0)],
}
FRAME = Ether(src="02:00:00:00:00:aa", dst="02:00:00:00:00:bb") / IP(dst="10.0.2.7", ttl=9) / UDP() / b"hello"


def written(tmp_path: Path, rows: Any) -> Path:
    path = tmp_path / "rows.json"
    path.write_text(rows if isinstance(rows, str) else json.dumps(rows))
    return path


def test_a_frame_crosses_three_routers(tmp_path: Path) -> None:
    with railyard.program_testbed(LINE, PROGRAM, P4INFO, entries=written(tmp_path, ROWS)) as bed:
        bed.send("n0", bytes(FRAME))
        bed.send("n0", bytes(Ether(type=0x88B5) / b"no IP"))
        bed.run()
        (arrived,) = bed.received("n2")
        assert len(bed.entries("n1")) == 3
    got = Ether(arrived)
    assert (got[IP].ttl, got.dst, got[UDP].payload.load) == (6, "02:00:00:00:00:00", b"hello")
    checksum = got[IP].chksum
    del got[IP].chksum
    assert Ether(bytes(got))[IP].chksum == checksum


def test_entries_in_the_text_form_of_p4runtime(tmp_path: Path) -> None:
    info = P4Info.parse(P4INFO.read_bytes())
    request = p4r.WriteRequest(device_id=0)
    update = request.updates.add(type=p4r.Update.INSERT)
    row = Entry("ipv4", (("dst", Lpm(0x0A000000, 8)),), "forward", (("mac", 1), ("port", 0)))
    update.entity.table_entry.MergeFromString(info.encode(row))
    path = tmp_path / "rows.txtpb"
    path.write_text(text_format.MessageToString(request))
    with railyard.program_testbed(LINE, PROGRAM, P4INFO, entries=path) as bed:
        bed.send("n1", bytes(FRAME))
        bed.run()
        assert Ether(bed.received("n1")[0])[IP].ttl == 8


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ('{"n0": [\n}', "rows.json:2: the file is not JSON"),
        ({"n9": []}, "the fabric has no node 'n9'; use names of nodes: n0, n1, n2"),
        ({"*": [{"table": "ipv6"}]}, "*[0]: table ipv6 is not in the p4info; did you mean ipv4?"),
        ({"n0": [{"tables": "ipv4"}]}, "n0[0]: table is not valid: Field required"),
        ({"n0": [{**ROWS["n0"][0], "tables": 1}]}, "n0[0]: tables is not valid: Extra inputs"),
        ({"n0": ["ipv4"]}, "n0[0]: 'ipv4' is not valid"),
        ({"n0": [{**ROWS["n0"][0], "table": ["ipv4"]}]}, "n0[0]: table is not valid"),
        ({"n0": [{**ROWS["n0"][0], "match": ["dst"]}]}, "n0[0]: match is not valid"),
        ({"n0": [{**ROWS["n0"][0], "params": [1]}]}, "n0[0]: params is not valid"),
        ({"n0": [{**ROWS["n0"][0], "priority": "high"}]}, "n0[0]: priority is not valid"),
        ({"n0": [{**ROWS["n0"][0], "default_action": 1}]}, "n0[0]: default_action is not valid"),
        (
            {"n0": [{**forward("10.0.0.0", 8, 1), "action": "send"}]},
            "n0[0]: table ipv4: action send is not in the p4info",
        ),
        (
            {"n0": [forward("ten", 8, 1)]},
            "n0[0]: dst is 'ten', which is not a value of a field; give a number, an IP address or a MAC",
        ),
        ({"n0": [forward("10.0.0.0", 8, 512)]}, "n0[0]: mac is '02:00:00:00:00:200'"),
        (
            {"n0": [{**ROWS["n0"][0], "match": {"dst": "10.0.0.0"}}]},
            "n0[0]: dst is '10.0.0.0', which is not a pair; give two values",
        ),
    ],
)
def test_a_wrong_entry_is_refused_before_anything_starts(rows: Any, message: str, tmp_path: Path) -> None:
    with (
        pytest.raises(railyard.RailyardError, match=re.escape(message)),
        railyard.program_testbed(LINE, PROGRAM, P4INFO, entries=written(tmp_path, rows)),
    ):
        pass


@pytest.mark.parametrize(
    ("update", "message"),
    [
        ("type: INSERT", "updates[0]: expected a table_entry, got an update without an entity"),
        (
            "type: INSERT entity { action_profile_group { } }",
            "expected a table_entry, got action_profile_group",
        ),
        (
            "type: DELETE entity { table_entry { } }",
            "the type is DELETE, but the file lists entries to install",
        ),
        ("type: INSERT entity { table_entry { table_id: 7 } }", "the p4info has no table with id 7"),
        (
            "type: INSERT entity { table_entry { TABLE ACTION } }",
            "action forward needs the parameters mac, port",
        ),
        (
            "type: INSERT entity { table_entry { TABLE FIELD ACTION } }",
            "table ipv4 has no match field with id 9",
        ),
    ],
)
def test_a_wrong_write_request_is_refused(update: str, message: str, tmp_path: Path) -> None:
    info = P4Info.parse(P4INFO.read_bytes())
    row = p4r.TableEntry.FromString(info.encode(Entry("ipv4", (), "forward", (("mac", 1), ("port", 0)))))
    action = f"action {{ action {{ action_id: {row.action.action.action_id} }} }}"
    for name, text in {
        "TABLE": f"table_id: {row.table_id}",
        "FIELD": "match { field_id: 9 lpm { } }",
        "ACTION": action,
    }.items():
        update = update.replace(name, text)
    path = tmp_path / "rows.txtpb"
    path.write_text(f"updates {{ {update} }}")
    with (
        pytest.raises(railyard.RailyardError, match=re.escape(message)),
        railyard.program_testbed(LINE, PROGRAM, P4INFO, entries=path),
    ):
        pass


def test_a_program_needs_its_p4info() -> None:
    with (
        pytest.raises(railyard.RailyardError, match=r"ipv4\.json has no p4info; give --p4info"),
        railyard.program_testbed(LINE, PROGRAM),
    ):
        pass


def test_a_source_needs_its_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with (
        pytest.raises(railyard.RailyardError, match=r"ipv4\.p4: p4c-bm2-ss is not installed; install p4c"),
        railyard.program_testbed(LINE, SOURCE),
    ):
        pass


def test_entries_of_a_folder_and_default_actions(tmp_path: Path) -> None:
    for node, rows in ROWS.items():
        document = rows if node == "n0" else {"table_entries": rows}
        (tmp_path / f"{node}{'' if node == 'n0' else '-runtime'}.json").write_text(json.dumps(document))
    default = {"table": "ipv4", "default_action": True, "action_name": "forward"}
    default |= {"action_params": {"mac": "02:00:00:00:00:09", "port": 0}}
    (tmp_path / "n0.json").write_text(json.dumps([*ROWS["n0"], default]))
    with railyard.program_testbed(LINE, PROGRAM, P4INFO, entries=tmp_path) as bed:
        bed.send("n0", bytes(FRAME))
        bed.send("n0", bytes(Ether(dst="02:00:00:00:00:bb") / IP(dst="10.9.9.9", ttl=9)))
        bed.run()
        assert len(bed.received("n2")) == 1
        assert Ether(bed.received("n0")[0]).dst == "02:00:00:00:00:09"


def test_a_folder_with_two_files_of_a_node_is_refused(tmp_path: Path) -> None:
    for file in ("n0.json", "n0-runtime.json"):
        (tmp_path / file).write_text("[]")
    with (
        pytest.raises(railyard.RailyardError, match=r"has two files for n0: n0\.json and n0-runtime\.json"),
        railyard.program_testbed(LINE, PROGRAM, P4INFO, entries=tmp_path),
    ):
        pass


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"table_entries": 1}, "n0.json: the value of n0 is not a list of entries"),
        ([{"table": "ipv6"}], "n0.json: n0[0]: table ipv6 is not in the p4info"),
        (None, "no file n0.json or n0-runtime.json; name each file by its node"),
    ],
)
def test_a_wrong_folder_of_entries_is_refused(rows: Any, message: str, tmp_path: Path) -> None:
    if rows is not None:
        (tmp_path / "n0.json").write_text(json.dumps(rows))
    with (
        pytest.raises(railyard.RailyardError, match=re.escape(message)),
        railyard.program_testbed(LINE, PROGRAM, P4INFO, entries=tmp_path),
    ):
        pass


def test_the_controller_of_the_guide_fills_the_tables_of_a_line(tmp_path: Path) -> None:
    guide = (Path(__file__).resolve().parents[2] / "docs" / "testbeds" / "p4runtime.md").read_text()
    (text,) = re.findall(
        r"^```python\n(# own_controller.py\n.*?)^```$", guide, flags=re.MULTILINE | re.DOTALL
    )
    (tmp_path / "own_controller.py").write_text(text)
    line = from_graph(nx.path_graph(["npu0", "npu1", "npu2"]), "line")
    frame = bytes(Ether(dst="02:00:00:00:00:99") / IP(dst="10.0.2.7", ttl=9) / UDP())
    with railyard.program_testbed(line, PROGRAM, P4INFO) as bed:
        done = subprocess.run(
            [sys.executable, "own_controller.py", bed.address],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) == 9
        bed.send("npu0", frame)
        bed.run()
        (arrived,) = bed.received("npu2")
    assert (Ether(arrived).dst, Ether(arrived)[IP].ttl) == ("02:00:00:00:00:02", 6)

# SPDX-License-Identifier: Apache-2.0
"""Exercises of the P4 tutorials: the files of a folder become a fabric at work; no command is run."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

import railyard
from harness.errors import FormatError
from harness.formats.p4lang_exercise import read_exercise
from topologies.errors import TopologyError

PROGRAM = Path(__file__).resolve().parents[2] / "programs" / "build" / "ipv4.json"
P4INFO = PROGRAM.with_name("ipv4.p4info.txtpb")


def row(address: str, port: int) -> dict[str, Any]:
    return {
        "table": "ipv4",
        "match": {"dst": [address, 32]},
        "action_name": "forward",
        "action_params": {"mac": f"08:00:00:00:00:0{port}", "port": port},
    }


TOPOLOGY = {
    "hosts": {
        "h1": {
            "ip": "10.0.1.1/24",
            "mac": "08:00:00:00:01:11",
            "commands": ["touch /tmp/never", "arp -s x y"],
        },
        "h2": {"ip": "10.0.2.2/24", "mac": "08:00:00:00:02:22"},
    },
    "switches": {
        "s1": {"runtime_json": "pod/s1-runtime.json"},
        "s2": {"runtime_json": "pod/s2-runtime.json"},
    },
    "links": [["h1", "s1-p1"], ["s1-p2", "s2-p2", "5us", 100], ["h2", "s2-p1"]],
}


def runtime(*rows: dict[str, Any], **keys: Any) -> dict[str, Any]:
    head = {"target": "bmv2", "p4info": "build/ipv4.p4.p4info.txtpb", "bmv2_json": "build/ipv4.json"}
    return {**head, "table_entries": rows, **keys}


RUNTIMES = {
    "s1": runtime(row("10.0.1.1", 1), row("10.0.2.2", 2)),
    "s2": runtime(row("10.0.1.1", 2), row("10.0.2.2", 1)),
}


def exercise(folder: Path, *, ending: str = "txtpb") -> Path:
    """Write the folder of an exercise, whose topology is in a folder of its own."""
    (folder / "pod").mkdir()
    (folder / "build").mkdir()
    (folder / "Makefile").write_text("BMV2_SWITCH_EXE = simple_switch_grpc\nTOPO = pod/topology.json\n")
    (folder / "pod" / "topology.json").write_text(json.dumps(TOPOLOGY, indent=1))
    for name, document in RUNTIMES.items():
        (folder / "pod" / f"{name}-runtime.json").write_text(json.dumps(document, indent=1))
    shutil.copy(PROGRAM, folder / "build" / "ipv4.json")
    shutil.copy(P4INFO, folder / "build" / f"ipv4.p4.p4info.{ending}")
    return folder


def change(path: Path, edit: Callable[[Any], object]) -> None:
    document = json.loads(path.read_text())
    edit(document)
    path.write_text(json.dumps(document, indent=1))


@pytest.mark.parametrize("ending", ["txt", "txtpb"])
def test_frames_cross_the_switches_of_an_exercise(tmp_path: Path, ending: str) -> None:
    with railyard.exercise_testbed(exercise(tmp_path, ending=ending)) as bed:
        bed.send("h1", bytes(Ether() / IP(dst="10.0.2.2", ttl=9) / UDP() / b"hello"))
        bed.run()
        (arrived,) = map(Ether, bed.received("h2"))
        assert (arrived[IP].ttl, arrived.dst) == (7, "08:00:00:00:00:01")
        assert len(bed.entries("s1")) == 2


def test_commands_are_kept_and_not_run(tmp_path: Path) -> None:
    content = read_exercise(exercise(tmp_path))
    assert content.commands == {"h1": ["touch /tmp/never", "arp -s x y"]}
    (link,) = content.fabric.links
    assert (link.delay_ps, link.rate_bps) == (5 * 10**6, 10**8)


def test_groups_and_sessions(tmp_path: Path) -> None:
    folder = exercise(tmp_path)
    replicas = [{"egress_port": port, "instance": 1} for port in (1, 2)]

    def add(document: Any) -> None:
        document["multicast_group_entries"] = [{"multicast_group_id": 1, "replicas": replicas}]
        document["clone_session_entries"] = [{"clone_session_id": 5, "replicas": replicas[:1]}]

    change(folder / "pod" / "s1-runtime.json", add)
    group, session = read_exercise(folder).replication["s1"]
    assert [each.egress_port for each in group.multicast_group_entry.replicas] == [1, 2]
    assert session.clone_session_entry.session_id == 5
    with railyard.exercise_testbed(folder) as bed:
        assert bed.fabric.nodes[0].name == "s1"


@pytest.mark.parametrize(
    ("file", "edit", "message"),
    [
        ("pod/s1-runtime.json", lambda d: d.update(target="tofino"), "s1-runtime.json:2: target is 'tofino'"),
        ("pod/s1-runtime.json", lambda d: d.update(tables=[]), "key 'tables' is unknown; use bmv2_json"),
        ("pod/s1-runtime.json", lambda d: d["table_entries"][1].update(table="none"), "s1-runtime.json:20:"),
        ("pod/s1-runtime.json", lambda d: d.update(bmv2_json="build/other.json"), "neither"),
        ("pod/s1-runtime.json", lambda d: d.update(bmv2_json="../../secret"), "leads out of"),
        ("pod/s1-runtime.json", lambda d: d.update(bmv2_json="/etc/passwd"), "leads out of"),
        ("pod/s1-runtime.json", lambda d: d.update(p4info="/etc/hostname"), "leads out of"),
        (
            "pod/s1-runtime.json",
            lambda d: d.update(multicast_group_entries=[{"multicast_group_id": 0, "replicas": []}]),
            "multicast_group_id is 0, which is out of range",
        ),
        (
            "pod/topology.json",
            lambda d: d["switches"]["s1"].update(runtime_json="../s1.json"),
            "leads out of",
        ),
        ("pod/topology.json", lambda d: d["switches"]["s1"].update(runtime_json="pod/s9.json"), "s9.json"),
        (
            "pod/topology.json",
            lambda d: d["switches"]["s1"].pop("runtime_json"),
            "the switch names no program, and",
        ),
        ("pod/topology.json", lambda d: d["hosts"]["h1"].update(commands=[7]), "a host's command is no text"),
    ],
)
def test_refused(tmp_path: Path, file: str, edit: Callable[[Any], object], message: str) -> None:
    folder = exercise(tmp_path)
    change(folder / file, edit)
    with pytest.raises(FormatError) as caught:
        read_exercise(folder)
    assert message in str(caught.value)


def test_no_p4info_and_no_link_out_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "exercise"
    folder.mkdir()
    exercise(folder)
    (folder / "build" / "ipv4.p4.p4info.txtpb").unlink()
    with pytest.raises(
        FormatError, match=r"s1-runtime\.json:1: the program has no p4info .* or ipv4\.p4\.p4info\.txt"
    ):
        read_exercise(folder)
    (tmp_path / "secret").write_text("{}")
    (folder / "pod" / "s1-runtime.json").unlink()
    (folder / "pod" / "s1-runtime.json").symlink_to("../../secret")
    with pytest.raises(FormatError, match="leads out of"):
        read_exercise(folder)
    (folder / "Makefile").write_text("TOPO = ../secret\n")
    with pytest.raises(FormatError, match="leads out of"):
        read_exercise(folder)


@settings(max_examples=60, deadline=None)
@given(
    at=st.integers(0, 2000),
    length=st.integers(0, 12),
    word=st.sampled_from(["", "-1", "null", "[]", "{}", "1e999", '"', ",", "\u0000", "../"]),
    name=st.sampled_from(["topology.json", "s1-runtime.json"]),
)
def test_damaged_exercises(
    tmp_path_factory: pytest.TempPathFactory, at: int, length: int, word: str, name: str
) -> None:
    folder = exercise(tmp_path_factory.mktemp("damaged"))
    path = folder / "pod" / name
    text = path.read_text()
    at %= len(text)
    path.write_text(text[:at] + word + text[at + length :])
    refusal = str(folder)
    try:
        read_exercise(folder)
    except (FormatError, TopologyError) as ex:
        refusal = str(ex)
    assert str(folder) in refusal

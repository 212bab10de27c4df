# SPDX-License-Identifier: Apache-2.0
"""The command line of a fabric that stays, as a person at a terminal uses it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest
from scapy.utils import PcapReader

from tests.emulation.mininet.benches import no_rights
from tests.emulation.mininet.commands import ROOT, Machine

reason = no_rights()
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)

PROMPT = "mininet> "
SECONDS = 300.0
"""Bound on waiting for an answer: only a test that fails waits for so long."""


class Person:
    """A terminal with `railyard up`; the command line is ready when the constructor returns."""

    def __init__(self, folder: Path, *options: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(folder), "TERM": "dumb"}
        arguments = ["-c", "from railyard.cli import main; main()", "up", *options, "--testbed", "mininet"]
        self.child = pexpect.spawn(
            sys.executable, arguments, cwd=str(folder), env=environment, encoding="utf-8",
            timeout=SECONDS, dimensions=(50, 200),
        )  # fmt: skip
        self.child.expect_exact(PROMPT)
        self.welcome = self.child.before or ""
        self.run = re.findall(r"railyard-([0-9a-f]{6})-fabric", self.welcome)[0]

    def ask(self, line: str) -> list[str]:
        """Type a line, and return the lines of the answer."""
        self.child.sendline(line)
        self.child.expect_exact(PROMPT)
        answer = str(self.child.before or "")
        return answer.replace("\r", "").split("\n")[1:-1]

    def until(self, line: str, wanted: str) -> list[str]:
        """Type a line again and again until the answer has a line with `wanted`."""
        answer: list[str] = []
        for _ in range(1000):
            answer = self.ask(line)
            if any(wanted in row for row in answer):
                return answer
        raise AssertionError(f"{line} never answers {wanted}: {answer}")

    def leave(self) -> None:
        self.child.sendline("exit")
        self.child.expect(pexpect.EOF)
        self.child.wait()


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    folder = tmp_path_factory.mktemp("person")
    machine = Machine(folder)
    person = Person(folder, "full-mesh", "--dims", "2x2", "--switch", "builtin")
    try:
        yield person
        person.leave()
    finally:
        person.child.close(force=True)
    assert person.child.exitstatus == 0
    assert machine.left([person.run]) == []


def test_a_path_is_the_way_that_a_frame_took(person: Person) -> None:
    answer = person.ask("path npu0 npu3")
    assert answer[-1] == "the host of npu3 has received it after 3 switches"
    assert [row.split(":")[0].strip() for row in answer[1:-1]] in (
        ["npu0", "npu1", "npu3"],
        ["npu0", "npu2", "npu3"],
    )
    assert "in by 0" in answer[1]
    assert "ptr 1 of route" in answer[1]
    assert "out by 0 to its host" in answer[3]


def test_a_cut_changes_paths_and_the_ping_still_reaches_everyone(person: Person) -> None:
    whole = "*** Results: 0% dropped (12/12 received)"
    assert person.ask(f"pingall {SECONDS:g}")[-1] == whole
    assert person.ask("cut npu0 npu1") == ["npu0-npu1 is down"]
    answer = person.until("path npu0 npu1", "the host of npu1 has received it after 4 switches")
    assert [row.split(":")[0].strip() for row in answer[1:-1]] == ["npu0", "npu2", "npu3", "npu1"]
    person.until("pingall 2", whole)
    assert person.ask("restore npu0-npu1") == ["npu0-npu1 is up"]
    person.until("path npu0 npu1", "the host of npu1 has received it after 2 switches")


def test_a_host_without_a_link_is_the_one_that_the_ping_misses(person: Person) -> None:
    assert person.ask("cut npu3") == ["the link to the host of npu3 is down"]
    answer = person.ask("pingall 2")
    assert "npu3 -> X X X" in answer
    rows = [row for row in answer if " -> " in row and ":" not in row]
    assert [row.endswith(" X") for row in rows] == [True] * 4
    assert "npu3 -> npu0: the frame is lost: the link of its host is down" in answer
    assert person.ask("restore npu3") == ["the link to the host of npu3 is up"]
    person.until("pingall 2", "(12/12 received)")


def test_a_malformed_frame_is_lost_where_a_switch_drops_it_and_counted(person: Person) -> None:
    answer = person.ask("craft npu0 npu3 --route npu1,npu3 --set srh.ptr=12")
    assert "lost in npu0" in answer[-1]
    assert "dropped, its ptr is past 11: 1 frames" in person.ask("counters npu0")
    assert person.ask("counters npu0 npu1")[0].startswith("npu0-npu1: ")


def test_a_capture_has_the_frames_of_its_link(person: Person, tmp_path: Path) -> None:
    file = tmp_path / "link.pcap"
    assert "until exit" in person.ask(f"capture npu0-npu1 {file}")[0]
    person.until(
        "craft npu0 npu1 --psn 77 --payload-bytes 40", "the host of npu1 has received it after 2 switches"
    )
    # tcpdump writes a frame shortly after it has passed.
    while not (file.exists() and any(len(bytes(frame)) == 102 for frame in PcapReader(str(file)))):
        person.ask("nodes")


def test_errors_name_the_remedy_and_the_prompt_comes_back(person: Person) -> None:
    assert person.ask("cut npu0 npu3") == [
        "*** no link joins npu0 and npu3; name a neighbour of npu0: npu1, npu2"
    ]
    assert person.ask("path npu0")[0].startswith(
        "*** expected at least 2 words after the command, got 1; type path SOURCE DESTINATION"
    )
    assert "no node named 'npu9'" in person.ask("path npu0 npu9")[0]
    assert "railyard up` with --ip" in "".join(person.ask("npu0 ping npu1"))


def test_tab_completes_verbs_nodes_and_links(person: Person) -> None:
    assert person.ask("restore npu2-\t") == ["npu2-npu3 is up"]
    assert person.ask("pinga\t 2")[0].startswith("*** Ping")
    assert person.ask("resto\t npu2-npu\t") == ["npu2-npu3 is up"]

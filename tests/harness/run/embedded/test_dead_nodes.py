# SPDX-License-Identifier: Apache-2.0
"""The controller of a node without power sends, repeats, receives and writes nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import railyard
from controller.recovery.delivery import Delivery
from controller.recovery.messages import Outgoing
from emulation.control.loop import ControlLoop
from harness.run import runner
from harness.run.observation.incidents import incidents_of

HPN: Mapping[str, Any] = {
    "topology": {"name": "hpn", "segments": 2, "hosts": 2, "rails": 2, "aggs": 2},
    "collective": {"algorithm": "dimension-wise", "elements": 16384},
    "routing": {"strategy": "hashed", "peers": "job"},
}
MESH: Mapping[str, Any] = {
    "topology": {"name": "full-mesh", "dims": [4, 4]},
    "collective": {"elements": 131072},
    "routing": {"peers": "job"},
}
DEATHS = pytest.mark.parametrize(
    ("fabric", "target", "names"),
    [
        (HPN, {"switch": "tor0.0.0"}, ["tor0.0.0"]),
        (HPN, {"switch": "agg0.0"}, ["agg0.0"]),
        (MESH, {"npu": "npu3"}, ["npu3"]),
        (MESH, {"board": 1}, ["npu4", "npu5", "npu6", "npu7"]),
    ],
    ids=["ToR", "aggregation switch", "NPU", "board"],
)
MODES = pytest.mark.parametrize("mode", ["direct", "flooding"])


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> list[ControlLoop]:
    """Control loops of the runs of a test."""
    created: list[ControlLoop] = []

    def control_loop(*args: Any) -> ControlLoop:
        created.append(make(*args))
        return created[-1]

    make = runner.control_loop
    monkeypatch.setattr(runner, "control_loop", control_loop)
    return created


def ran(
    fabric: Mapping[str, Any],
    faults: Sequence[Mapping[str, Any]],
    mode: str,
    rto_us: float = 10,
    **control: Any,
) -> railyard.Result:
    return railyard.run(
        {
            **fabric,
            "name": "dead",
            "routing": {**fabric["routing"], "notification": mode},
            "link": {"detect_us": 0.5},
            "control": {"processing_us": 0.5, "repeat_us": 3, **control},
            "transport": {"initial_rto_us": rto_us, "min_rto_us": rto_us},
            "variants": [{"name": "run", "faults": faults}],
        }
    )


@MODES
@DEATHS
def test_a_dead_node_reacts_to_nothing(
    fabric: Mapping[str, Any],
    target: Mapping[str, Any],
    names: list[str],
    mode: str,
    loops: list[ControlLoop],
) -> None:
    link = "gpu4-tor1.0.0" if fabric is HPN else "npu9-npu10"
    cut, repair = {"at_us": 6, "link": link}, {"at_us": 90, "link": link, "event": "up"}
    result = ran(fabric, [{"at_us": 2, **target}, cut, repair], mode)
    (loop,) = loops
    incidents = incidents_of(result.runs["run"].observation)
    assert len(incidents) == 3
    for incident in incidents:
        assert not {node.node for node in incident.nodes}.intersection(names)
        assert incident.detected_by
    # The death itself is announced by the neighbours alone, and nothing else is counted.
    assert result.metric("run", "notices") == sum(incident.notices for incident in incidents) > 0
    assert result.metric("run", "entries_rewritten") == sum(incident.entries for incident in incidents)
    installed = loop.installed()
    assert all(list(installed[name]) == list(loop.plan.entries[name]) for name in names)


@MODES
@DEATHS
def test_a_node_that_returns_knows_what_its_neighbours_know(
    fabric: Mapping[str, Any],
    target: Mapping[str, Any],
    names: list[str],
    mode: str,
    loops: list[ControlLoop],
) -> None:
    back = {"at_us": 40, **target, "event": "up"}
    # A later failure is announced by the returned node with a number that counts as newer.
    link = "gpu0-tor0.0.0" if fabric is HPN else "npu0-npu3" if names == ["npu3"] else "npu4-npu5"
    cut = {"at_us": 80, "link": link}
    result = ran(fabric, [{"at_us": 2, **target}, back, cut], mode)
    down, up, again = incidents_of(result.runs["run"].observation)
    (loop,) = loops
    assert result.metric("run", "correct_npus") == len(result.fabric.endpoints)
    assert not {node.node for node in down.nodes}.intersection(names)
    assert set(names) <= set(up.detected_by)
    assert again.detected_by
    assert loop.down == {link}
    assert loop.report.notices_unconfirmed == 0


@MODES
@DEATHS
def test_tables_are_those_of_the_plan_once_all_have_returned(
    fabric: Mapping[str, Any],
    target: Mapping[str, Any],
    names: list[str],
    mode: str,
    loops: list[ControlLoop],
) -> None:
    faults = [{"at_us": 2, **target}, {"at_us": 40, **target, "event": "up"}]
    result = ran(fabric, faults, mode, rto_us=100)  # no agent asks for other paths meanwhile
    (loop,) = loops
    assert result.metric("run", "correct_npus") == len(result.fabric.endpoints)
    assert not loop.down
    installed = loop.installed()
    for node, planned in loop.plan.entries.items():
        assert set(installed[node]) == set(planned), node


def test_messages_that_a_death_overtakes_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """npu3 tells of a cut at 3 us and dies before any node can have confirmed it."""
    repeating: set[str] = set()
    on_timer = Delivery.on_timer

    def recorded(self: Delivery, now: int, failed: frozenset[str]) -> tuple[Outgoing, ...]:
        repeating.add(self.node)
        return on_timer(self, now, failed)

    monkeypatch.setattr(Delivery, "on_timer", recorded)
    result = ran(MESH, [{"at_us": 2, "link": "npu3-npu7"}, {"at_us": 3.0001, "npu": "npu3"}], "direct")
    cut, _ = incidents_of(result.runs["run"].observation)
    assert {node.node: node.notices for node in cut.nodes}["npu3"] > 0
    assert "npu7" in repeating  # what it sent to npu3
    assert "npu3" not in repeating


def test_a_dead_node_sends_no_hellos(monkeypatch: pytest.MonkeyPatch, loops: list[ControlLoop]) -> None:
    """Nor does it send any between its death and the detection of its dark ports."""
    sent: list[tuple[int, str]] = []
    send_frames = ControlLoop.send_frames

    def counting(self: ControlLoop, node: str, frames: Any) -> int:
        count = send_frames(self, node, frames)
        sent.extend([(self.now_ps, node)] * count)
        return count

    monkeypatch.setattr(ControlLoop, "send_frames", counting)
    ran(MESH, [{"at_us": 2, "npu": "npu3"}], "direct", hello_us=0.2)
    (loop,) = loops
    assert loop.report.hellos_sent == len(sent)
    own = [at for at, node in sent if node == "npu3"]
    assert own
    assert max(own) < 2_000_000

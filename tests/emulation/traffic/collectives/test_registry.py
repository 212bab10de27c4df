# SPDX-License-Identifier: Apache-2.0
"""Kinds of collectives by name, and a kind from outside that runs like ours."""

from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from emulation.errors import EmulationError
from emulation.traffic.collectives import registry
from emulation.traffic.collectives.bounds import send_bound_ps
from emulation.traffic.collectives.declaration import Algorithm, CollectiveKind, Request
from emulation.traffic.collectives.exchange import p2p
from emulation.traffic.schedule.schedule import Schedule
from harness.errors import ScenarioError
from harness.run.prepare import prepare
from harness.run.runner import observe
from harness.scenario.loader import load
from topologies.errors import RailyardError

Write = Callable[[str], Path]

SCENARIO = """
name: own
topology: {name: full-mesh, dims: [4]}
collective: {kind: shift, elements: 64, payload_bytes: 64, %s}
"""


def _to_the_next(request: Request) -> Schedule:
    ranks = request.ranks
    return p2p(ranks, request.elements, [(rank, (rank + 1) % ranks) for rank in range(ranks)])


shift = CollectiveKind(
    "shift",
    (Algorithm("at-once", _to_the_next, needs_grid=False),),
    bound_ps=lambda capacity: send_bound_ps(capacity.data_bytes, max(capacity.port_rates)),
    bound_source="D/P: what has to leave an NPU",
)
not_a_kind = "shift"


@pytest.fixture
def registered() -> Iterator[None]:
    registry.register(shift)
    yield
    del registry.REGISTRY._values["shift"]


@pytest.mark.usefixtures("registered")
class TestAKindFromOutside:
    def test_its_data_are_right_and_it_is_held_against_its_own_bound(self, write: Write):
        (ready,) = prepare(*load(write(SCENARIO % "")))
        run = observe(ready, 1)
        assert (run.correct_nodes, run.first_wrong) == (4, "")
        # 256 bytes over three lanes of 400 Gbit/s each.
        assert ready.bound_ps == round(256 * 8 / (3 * 400e9) * 1e12)
        assert run.completion_ps > ready.bound_ps

    def test_it_does_not_take_keys_of_other_kinds(self, write: Write):
        with pytest.raises(ScenarioError, match="`root:` is for broadcast and reduce; leave it out"):
            load(write(SCENARIO % "root: 1"))

    def test_it_names_its_algorithms(self, write: Write):
        with pytest.raises(ScenarioError, match="algorithm ring cannot carry out shift; take at-once"):
            load(write(SCENARIO % "algorithm: ring"))

    def test_its_name_is_taken(self):
        with pytest.raises(EmulationError, match="collective shift exists already"):
            registry.register(shift)


def test_an_unknown_kind_is_answered_by_the_nearest(write: Write):
    with pytest.raises(ScenarioError, match=r"'shift' is not known; known are all-gather"):
        load(write(SCENARIO % ""))
    with pytest.raises(EmulationError, match="'alreduce' is not known") as caught:
        registry.find("alreduce")
    assert caught.value.remedy == "did you mean 'allreduce'?"


@pytest.mark.parametrize(
    ("value", "why"),
    [("not_a_kind", "is 'shift', but must be a collective of"), ("absent", "cannot load")],
)
def test_an_entry_point_that_gives_no_kind_is_named(value: str, why: str):
    point = EntryPoint("shift", f"{__name__}:{value}", registry.GROUP)
    with pytest.raises(EmulationError, match=f"collective shift: .*{why}"):
        registry.REGISTRY.load_point(point)


def test_an_entry_point_gives_a_kind():
    kind = registry.REGISTRY.load_point(EntryPoint("shift", f"{__name__}:shift", registry.GROUP))
    assert (kind.name, kind.bound_source) == (shift.name, shift.bound_source)
    request = Request((4,), 8)
    assert kind.algorithms[0].build(request) == shift.algorithms[0].build(request)


def test_an_exception_of_an_installed_package_names_file_and_line():
    kind = registry.REGISTRY.load_point(EntryPoint("shift", f"{__name__}:shift", registry.GROUP))
    with pytest.raises(RailyardError, match=r"test_registry\.py:\d+: AttributeError"):
        kind.algorithms[0].build(None)  # type: ignore[arg-type]


def test_a_scenario_names_a_kind_in_a_python_file(tmp_path: Path, write: Write):
    (tmp_path / "mine.py").write_text(
        "from emulation.traffic.collectives import p2p\n"
        "from emulation.traffic.collectives.bounds import send_bound_ps\n"
        "from emulation.traffic.collectives.declaration import Algorithm, CollectiveKind\n"
        "def next(request):\n"
        "    ranks = request.ranks\n"
        "    return p2p(ranks, request.elements, [(rank, (rank + 1) % ranks) for rank in range(ranks)])\n"
        "shift = CollectiveKind(\n"
        "    'shift', (Algorithm('at-once', next, needs_grid=False),), bound_source='D/P',\n"
        "    bound_ps=lambda capacity: send_bound_ps(capacity.data_bytes, max(capacity.port_rates)))\n"
    )
    kind = f"{{python: '{tmp_path / 'mine.py'}:shift'}}"
    scenario = load(
        write(f"name: x\ntopology: {{name: full-mesh, dims: [3]}}\ncollective: {{kind: {kind}}}\n")
    )[0]
    collective = scenario.variants[0].every_job[0].collective
    assert collective.algorithm == "at-once"
    assert registry.find(collective.kind).bound_source == "D/P"
    with pytest.raises(
        EmulationError,
        match=r"mine\.py:next is of type function, not a CollectiveKind; name a CollectiveKind",
    ):
        registry.find(f"{tmp_path / 'mine.py'}:next")

# SPDX-License-Identifier: Apache-2.0
"""The fuzzer: short runs that must find nothing, and one that must find what has been broken on purpose."""

import random
from pathlib import Path

import pytest
from finsy.proto import p4r

from controller.p4runtime.p4info import P4Info
from tests.differential.fuzz.explained import explanation
from tests.differential.fuzz.frames import FrameMaker, Pool
from tests.differential.fuzz.session import fuzz
from tests.differential.fuzz.subjects import Subject, subject
from tests.differential.fuzz.updates import UpdateMaker

ROOT = Path(__file__).resolve().parents[2]
BUILDS = {
    **dict.fromkeys(("ub_npu", "ub_switch"), ROOT / "p4" / "build"),
    **dict.fromkeys(
        ("arithmetic", "copies", "every_entity", "every_match", "externs", "parsing", "wire"),
        ROOT / "tests" / "programs" / "build",
    ),
}


def program(name: str) -> Subject:
    return subject(BUILDS[name] / f"{name}.json")


@pytest.mark.bmv2(cli=True)
@pytest.mark.parametrize("name", BUILDS)
def test_nothing_unexplained(name: str, tmp_path: Path) -> None:
    summary = fuzz(program(name), frames=8_000, seed=3, directory=tmp_path)
    assert summary.counts == {}, summary.examples
    assert summary.outputs > 0


@pytest.mark.bmv2(cli=True)
def test_a_difference_is_found_and_shrunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = "tests.differential.differential.Differential._outputs"

    def wrong(pair: object, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        return [(3, frame)] if frame[0] == 0xF9 else []  # wire sends port 31 nowhere

    monkeypatch.setattr(outputs, wrong)
    summary = fuzz(program("wire"), frames=2_048, seed=3, directory=tmp_path)
    result = [kind for kind in summary.counts if kind.startswith("frame: ")]
    assert result, summary.counts


def test_frames_reach_every_state_of_a_parser() -> None:
    rng = random.Random(1)
    maker = FrameMaker(program("ub_npu").files.json, range(4), rng, Pool(rng))
    frames = [frame for _ in range(8) for port, frame in maker.chunk(200, 0) if port in range(4)]
    assert any(frame[12:14] == b"\x88\xb5" and len(frame) > 60 for frame in frames)
    assert any(len(frame) < 14 for frame in frames)
    assert {frame[12:14] for frame in frames} > {b"\x88\xb5"}


def test_updates_are_made_for_every_table_and_some_are_wrong() -> None:
    rng = random.Random(1)
    info = P4Info.parse(program("every_match").files.p4info).message
    maker = UpdateMaker(info, range(4), rng, Pool(rng))
    created = [pair for _ in range(100) for pair in maker.batch(5)]
    valid = [update.entity.table_entry for update, wrong in created if not wrong]
    assert {entry.table_id for entry in valid} == {table.preamble.id for table in info.tables}
    assert len(valid) > len(created) // 2
    assert {update.type for update, wrong in created if not wrong} == {
        p4r.Update.INSERT,
        p4r.Update.MODIFY,
        p4r.Update.DELETE,
    }
    assert len({wrong for _, wrong in created}) > 15
    priorities = [entry.priority for entry in valid if entry.priority]
    assert len(priorities) > 50


@pytest.mark.parametrize(
    ("kind", "known"),
    [
        ("write, valid: INSERT: engine RESOURCE_EXHAUSTED, BMv2 UNKNOWN", True),
        ("write, valid: INSERT: engine RESOURCE_EXHAUSTED, BMv2 OK", False),
        ("write, valid: MODIFY: engine NOT_FOUND, BMv2 OK", False),
        ("write, empty value: MODIFY default: engine OUT_OF_RANGE, BMv2 OK", True),
        ("write, unknown action: INSERT: engine OK, BMv2 INVALID_ARGUMENT", False),
        ("write, unknown action: INSERT: engine NOT_FOUND, BMv2 INVALID_ARGUMENT", True),
        ("write, valid: constant table INSERT: engine PERMISSION_DENIED, BMv2 OK", False),
        ("frame: engine to [1], BMv2 to nobody", False),
        ("counter", False),
    ],
)
def test_only_known_reasons_explain(kind: str, known: bool) -> None:
    assert bool(explanation(kind)) == known

# SPDX-License-Identifier: Apache-2.0
"""Effects that meet on one frame: truncate, clone, resubmit, recirculate, multicast, digest and drop."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

import pytest

from controller.p4runtime.client import ProgramFiles
from emulation._engine import Network
from tests.differential.effects.pairs import EFFECTS, EffectPairs
from tests.differential.effects.programs import (
    every_frame,
    every_pair,
    frame_of,
    random_frames,
    random_program,
)
from tests.differential.effects.run import RECORD, Meeting, engine_with, record
from tests.differential.shapes.program import random_program as random_source

TRUNCATE, CLONE, KEEPING_CLONE, RESUBMIT, MULTICAST, DIGEST, DROP = range(1, 8)
RECIRCULATE = 4


def logged(network: Network) -> Iterator[str]:
    while item := network.take_control():
        if item[0] == "log":
            yield item[5].decode()


def lengths(codes: tuple[int, int, int, int]) -> dict[int, list[int]]:
    """Lengths of the frames that leave, by port, for a frame of 64 bytes with the codes of its effects."""
    result: dict[int, list[int]] = {}
    for port, data in engine_with(every_pair()).process(0, 0, frame_of(0, codes)):
        result.setdefault(port, []).append(len(data))
    return {port: sorted(sizes) for port, sizes in result.items()}


def pairs_of(files: ProgramFiles, frames: Iterable[bytes]) -> EffectPairs:
    pairs = EffectPairs()
    network = engine_with(files)
    network.set_logging(0, True)
    for frame in frames:
        network.process(0, 0, frame)
        for text in logged(network):
            pairs.log(text)
    pairs.finish()
    return pairs


in_tables = pytest.mark.parametrize(
    ("first", "second"),
    [(False, False), (True, False), (False, True), (True, True)],
    ids=["apply, apply", "table, apply", "apply, table", "table, table"],
)


@in_tables
def test_every_pair_of_effects_meets_in_either_order_in_its_control(first: bool, second: bool) -> None:
    pairs = pairs_of(every_pair(first, second), every_frame())
    assert pairs.missing == []
    places = [("apply", "table")[in_table] for in_table in (first, second)]
    assert set(pairs.places) == {(control, *places) for control in EFFECTS}


@in_tables
def test_the_engine_sends_what_bmv2_has_sent_for_every_pair(first: bool, second: bool) -> None:
    """An effect in an action of a table is the effect of the statement."""
    assert record(every_pair(first, second)).splitlines() == RECORD.read_text().splitlines()


@pytest.mark.parametrize("other", [CLONE, KEEPING_CLONE, DIGEST])
@pytest.mark.parametrize("first", [True, False], ids=["truncate first", "truncate second"])
def test_truncation_in_ingress_holds_whatever_else_the_frame_does(other: int, first: bool) -> None:
    codes = (TRUNCATE, other, 0, 0) if first else (other, TRUNCATE, 0, 0)
    left = lengths(codes)
    assert left.pop(1) == [40 if first else 30]
    # A clone is the frame as it arrived; the session of the first effect has three copies.
    clones = 0 if other == DIGEST else 1 if first else 3
    assert [length for sizes in left.values() for length in sizes] == [64] * clones


@pytest.mark.parametrize(
    ("codes", "left"),
    [
        ((TRUNCATE, TRUNCATE, 0, 0), {1: [30]}),
        ((TRUNCATE, 0, 0, TRUNCATE), {1: [36]}),
        ((0, 0, TRUNCATE, TRUNCATE), {1: [26]}),
        ((TRUNCATE, DROP, 0, 0), {}),
        ((DROP, MULTICAST, 0, 0), {2: [64], 3: [64]}),
        ((MULTICAST, DROP, 0, 0), {}),
        ((TRUNCATE, MULTICAST, 0, 0), {2: [64], 3: [64]}),
        ((0, 0, TRUNCATE, RECIRCULATE), {1: [26]}),
    ],
)
def test_pairs_with_truncate_and_drop(codes: tuple[int, int, int, int], left: dict[int, list[int]]) -> None:
    assert lengths(codes) == left


def ones_complement(data: bytes) -> int:
    total = sum(int.from_bytes(data[at : at + 2].ljust(2, b"\0")) for at in range(0, len(data), 2))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@pytest.mark.parametrize(("effect", "covered"), [(0, 46), (TRUNCATE, 40)], ids=["whole", "truncated"])
def test_a_checksum_with_payload_covers_as_much_payload_as_truncate_names(effect: int, covered: int) -> None:
    """BMv2 applies the length of the frame to the payload alone; the record holds it to that."""
    frame = frame_of(7, (effect, 0, 0, 0))
    ((_, data),) = engine_with(every_pair()).process(0, 0, frame)
    number, length = data[2:4], data[10:12]
    assert int.from_bytes(data[12:14]) == ones_complement(number + length + frame[18 : 18 + covered])


def test_random_programs_end_and_their_effects_meet_in_tables_and_outside_of_them() -> None:
    places: Counter[tuple[str, str, str]] = Counter()
    for seed in range(40):
        places += pairs_of(random_program(seed), random_frames(seed, 16)).places
    assert set(places) == set(product(EFFECTS, ("apply", "table"), ("apply", "table")))


def test_pairs_are_counted_by_pass_and_order() -> None:
    pairs = EffectPairs()
    for text in ("begin ingress", "effect clone", "other", "effect drop in table", "effect clone"):
        pairs.log(text)
    pairs.log("begin egress")
    pairs.log("effect drop")
    pairs.finish()
    assert pairs.counts == {
        ("ingress", "clone", "drop"): 1,
        ("ingress", "clone", "clone"): 1,
        ("ingress", "drop", "clone"): 1,
    }
    assert pairs.places == {
        ("ingress", "apply", "table"): 1,
        ("ingress", "table", "apply"): 1,
        ("ingress", "apply", "apply"): 1,
    }
    assert ("egress", "drop", "drop") in pairs.missing
    assert "| clone | 0 | 1 | 0 | 0 | 0 | 1 |" in pairs.table()


def test_random_sources_log_all_effects() -> None:
    """Programs of the compiler's fuzzer have the log messages that pairs are counted from."""
    sources = [random_source(seed) for seed in random.Random(1).sample(range(10_000), 60)]
    for control, names in EFFECTS.items():
        assert all(f'log_msg("begin {control}")' in source for source in sources)
        for name in names:
            assert any(f'log_msg("effect {name}")' in source for source in sources)


@pytest.mark.bmv2(cli=True)
def test_both_switches_send_the_same(tmp_path: Path) -> None:
    with Meeting(tmp_path) as meeting:
        for in_table in product((False, True), repeat=2):
            assert meeting.differences(every_pair(*in_table), list(every_frame())) == []
        assert meeting.pairs.missing == []
        for seed in range(20):
            frames = list(random_frames(seed, 64))
            assert meeting.differences(random_program(seed), frames) == [], f"seed {seed}"

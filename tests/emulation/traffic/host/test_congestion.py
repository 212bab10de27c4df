# SPDX-License-Identifier: Apache-2.0
"""Congestion control: algorithms in C++ beside their specification, event by event, and choices refused."""

import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from emulation._engine import congestion_control
from emulation.errors import EmulationError
from emulation.traffic.host.congestion import ALGORITHMS, CongestionChoice, PathFacts, congestion_choice
from tests.oracle.congestion.dcqcn import Dcqcn
from tests.oracle.congestion.nscc import Nscc
from tests.oracle.congestion.nscc_rccc import NsccRccc
from tests.oracle.congestion.rccc import Rccc
from tests.oracle.congestion.swift import Swift
from topologies.errors import RailyardError

SPECIFICATION = {"nscc": Nscc, "rccc": Rccc, "nscc+rccc": NsccRccc, "swift": Swift, "dcqcn": Dcqcn}
FACTS = PathFacts(base_rtt_ps=12_000_000, rate_bps=100_000_000_000, frame_bytes=4158, trims=True)
QUIET, LONG = FACTS.base_rtt_ps + 200_000, 5 * FACTS.base_rtt_ps


def made(name: str, facts: PathFacts = FACTS, **parameters: float) -> tuple[Any, Any]:
    """Return an algorithm in C++ and its specification."""
    native = congestion_control(congestion_choice(name, parameters, facts).engine_arguments())
    return native, SPECIFICATION[name](facts, **parameters)


@pytest.mark.parametrize("name", SPECIFICATION)
@pytest.mark.parametrize("seed", range(8))
def test_an_algorithm_and_its_specification_answer_every_event_alike(name: str, seed: int) -> None:
    random = Random(f"{name} {seed}")
    facts = PathFacts(
        random.choice([900_000, 12_345_678, 40_000_000]),
        random.choice([25, 100, 400]) * 10**9,
        random.choice([1086, 4158, 9000]),
        random.random() < 0.5,
    )
    native, own = made(name, facts)
    assert native.start() == own.start()
    now, seen = 0, set()
    for _ in range(3000):
        now += random.choice([random.randrange(200_000), random.randrange(100_000_000)])
        acked = random.randrange(1, 8) * facts.frame_bytes
        under_way = random.randrange(64) * facts.frame_bytes
        if random.random() < 0.85:
            rtt = random.choice([0, *[int(facts.base_rtt_ps * random.uniform(0.8, 6)) for _ in range(3)]])
            marked = random.choice([0, 0, acked, acked // 2, acked // 3])
            given: tuple[str, tuple[int, ...]] = ("on_ack", (now, rtt, acked, marked, under_way))
        else:
            kind = random.choice(["on_nack", "on_trim", "on_timeout"])
            given = (kind, (now, acked, under_way))
        if random.random() < (0.5 if "rccc" in name else 0.02):  # else rccc soon has nothing to spend
            given = ("on_credit", (now, acked))
        method, values = given
        answer = getattr(native, method)(*values)
        assert answer == getattr(own, method)(*values)
        seen.add(answer)
    # The events have moved the limits; the smaller of two windows moves less.
    assert len(seen) > (1 if "+" in name else 10)


def test_nscc_grows_without_delay_and_shrinks_to_what_arrives_after_losses() -> None:
    control, _ = made("nscc")
    largest, _ = control.start()
    assert largest == pytest.approx(1.5 * 150_000, rel=0.01)
    control.on_trim(1_000_000, 4158, 100_000)
    small = control.on_trim(40_000_000, 4158, 100_000)[0]  # a round trip in which nothing arrived
    assert small == FACTS.frame_bytes
    now, window = 41_000_000, small
    for _ in range(2000):
        now += 1_000_000
        window = control.on_ack(now, QUIET, 4158, 0, window)[0]
    assert window == largest
    for _ in range(2000):
        now += 1_000_000
        window = control.on_ack(now, LONG, 4158, 4158, window)[0]
    assert window < largest / 4


def test_swift_sends_less_than_a_frame_a_round_trip_by_a_rate() -> None:
    control, _ = made("swift")
    now, limits = 0, control.start()
    assert limits[1] == 0
    for _ in range(40):
        now += LONG
        limits = control.on_ack(now, LONG, 4158, 0, 0)
    window, rate = limits
    assert window == FACTS.frame_bytes
    assert 0 < rate < window * 8 * 10**12 / LONG


def test_dcqcn_cuts_its_rate_once_an_interval_and_recovers_half_of_it_a_timer() -> None:
    control, _ = made("dcqcn")
    line = FACTS.rate_bps
    assert control.start() == (0, line)
    assert control.on_ack(10, QUIET, 4158, 4158, 0) == (0, line // 2)
    assert control.on_ack(20, QUIET, 4158, 4158, 0) == (0, line // 2)  # within the interval
    assert control.on_ack(10 + 55_000_000, QUIET, 1, 0, 0) == (0, line * 3 // 4)
    assert control.on_ack(10 + 110_000_000, QUIET, 1, 0, 0) == (0, line * 7 // 8)


@pytest.mark.parametrize(
    ("algorithm", "parameters", "said"),
    [
        ("nssc", {}, "congestion control 'nssc' is not known; did you mean 'nscc'"),
        ("swift", {"betta": 1.0}, "swift has no parameter 'betta'; did you mean 'beta'"),
        ("fixed", {"beta": 1.0}, "fixed has no parameter 'beta'; leave it out"),
        ("nowhere.py:Mine", {}, "nowhere.py cannot be read: No such file"),
    ],
)
def test_an_impossible_choice_is_refused_with_a_remedy(
    algorithm: str, parameters: dict[str, float], said: str
) -> None:
    with pytest.raises(RailyardError, match=said.replace("(", r"\(")):
        congestion_choice(algorithm, parameters, FACTS)


@pytest.mark.parametrize(
    ("name", "missing"), [(name, key) for name in SPECIFICATION for key in ALGORITHMS[name] if key != "share"]
)
def test_a_missing_parameter_is_named_with_its_algorithm(name: str, missing: str) -> None:
    choice, parameters, *further = congestion_choice(name, {}, FACTS).engine_arguments()
    given = {key: value for key, value in parameters.items() if key != missing}
    said = f"congestion control {name} has no value of its parameter {missing}; give all parameters"
    with pytest.raises(ValueError, match=re.escape(said)):
        congestion_control((choice, given, *further))


def test_a_class_of_a_users_own_needs_every_method_and_returns_two_whole_numbers(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("class Short:\n    def __init__(self, facts):\n        pass\n")
    with pytest.raises(EmulationError, match="no method `start`"):
        congestion_choice(f"{file}:Short", {}, FACTS)
    methods = "".join(f"    def {name}(self, *_):\n        return 7\n" for name in _methods())
    file.write_text(f"class Odd:\n    def __init__(self, facts):\n        pass\n{methods}")
    with pytest.raises(EmulationError, match="start returned 7; return"):
        congestion_choice(f"{file}:Odd", {}, FACTS)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("1 // 0", r"mine\.py:6: ZeroDivisionError"),
        ("(8000.0, 0)", r"on_ack returned \(8000\.0, 0\); return"),
        ("(8000, -1)", r"on_ack returned \(8000, -1\); return"),
        ("(2**63, 0)", "on_ack returned .*; return"),
    ],
)
def test_an_error_of_a_users_class_in_a_run_is_a_sentence(tmp_path: Path, answer: str, said: str) -> None:
    file = tmp_path / "mine.py"
    others = "".join(
        f"    def {name}(self, *_):\n        return 8000, 0\n" for name in _methods() if name != "on_ack"
    )
    file.write_text(
        f"class Own:\n    def __init__(self, facts):\n        pass\n\n"
        f"    def on_ack(self, *_):\n        return {answer}\n\n{others}"
    )
    control = congestion_control(congestion_choice(f"{file}:Own", {}, FACTS).engine_arguments())
    assert control.start() == (8000, 0)
    with pytest.raises(RailyardError, match=said):
        control.on_ack(1_000_000, 12_000_000, 4158, 0, 0)


def _methods() -> list[str]:
    return ["start", "on_ack", "on_nack", "on_trim", "on_timeout", "on_credit"]


def test_every_algorithm_of_this_package_has_a_specification() -> None:
    assert {*ALGORITHMS} == {"fixed", *SPECIFICATION}
    made_by: Callable[..., CongestionChoice] = congestion_choice
    assert made_by("fixed", {}, FACTS).engine_arguments()[0] == "fixed"

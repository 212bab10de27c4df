# SPDX-License-Identifier: Apache-2.0
"""Limits are kept up to their own value and broken beyond it; reasons name value and limit."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from emulation.errors import EmulationError
from emulation.fidelity import (
    MAX_BUSIEST,
    MAX_CLOCKS,
    MAX_CPU,
    MAX_LATE,
    MAX_LATE_CHAIN,
    MAX_LATE_P99,
    MIN_ACHIEVED,
    MIN_SECONDS,
    Measured,
    duration,
    judge,
    percent,
    rate,
)

CALM = Measured(
    dilation=40_000,
    seconds=2.0,
    stated_bps=10e6,
    offered_bytes=1_000_000,
    sent_bytes=1_000_000,
    lateness_us=(0.0, 0.0, 0.0),
    waiting_us=(1e3, 2e3, 3e3),
    cpu_busy=0.5,
    busiest=("switch", 0.5),
    drops={"veth": 0, "program": 3, "fault": 40},
    shaped=True,
)


def late(median: float = 0.0, most: float = 0.0, worst: float = 0.0) -> dict[str, Any]:
    """Lateness by shares of the two seconds of CALM."""
    return {"lateness_us": (2e6 * median, 2e6 * most, 2e6 * worst)}


def test_a_calm_run_is_trusted():
    fidelity = judge(CALM)
    assert fidelity.trustworthy
    assert (fidelity.reasons, fidelity.remedies, fidelity.suggested_dilation) == ((), (), None)
    assert all(check.used <= 1 for check in fidelity.checks)


@pytest.mark.parametrize(
    ("kept", "broken", "said"),
    [
        ({"seconds": MIN_SECONDS}, {"seconds": 0.49}, "took 490 ms of real time, too short"),
        ({"sent_bytes": round(1e6 * MIN_ACHIEVED)}, {"sent_bytes": 949_000}, "sent 94.9 % of what 10 Mbit/s"),
        (late(most=MAX_LATE_P99), late(most=0.011), "22 ms late or more, 1.1 % of the run (at most 1 %"),
        (late(worst=MAX_LATE), late(worst=0.051), "a frame left 102 ms late, 5.1 % of the run (at most 5 %"),
        (late(MAX_LATE_CHAIN), late(0.06), "chain of 1 transfer is 120 ms, 6 % of the run"),
        ({"cpu_busy": MAX_CPU}, {"cpu_busy": 0.91}, "busy 91 % of the time (at most 90 %)"),
        ({"busiest": ("sw", MAX_BUSIEST)}, {"busiest": ("sw", 1.5)}, "sw used 150 % of a processor"),
        (
            {"drops": {"fault": 9}},
            {"drops": {"veth": 1}},
            "1 frame was lost where the fabric loses none: 1 at",
        ),
        (
            {"clocks_us": 1e6 * MAX_CLOCKS * CALM.seconds},
            {"clocks_us": 22_000.0},
            "times of different machines may differ by 22 ms, 1.1 % of the run (at most 1 % of the run)",
        ),
        ({"shaped": True}, {"shaped": False}, "links were not held to their rate"),
    ],
)
def test_a_limit_holds_up_to_its_own_value(kept: dict[str, Any], broken: dict[str, Any], said: str):
    assert judge(replace(CALM, **kept)).trustworthy
    (reason,) = judge(replace(CALM, **broken)).reasons
    assert said in reason


def test_lateness_adds_up_over_a_chain():
    once = replace(CALM, **late(median=0.004, most=0.004, worst=0.004))
    assert judge(once).trustworthy
    (reason,) = judge(replace(once, steps=30)).reasons
    assert "chain of 30 transfers is 240 ms, 12 % of the run" in reason


def test_every_place_but_a_program_and_a_fault_counts():
    drops = {"agent ring": 2000, "switch queue": 1, "program": 5, "fault": 7, "a new place": 3}
    (reason,) = judge(replace(CALM, drops=drops)).reasons
    assert "2,004 frames were lost" in reason
    assert "2,000 at agent ring, 1 at switch queue, 3 at a new place (at most 0)" in reason


@pytest.mark.parametrize(
    ("change", "dilation"),
    [
        ({"cpu_busy": 0.95}, 80_000),  # no less than twice as slow
        ({"sent_bytes": 250_000}, 200_000),  # 40,000 x 1.25 x 0.95/0.25, up to half a hundred thousand
        ({"sent_bytes": 0}, 80_000),  # so little that nothing follows
        ({"drops": {"switch ring": 10**9}}, 80_000),
        ({"drops": {"link queue": 5}}, None),
        ({"shaped": False}, None),
        ({"shaped": False, "cpu_busy": 1.0}, 80_000),
        ({"drops": {"veth": 1}, "sent_bytes": 250_000}, 200_000),
        ({"offered_bytes": 0, "sent_bytes": 0}, None),
        ({"lateness_us": (0.0, 1e12, 0.0)}, 40_000_000),  # a thousand times and no more
    ],
)
def test_slower_time_is_suggested_where_it_helps(change: dict[str, Any], dilation: int | None):
    fidelity = judge(replace(CALM, **change))
    assert not fidelity.trustworthy
    assert fidelity.suggested_dilation == dilation


def test_a_suggestion_holds_for_a_machine_whose_work_does_not_change():
    """As much slower as suggested, the same lateness and the same work are within their limits."""
    hurried = replace(CALM, dilation=1234, seconds=0.3, cpu_busy=1.0, lateness_us=(900.0, 30_000.0, 60_000.0))
    suggested = judge(hurried).suggested_dilation
    assert suggested is not None
    slower = suggested / 1234
    calm = replace(hurried, dilation=suggested, seconds=0.3 * slower, cpu_busy=1 / slower)
    assert judge(calm).trustworthy


def test_a_suggestion_is_a_whole_number():
    assert judge(replace(CALM, dilation=1.2, cpu_busy=1.0)).suggested_dilation == 3


def test_nothing_measured_is_not_trusted():
    nothing = replace(
        CALM, seconds=0.0, offered_bytes=0, sent_bytes=0, cpu_busy=0.0, busiest=("", 0.0), drops={}
    )
    assert judge(nothing).reasons == (
        "the run took 0 s of real time, too short to judge (at least 500 ms)",
        "generators had nothing to send (at least 95 %)",
    )
    assert (
        judge(replace(nothing, **late(worst=1.0)))
        .reasons[2]
        .startswith("a frame left 2 s late, over 1,000 %")
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("cpu_busy", math.nan),
        ("seconds", -1.0),
        ("lateness_us", (0.0, math.inf, 1.0)),
        ("busiest", ("switch", -0.1)),
        ("drops", {"veth": -1}),
        ("dilation", 0.0),
    ],
)
def test_what_is_no_measure_is_refused(field: str, value: object):
    with pytest.raises(EmulationError, match=f"measured {field} is "):
        replace(CALM, **{field: value})


def test_remedies_are_named_once_and_only_where_they_help():
    assert judge(replace(CALM, cpu_busy=1.0)).remedies == (
        "leave the machine to the run, or give it more processors",
    )
    assert "transport.window" in judge(replace(CALM, drops={"link queue": 5})).remedies[0]
    assert "CONFIG_NET_SCH_TBF" in judge(replace(CALM, shaped=False)).remedies[0]


def test_the_document_is_plain_values():
    document = judge(replace(CALM, shaped=False, notes=("no netem",))).document()
    again = json.loads(json.dumps(document, allow_nan=False))
    assert set(again) == {
        "trustworthy",
        "reasons",
        "remedies",
        "suggested_dilation",
        "checks",
        "measured",
    }
    assert (again["trustworthy"], again["measured"]["notes"]) == (False, ["no netem"])
    assert set(again["measured"]) == set(Measured.__dataclass_fields__)
    assert [check["what"] for check in again["checks"] if not check["holds"]] == ["links held to their rate"]


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0 %"), (0.00001, "under 0.01 %"), (0.125, "12.5 %"), (1.0, "100 %"), (40.0, "over 1,000 %")],
)
def test_a_share_for_the_eye(share: float, text: str):
    assert percent(share) == text


@pytest.mark.parametrize(
    ("us", "text"),
    [(0.0, "0 s"), (0.0045, "4.5 ns"), (12.0, "12 µs"), (3_400.0, "3.4 ms"), (2_500_000.0, "2.5 s")],
)
def test_a_duration_for_the_eye(us: float, text: str):
    assert duration(us) == text


@pytest.mark.parametrize(
    ("bps", "text"), [(12, "12 bit/s"), (3_500, "3.5 kbit/s"), (10e6, "10 Mbit/s"), (4e11, "400 Gbit/s")]
)
def test_a_rate_for_the_eye(bps: float, text: str):
    assert rate(bps) == text

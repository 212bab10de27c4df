# SPDX-License-Identifier: Apache-2.0
"""Queues that drop, trim or pause, and congestion control, from scenario to metrics."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path

import pytest

from emulation.errors import TestbedError
from harness.errors import ScenarioError
from harness.report.measurement.metrics import measure
from harness.run.prepare import prepare
from harness.run.real_time import RealTime
from harness.run.runner import run
from harness.run.testbeds import Embedded, headroom_bytes
from harness.scenario.loader import load
from topologies import full_mesh

Figures = Mapping[str, float]
ORACLE = Path(__file__).resolve().parents[3] / "oracle" / "congestion"

INCAST = """\
name: incast
topology: {name: rail-only, domains: 8, hb_size: 2, radix: 8, uplinks: 1, spines: 1}
routing: {strategy: shortest}
collective: {kind: reduce, algorithm: direct, elements: ELEMENTS, members: [gpu0, gpu2, gpu4, gpu6, gpu8]}
link: LINK
transport: {ack_every: 1, min_rto_us: 20, CONGESTION}
"""
TRIMS = "queues: {data: {frames: 16, trim: true}, response: {bytes: 65536}}"
TRIM = f"{{{TRIMS}, ecn: {{first_frames: 4, last_frames: 12}}}}"
DROP = "{queues: {data: {frames: 16}}}"
PAUSE = "{queues: {data: {pfc: {xoff_bytes: 16384}}}}"


def figures(path: Path, choice: Embedded | None = None) -> Figures:
    """Return the metrics of the only variant, whose data is right."""
    (only,) = run(prepare(*load(path)), 1, choice=choice or Embedded()).runs.values()
    assert not only.observation.first_wrong
    return measure(only)


@pytest.fixture
def incast(write: Callable[[str], Path]) -> Callable[..., Figures]:
    def ran(
        link: str, congestion: str = "fixed", choice: Embedded | None = None, elements: int = 16384
    ) -> Figures:
        text = INCAST.replace("LINK", link).replace("CONGESTION", f"congestion: {congestion}")
        text = text.replace("ELEMENTS", str(elements))
        return figures(write(text), choice)

    return ran


def test_a_full_queue_drops_and_what_it_drops_arrives_all_the_same(incast: Callable[..., Figures]) -> None:
    result = incast(DROP)
    assert result["full_queue_frames"] > 0
    assert result["trimmed_frames"] == 0
    assert result["retransmitted_frames"] >= result["full_queue_frames"]
    assert result["received_frames"] == 4 * 16


def test_a_trimmed_frame_is_told_at_once_and_sent_again(incast: Callable[..., Figures]) -> None:
    result, dropping = incast(TRIM), incast(DROP)
    assert result["full_queue_frames"] == 0
    assert 0 < result["trimmed_frames"] == result["trims_reported"] == result["retransmitted_frames"]
    assert result["duplicate_frames"] == 0
    assert result["completion_us"] < dropping["completion_us"]


def test_a_port_has_queues_of_its_own(write: Callable[[str], Path]) -> None:
    text = INCAST.replace("CONGESTION", "congestion: fixed").replace("ELEMENTS", "16384")
    small = f"{TRIM[:-1]}, ports: {{PORT: {{queues: {{data: {{frames: 1, trim: true}}}}}}}}}}"

    def trimmed(link: str) -> Mapping[tuple[str, int], int]:
        (only,) = run(prepare(*load(write(text.replace("LINK", link)))), 1).runs.values()
        assert not only.observation.first_wrong
        usage = only.observation.link_usage
        return {(name, way): usage[name][way].trimmed_frames for name in usage for way in (0, 1)}

    everywhere = trimmed(TRIM)
    assert everywhere["gpu2-rail0", 0] == everywhere["gpu2-rail0", 1] == 0
    narrow = trimmed(small.replace("PORT", "gpu2->rail0"))
    assert narrow["gpu2-rail0", 0] > narrow["gpu2-rail0", 1] == 0
    assert narrow["gpu4-rail0", 0] == 0


def test_a_port_without_a_link_is_refused(write: Callable[[str], Path]) -> None:
    text = INCAST.replace("CONGESTION", "congestion: fixed").replace("ELEMENTS", "16384")
    ports = "ports: {gpu2->rail99: {queues: {data: {frames: 1}}}}"
    with pytest.raises(ScenarioError, match="no node named 'rail99'"):
        prepare(*load(write(text.replace("LINK", f"{TRIM[:-1]}, {ports}}}"))))


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("{ports: {gpu0->rail0: {queues: {data: {frames: 1}}}}}", "set `queues:` for all links"),
        ("{ports: {gpu0->rail0: {ecn: {first_frames: 1, last_frames: 2}}}}", "set `ecn:` for all links"),
        (f"{TRIM[:-1]}, ports: {{gpu0->rail0: {{}}}}}}", "give `queues:` or `ecn:`"),
        (
            f"{TRIM[:-1]}, ports: {{gpu0->rail0: {{queues: {{data: {{pfc: {{xoff_bytes: 4096}}}}}}}}}}}}",
            "write it under `link.queues.data`",
        ),
    ],
)
def test_settings_of_ports_that_make_no_sense(write: Callable[[str], Path], link: str, message: str) -> None:
    text = INCAST.replace("CONGESTION", "congestion: fixed").replace("ELEMENTS", "16384")
    with pytest.raises(ScenarioError, match=message):
        load(write(text.replace("LINK", link)))


@pytest.mark.parametrize(
    ("link", "congestion"),
    [("queues: {data: {pfc: {xoff_bytes: 4096}}}", "dcqcn"), ("credit_bytes: 8192", "fixed")],
)
def test_frames_that_are_marked_change_lanes_before_they_wait(
    write: Callable[[str], Path], link: str, congestion: str
) -> None:
    """Programs that mark write headers when a frame leaves its queue, and the queue is that of the new lane.

    In the old lane, detours over an NPU wait for each other in a circle, which the turn rules exclude.
    """
    text = f"""\
name: lanes
topology: {{name: full-mesh, dims: [8]}}
collective: {{kind: all-to-all, elements: 294912, payload_bytes: 4096}}
routing: {{strategy: oblivious, peers: job}}
link: {{{link}, ecn: {{first_frames: 2, last_frames: 8, percent: 10}}}}
transport: {{ack_every: 1, congestion: {congestion}}}
"""
    (only,) = run(prepare(*load(write(text))), 1).runs.values()
    assert only.observation.deadlock is None
    assert only.observation.correct_nodes == 8


@pytest.mark.parametrize(("marks", "draws"), [("first_frames: 2, last_frames: 32", True), ("12", False)])
def test_marks_between_two_depths_are_drawn_from_the_seed(
    write: Callable[[str], Path], marks: str, draws: bool
) -> None:
    link = f"{{{TRIMS}, ecn: {{{marks}}}}}" if draws else f"{{{TRIMS}, ecn_frames: {marks}}}"
    text = INCAST.replace("LINK", link).replace("CONGESTION", "congestion: nscc")
    prepared = prepare(*load(write(text.replace("ELEMENTS", "65536"))))

    def marked(seed: int) -> Figures:
        (only,) = run(prepared, seed).runs.values()
        assert not only.observation.first_wrong
        return {name: value for name, value in measure(only).items() if name != "result_crc32"}  # of the data

    first = marked(1)
    assert first["marked_frames"] > 0
    assert marked(1) == first
    assert (marked(2) != first) is draws


def test_headers_of_many_senders_do_not_keep_data_from_its_link(write: Callable[[str], Path]) -> None:
    """Fifteen fixed windows of frames hardly longer than their headers: data goes ahead after ten headers."""
    members = [f"gpu{2 * rank}" for rank in range(16)]
    crowd = (
        "name: crowd\n"
        "topology: {name: rail-only, domains: 16, hb_size: 2, radix: 16, uplinks: 1, spines: 1}\n"
        "routing: {strategy: shortest}\n"
        "transport: {ack_every: 1}\n"
        "link: {queues: {data: {frames: 8, trim: true}}}\n"
        "collective: {kind: reduce, algorithm: direct, elements: 4096, payload_bytes: 256, "
        f"members: {members}}}\n"
    )
    result = figures(write(crowd))
    assert result["correct_npus"] == 16
    assert result["trimmed_frames"] < 20 * result["received_frames"]


def test_pauses_lose_nothing_and_keep_buffers_below_xoff_and_headroom(incast: Callable[..., Figures]) -> None:
    result = incast(PAUSE)
    assert result["pause_frames"] > 0
    assert result["pause_frames"] % 2 == 0  # every pause has ended
    lost = ("overrun_frames", "full_queue_frames", "retransmitted_frames", "watchdog_ends")
    assert [result[name] for name in lost] == [0, 0, 0, 0]


STORM = """
faults: [{at_us: 1, direction: gpu0->rail0, event: storm, period_us: 10, count: 20}]
"""


def test_a_storm_stops_its_port_until_it_ends_and_a_watchdog_ends_it_sooner(
    write: Callable[[str], Path],
) -> None:
    def ended(pfc: str, faults: str = STORM) -> Figures:
        link = f"{{queues: {{data: {{pfc: {pfc}}}}}}}"
        text = INCAST.replace("LINK", link).replace("CONGESTION", "congestion: fixed")
        return figures(write(text.replace("ELEMENTS", "16384") + faults))

    healthy = ended("{xoff_bytes: 16384}", "")
    storm = ended("{xoff_bytes: 16384}")
    watched = ended("{xoff_bytes: 16384, watchdog_us: 15, restore_us: 60}")
    assert healthy["completion_us"] < 40
    assert storm["completion_us"] > 1 + 20 * 10
    assert storm["watchdog_ends"] == 0
    assert 16 < watched["completion_us"] < storm["completion_us"]
    assert watched["watchdog_ends"] > 0
    assert watched["watchdog_frames"] > 0


def test_a_storm_without_pauses_is_refused_with_its_line(write: Callable[[str], Path]) -> None:
    text = INCAST.replace("LINK", DROP).replace("CONGESTION", "congestion: fixed").replace("ELEMENTS", "64")
    with pytest.raises(ScenarioError, match=r":8: a storm of pause frames has no effect, .*; give `pfc:`"):
        prepare(*load(write(text + STORM)))


@pytest.mark.parametrize(
    ("queues", "refused"),
    [
        ("{data: {pfc: {xoff_bytes: 600}}}", True),
        ("{data: {pfc: {xoff_bytes: 600, watchdog_us: 20}}}", False),
        ("{data: {frames: 16}}", False),
    ],
)
def test_a_plan_that_can_deadlock_is_refused_where_a_wait_may_last(
    write: Callable[[str], Path], queues: str, refused: bool
) -> None:
    text = "name: ring\ntopology: {name: full-mesh, dims: [3, 3]}\ncollective: {elements: 900}\n"
    text += f"routing: {{rules: single-vl}}\nlink: {{queues: {queues}}}\n"
    with pytest.raises(ScenarioError, match="wait for each other in a circle") if refused else nullcontext():
        prepare(*load(write(text)))


@pytest.mark.parametrize("algorithm", ["nscc", "rccc", "nscc+rccc", "swift", "dcqcn"])
def test_an_algorithm_trims_less_than_a_fixed_window(incast: Callable[..., Figures], algorithm: str) -> None:
    chosen, fixed = (incast(TRIM, name, elements=262144) for name in (algorithm, "fixed"))
    assert chosen["trimmed_frames"] < fixed["trimmed_frames"]


@pytest.mark.parametrize(
    ("name", "own"), [("nscc", "Nscc"), ("rccc", "Rccc"), ("swift", "Swift"), ("dcqcn", "Dcqcn")]
)
def test_the_specification_of_an_algorithm_has_the_same_run_as_a_users_own(
    incast: Callable[..., Figures], name: str, own: str
) -> None:
    file = ORACLE / f"{name}.py"
    assert incast(TRIM, f'{{algorithm: {{python: "{file}:{own}"}}}}') == incast(TRIM, name)


def test_receivers_credits_trim_first_frames_alone_and_share_the_link(incast: Callable[..., Figures]) -> None:
    rccc, nscc = (incast(TRIM, name, elements=262144) for name in ("rccc", "nscc"))
    assert rccc["trimmed_frames"] < nscc["trimmed_frames"]
    whole = incast(TRIM, "{algorithm: rccc, params: {share: 1}}", elements=262144)
    half = incast(TRIM, "{algorithm: rccc, params: {share: 0.5}}", elements=262144)
    assert half["completion_us"] == pytest.approx(2 * whole["completion_us"], rel=0.05)


def test_go_back_n_sends_frames_behind_a_gap_again(incast: Callable[..., Figures]) -> None:
    selective = incast(DROP, "fixed", elements=65536)
    back = incast(DROP, "fixed, recovery: go-back-n", elements=65536)
    assert back["retransmitted_frames"] > back["full_queue_frames"] > 0
    assert selective["retransmitted_frames"] == selective["full_queue_frames"]
    assert back["received_frames"] == selective["received_frames"] == 4 * 64


@pytest.mark.parametrize(
    ("link", "strategy", "said"),
    [
        (TRIM, "hashed", "beside `trim: true`"),
        (DROP, "hashed", ""),
        (DROP, "oblivious", "the strategy oblivious sends frames of a connection by several paths"),
    ],
)
def test_go_back_n_needs_frames_in_order(
    write: Callable[[str], Path], link: str, strategy: str, said: str
) -> None:
    text = "name: order\ntopology: {name: hpn, segments: 2, hosts: 2, rails: 2, aggs: 4}\n"
    text += "collective: {elements: 64}\n"
    text += (
        f"transport: {{recovery: go-back-n}}\nlink: {link}\nrouting: {{strategy: {strategy}, peers: job}}\n"
    )
    with pytest.raises(ScenarioError, match=said) if said else nullcontext():
        prepare(*load(write(text)))


def test_credits_cross_links_with_wide_headers(write: Callable[[str], Path]) -> None:
    text = "name: wide\ntopology: {name: full-mesh, dims: [4]}\ncollective: {elements: 65536}\n"
    text += "transport: {ack_every: 1, congestion: rccc}\nlink: {network_header: HEADER}\n"
    narrow, wide = (figures(write(text.replace("HEADER", header))) for header in ("cna16", "cna24"))
    assert wide["completion_us"] < 1.1 * narrow["completion_us"]


def test_threads_do_not_change_a_run_that_trims(incast: Callable[..., Figures]) -> None:
    whole = incast(TRIM, "nscc", Embedded(threads=1, whole=True))
    assert whole == incast(TRIM, "nscc", Embedded(threads=2))


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ("{queues: {data: {frames: 4}}, credit_bytes: 65536}", "leave one of them out"),
        ("{queues: {data: {trim: true}}}", "the queue has no limit"),
        ("{queues: {response: {frames: 4, trim: true}}}", "responses have no payload"),
        ("{queues: {level-2: {pfc: {xoff_bytes: 1}}}}", "write it under `data:`"),
        ("{queues: {data: {pfc: {xoff_bytes: 1, xon_bytes: 2}}}}", "`xon_bytes: 2` is above `xoff_bytes: 1`"),
        ("{ecn_frames: 4, ecn: {first_frames: 1, last_frames: 2}}", "`ecn:` stands beside `ecn_frames:`"),
        ("{ecn: {first_frames: 4, last_frames: 4}}", "write `ecn_frames:` for a single depth"),
    ],
)
def test_impossible_queues_are_refused_with_their_line(
    write: Callable[[str], Path], link: str, said: str
) -> None:
    with pytest.raises(ScenarioError, match=f"(?s):5: .*{said}"):
        load(write(INCAST.replace("LINK", link).replace(", CONGESTION", "").replace("ELEMENTS", "64")))


def test_mininet_refuses_queues_by_a_sentence(write: Callable[[str], Path]) -> None:
    path = write(INCAST.replace("LINK", DROP).replace(", CONGESTION", "").replace("ELEMENTS", "64"))
    with pytest.raises(
        TestbedError,
        match=r"has `queues:`, which the testbed in real time does not support; leave out `queues:`",
    ):
        RealTime("builtin").check(prepare(*load(path)), captures=False)


def test_headroom_follows_the_longest_cable() -> None:
    # A cable of 1 us at 100 Gbit/s holds 12,500 bytes each way.
    assert (
        headroom_bytes(full_mesh([2], lane_rate_gbps=100, lanes=1, host_lanes=1, delay_ns=1000), 1000)
        == 25_000 + 3 * 1000 + 64
    )


def test_large_windows_need_switches_that_choose_the_paths(write: Callable[[str], Path]) -> None:
    text = """
name: wide
topology: TOPOLOGY
collective: {kind: all-to-all, elements: 4096}
routing: {peers: job, strategy: STRATEGY}
transport: {window: 65}
"""
    mesh = text.replace("TOPOLOGY", "{name: full-mesh, dims: [4]}").replace("STRATEGY", "all-path")
    with pytest.raises(ScenarioError, match="window` is 65, but sources know their paths"):
        prepare(*load(write(mesh)))
    clos = text.replace("TOPOLOGY", "{name: ecmp-clos}").replace("STRATEGY", "oblivious")
    assert prepare(*load(write(clos)))

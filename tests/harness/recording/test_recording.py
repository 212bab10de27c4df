# SPDX-License-Identifier: Apache-2.0
"""Recordings: watching changes nothing, files are read up to where they are whole, memory is bounded."""

import json
from pathlib import Path

import pytest

from emulation.testbed import LinkSample
from harness.errors import RecordingError
from harness.recording.file import RecordingWriter, read_recording
from harness.recording.history import History
from harness.recording.recorder import RTT_PERCENTILES, TOTALS, Recorder
from harness.recording.records import Kind, Record, Tick, event, json_record
from harness.run.watch import WatchedRun
from harness.scenario.by_hand import yaml_with_faults
from harness.scenario.loader import load
from railyard.api.results import Result
from railyard.api.scenarios import execute
from topologies.errors import RailyardError

SCENARIO = """
name: small
topology: {name: full-mesh, dims: [2, 4]}
collective: {elements: 65536}
variants:
  - {name: healthy}
  # The comment stays.
  - name: cut
    faults:
      - {at_us: 2.0, link: npu1-npu3}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SCENARIO)
    return path


def run(file: Path, recorder: Recorder | None = None) -> Result:
    return execute(*load(file), None, watcher=recorder)


def by_kind(records: list[Record], kind: Kind) -> list[Record]:
    return [record for record in records if record.kind is kind]


def test_the_result_of_a_watched_run_is_that_of_the_run_that_nobody_watches(file: Path):
    records: list[Record] = []
    assert run(file, Recorder([records.append])).to_json() == run(file).to_json()
    assert [record.values["name"] for record in by_kind(records, Kind.VARIANT)] == ["healthy", "cut"]
    assert records[-1].kind is Kind.CLOSE


def test_ticks_have_the_load_of_busy_links_and_the_state_of_a_cut_link(file: Path):
    records: list[Record] = []
    result = run(file, Recorder([records.append]))
    start = next(i for i, r in enumerate(records) if r.kind is Kind.VARIANT and r.values["name"] == "cut")
    names = records[start].values["links"]
    ticks = [Tick.of(record) for record in records[start:] if record.kind is Kind.TICK]
    assert names == [link.name for link in result.fabric.links]
    cut = names.index("npu1-npu3")
    states = {tick.time_ps: tick.links.state[cut] for tick in ticks}
    assert {state for time, state in states.items() if time < 2_000_000} == {1}
    assert {state for time, state in states.items() if time > 2_000_000} == {0}
    # Loads of the ticks add up to the time that the engine counted as busy.
    link = "npu0-npu4"
    at = names.index(link)
    width = records[start].values["tick_ps"]
    busy = result.runs["cut"].observation.link_usage[link][0].busy_ps
    summed = sum(tick.links.load[2 * at] for tick in ticks) * width / 255
    assert summed == pytest.approx(busy, rel=0.2)
    assert ticks[-1].totals[TOTALS.index("entries_rewritten")] > 0


def test_events_have_the_fault_and_what_nodes_did_about_it(file: Path):
    records: list[Record] = []
    run(file, Recorder([records.append]))
    events = [record.values for record in by_kind(records, Kind.EVENT)]
    (fault,) = [values for values in events if values["kind"] == "fault"]
    assert (fault["t"], fault["links"], fault["by"]) == (2_000_000, ["npu1-npu3"], "scenario")
    assert {values["node"] for values in events if values["kind"] == "rewrite"} >= {"npu1", "npu3"}
    assert [v["kind"] for v in events if v["kind"].startswith("job")] == ["job-begin", "job-end"] * 2


class Hand:
    """Strikes in the variant `healthy` once a time has passed."""

    def __init__(self, *strikes: tuple[int, dict[str, object]]) -> None:
        self.strikes = [*strikes]
        self.struck: dict[str, tuple] = {}
        self.refused: list[str] = []

    def __call__(self, run: WatchedRun) -> None:
        while (
            run.ready.variant.name == "healthy" and self.strikes and run.testbed.now_ps >= self.strikes[0][0]
        ):
            try:
                run.strike(self.strikes.pop(0)[1])
            except RailyardError as ex:
                self.refused.append(str(ex))
            self.struck["healthy"] = run.struck


def by_hand(file: Path, hand: Hand) -> Result:
    recorder = Recorder([])
    recorder.pause = hand
    return run(file, recorder)


@pytest.mark.parametrize(
    "keys",
    [
        {"link": "npu0-npu1"},
        {"npu": "npu2", "event": "flap", "period_us": 0.5, "count": 3},
        {"direction": "npu0->npu2", "event": "loss", "percent": 5},
        {"port": "npu4:2", "event": "delay", "add_ns": 700},
    ],
    ids=lambda keys: str(keys.get("event", "down")),
)
def test_the_saved_scenario_repeats_a_run_by_hand_byte_for_byte(file: Path, keys: dict[str, object]):
    hand = Hand((1_000_000, keys), (1_500_000, {"link": "npu5-npu7", "event": "down"}))
    result = by_hand(file, hand)
    assert hand.refused == []
    assert len(result.verdict.faults["healthy"]) == 2
    scenario, _ = load(file)
    saved = file.with_name("saved.yaml")
    saved.write_text(yaml_with_faults(file, scenario, scenario.seed, hand.struck))
    assert "# The comment stays." in saved.read_text()
    again = run(saved)
    assert again.to_json() == result.to_json()
    assert again.to_json() != run(file).to_json()


def test_a_hand_is_refused_what_would_change_nothing_and_the_run_goes_on(file: Path):
    hand = Hand(
        (500_000, {"link": "npu0-npu9"}),
        (500_000, {"link": "npu0-npu1", "event": "up"}),
        (500_000, {"link": "npu0-npu1", "event": "melt"}),
        (600_000, {"link": "npu0-npu1"}),
        (700_000, {"link": "npu0-npu1"}),
    )
    result = by_hand(file, hand)
    assert len(result.verdict.faults["healthy"]) == 1
    assert ["no link" in hand.refused[0], "is not down" in hand.refused[1]] == [True, True]
    assert hand.refused[2].startswith("the key event of the fault is invalid: ")
    assert hand.refused[3] == "npu0-npu1 is already down; apply the event `up` to it first"


def test_a_refused_hand_leaves_the_result_unchanged(file: Path):
    hand = Hand((500_000, {"link": "npu0-npu9"}))
    assert by_hand(file, hand).to_json() == run(file).to_json()


def written(path: Path, records: list[Record]) -> Path:
    with RecordingWriter(path) as write:
        for record in records:
            write(record)
    return path


RECORDS = [
    json_record(Kind.HEADER, {"scenario": "x"}),
    Tick(5, (1.0, 2.5), LinkSample(b"\x01\x02", b"\x03\x04", b"\x01")).record(),
    event(7, "fault", "it breaks"),
    json_record(Kind.CLOSE, {}),
]


def test_a_recording_reads_back_as_it_was_written(tmp_path: Path):
    recording = read_recording(written(tmp_path / "x.recording", RECORDS))
    assert list(recording.records) == RECORDS
    assert recording.whole
    assert Tick.of(recording.records[1]).record() == RECORDS[1]


def test_a_recording_cut_short_anywhere_keeps_its_whole_records(tmp_path: Path):
    path = written(tmp_path / "x.recording", RECORDS)
    content = path.read_bytes()
    first = content.index(b"\n") + 1
    header = len(written(tmp_path / "y.recording", RECORDS[:1]).read_bytes())
    for length in range(first, len(content)):
        path.write_bytes(content[:length])
        if length < header:
            with pytest.raises(RecordingError, match="does not begin with a whole record"):
                read_recording(path)
            continue
        recording = read_recording(path)
        assert not recording.whole
        assert list(recording.records) == RECORDS[: len(recording.records)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"name: x\n", "not a recording"),
        (b"railyard-recording 9\n", "a recording of version 9, but this Railyard reads versions 1 and 2"),
        (b"railyard-recording 1\n\x63\x00\x00\x00\x00", "damaged at byte"),
        (b"railyard-recording 1\n\x01\x02\x00\x00\x00ab", "damaged at byte"),
    ],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, content: bytes, words: str):
    path = tmp_path / "x.recording"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=words):
        read_recording(path)


def test_a_late_reader_gets_all_events_and_bounded_ticks():
    history = History(limit_bytes=4000)
    tick = LinkSample(bytes(20), bytes(20), bytes(10))
    for time in range(1000):
        history(Tick(time, (), tick).record())
        if time % 100 == 0:
            history(event(time, "fault", f"at {time}"))
    records: list[Record] = []
    number = -1
    while True:
        some, number = history.after(number, most=7)
        if not some:
            break
        records += some
    assert sum(len(record.payload) for record in by_kind(records, Kind.TICK)) <= 4000
    times = [Tick.of(record).time_ps for record in by_kind(records, Kind.TICK)]
    assert times == sorted(times)
    assert times[-1] == 999
    assert 20 < len(times) < 100
    assert [record.values["t"] for record in by_kind(records, Kind.EVENT)] == list(range(0, 1000, 100))


def test_json_records_of_equal_values_are_equal():
    assert json.loads(event(1, "fault", "x", links=["a"]).payload) == {
        "t": 1,
        "kind": "fault",
        "text": "x",
        "links": ["a"],
    }


def test_round_trips_of_the_ticks_are_percentiles_of_npus(file: Path):
    records: list[Record] = []
    looked: list[list[int]] = []
    recorder = Recorder([records.append])
    recorder.pause = lambda run: looked.append([stats.rtt_ps for job in run.jobs.all for stats in job.stats])
    run(file, recorder)
    ticks = [Tick.of(record) for record in by_kind(records, Kind.TICK)]
    names = [f"rtt_p{percent}_ps" for percent in RTT_PERCENTILES]
    seen = [[tick.totals[TOTALS.index(name)] for name in ("rtt_ps", *names)] for tick in ticks]
    measured = [sorted(filter(None, rtts)) for rtts in looked]
    assert any(len(set(rtts)) > 3 for rtts in measured)
    for rtts in measured:
        expected = (
            [rtts[-1], *(rtts[-(-percent * len(rtts) // 100) - 1] for percent in RTT_PERCENTILES)]
            if rtts
            else [0] * 4
        )
        assert expected in seen

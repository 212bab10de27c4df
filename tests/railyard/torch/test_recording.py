# SPDX-License-Identifier: Apache-2.0
"""A training run is recorded, shown while it runs, and told in a report; looking changes nothing."""

import json
import signal
import subprocess
import time
import urllib.request

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: `pip install railyard[torch]`")

from harness.recording.file import read_recording
from harness.recording.records import Kind, Tick
from tests.railyard.torch.starting import RAILYARD, SCRIPTS, scenario, torchrun

DDP = SCRIPTS / "ddp.py"


def test_a_recorded_run_is_the_run_that_nobody_records(tmp_path):
    cut = scenario(tmp_path, [{"link": "npu0-npu1", "at_us": 300}], "cut")
    for name, words in (("plain", ()), ("recorded", ("--record",))):
        torchrun("--tflops", "0.01", "--out", tmp_path / name, *words, cut, DDP, "railyard", 10)
    plain, recorded = ((tmp_path / name / "training.json").read_bytes() for name in ("plain", "recorded"))
    assert plain == recorded
    training = json.loads(recorded)

    records = read_recording(tmp_path / "recorded" / "run.recording").records
    events = [record.values for record in records if record.kind is Kind.EVENT]
    texts = [event["text"] for event in events]
    assert [text for text in texts if text.endswith(" ends")] == [
        f"step {step} ends" for step in range(1, 11)
    ]
    assert next(event for event in events if event["kind"] == "fault")["links"] == ["npu0-npu1"]
    steps = training["ranks"][0]["steps"]
    assert [event["t"] / 10**6 for event in events if event["text"].endswith(" ends")] == pytest.approx(
        [step["end_us"] for step in steps]
    )
    ticks = [Tick.of(record) for record in records if record.kind is Kind.TICK]
    assert ticks[-1].totals[0] > 0
    assert [tick.time_ps for tick in ticks] == sorted(tick.time_ps for tick in ticks)
    end = next(record.values for record in records if record.kind is Kind.END)
    assert (end["nodes"], end["correct"]) == (4, 4)
    assert records[-1].kind is Kind.CLOSE


def test_a_lost_rank_stands_in_recording_and_report(tmp_path):
    lost = scenario(tmp_path, [{"npu": "npu2", "at_us": 300}], "lost")
    out = tmp_path / "out"
    torchrun("--tflops", "0.01", "--out", out, "--record", lost, DDP, "railyard", 1000, check=False)
    records = read_recording(out / "run.recording").records
    assert any(
        "rank 2 (npu2) is lost" in record.values["text"] for record in records if record.kind is Kind.EVENT
    )
    report = (out / "report.html").read_text()
    assert "0 of 4 ranks ended well" in report
    assert "Rank 2 on npu2: rank 2 (npu2) is lost" in report


def test_the_report_has_steps_losses_shares_and_links(tmp_path):
    torchrun("--dims", 4, "--tflops", "0.01", "--out", tmp_path, "full-mesh", DDP, "railyard", 5)
    report = (tmp_path / "report.html").read_text()
    for words in ("5 steps", "time of a step", "loss", "communication", "all_reduce", "load, %", "npu0-npu1"):
        assert words in report


def test_the_trace_has_ranks_faults_and_loads_of_links(tmp_path):
    cut = scenario(tmp_path, [{"link": "npu0-npu1", "at_us": 300}], "cut")
    torchrun("--tflops", "0.01", "--out", tmp_path, cut, DDP, "railyard", 10)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert [processes[rank] for rank in range(4)] == [f"rank {rank} (npu{rank})" for rank in range(4)]
    fabric = [event for event in events if event["pid"] == 4]
    assert [event["ts"] for event in fabric if event.get("cat") == "fault"] == [300]
    loads = [event for event in fabric if event["name"] == "load of npu0-npu1, %"]
    before, after = (
        [max(e["args"].values()) for e in loads if e["ph"] == "C" and first <= e["ts"] < last]
        for first, last in ((0, 300), (301, 10**9))
    )
    assert max(before) > 0 == max(after)


def test_record_needs_a_folder():
    ended = torchrun("--dims", 4, "--record", "full-mesh", DDP, check=False)
    assert ended.returncode == 2
    assert "--out" in ended.stderr


def test_the_page_shows_a_run_and_ends_by_ctrl_c():
    pytest.importorskip(
        "uvicorn", reason="the page's packages are not installed: `pip install railyard[web]`"
    )
    words = (
        "--dims",
        "4",
        "--tflops",
        "0.01",
        "--serve",
        "--port",
        "0",
        "full-mesh",
        str(DDP),
        "railyard",
        "3",
    )
    with subprocess.Popen(
        [*RAILYARD, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        address = run.stdout.readline().strip()
        assert urllib.request.urlopen(address).status == 200
        while "npu3" not in run.stdout.readline():
            pass
        time.sleep(0.2)
        run.send_signal(signal.SIGINT)
        assert run.wait(30) == 0

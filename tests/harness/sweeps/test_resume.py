# SPDX-License-Identifier: Apache-2.0
"""A study that is interrupted loses nothing: resumed, it equals an undisturbed study byte for byte."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from harness.errors import OutputError
from harness.sweeps import conduct as conducting
from harness.sweeps.conduct import conduct, shard_of, work_of
from harness.sweeps.plan import Run, plan_study
from harness.sweeps.store import open_study
from harness.sweeps.worker import execute
from harness.sweeps.worker_processes import Done, InProcess, LocalPool, Stop
from tests.harness.sweeps.studies import small_study

Write = Callable[[str], Path]
Railyard = Callable[..., tuple[int, str, str]]


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


class Interrupted:
    """Carries out runs in this process and counts them; Ctrl-C comes after `limit` runs."""

    def __init__(self, path: Path, limit: int) -> None:
        self.runs = 0
        self._inner = InProcess(partial(execute, path=path))
        self._limit = limit

    def results(self, runs: Sequence[Run], stop: Stop) -> Iterator[Done]:
        for done in self._inner.results(runs, stop):
            if self.runs == self._limit:
                raise KeyboardInterrupt
            self.runs += 1
            yield done

    def close(self) -> None:
        self._inner.close()


def test_the_same_command_goes_on_where_it_stopped(
    railyard: Railyard, write: Write, monkeypatch: pytest.MonkeyPatch
):
    path = write(small_study(2))
    assert railyard("sweep", path, "--jobs", "1", "--out", "whole")[0] == 0
    executors: list[Interrupted] = []

    def interrupted(plan: object, jobs: int, runs: int) -> Interrupted:
        executors.append(Interrupted(path, (2, 3, 99)[len(executors)]))
        return executors[-1]

    monkeypatch.setattr(conducting, "local_executor", interrupted)
    assert railyard("sweep", path, "--out", "parts")[0] == 130
    assert railyard("sweep", path, "--out", "parts")[0] == 130
    left = Path("parts", "runs", ".half.json.x")
    left.write_text("{")
    code, out, err = railyard("sweep", path, "--out", "parts")
    assert code == 0, out
    assert "6 runs, 5 are done already, 1 in 1 process" in err
    assert [executor.runs for executor in executors] == [2, 3, 1]
    whole, parts = content(Path("whole")), content(Path("parts"))
    assert {*whole} == {*parts}
    assert [name for name in whole if whole[name] != parts[name]] == []
    # A result that is not whole counts as missing.
    run = next(Path("whole", "runs").iterdir())
    run.write_bytes(run.read_bytes()[:40])
    executors.clear()
    assert railyard("sweep", path, "--out", "whole")[0] == 0
    assert content(Path("whole")) == whole


def test_a_folder_of_another_study_is_refused_and_one_that_grows_is_not(railyard: Railyard, write: Write):
    path = write(small_study(1))
    assert railyard("sweep", path, "--jobs", "1", "--out", "out")[0] == 0
    grown = railyard("sweep", path, "--jobs", "1", "--seeds", "1..2", "--out", "out")
    assert "3 are done already" in grown[2]
    path.write_text(path.read_text().replace("256, payload", "512, payload"))
    code, _, err = railyard("sweep", path, "--jobs", "1", "--out", "out")
    assert code == 3
    assert "holds a study of another scenario or version of Railyard: small with 6 runs" in err
    code, _, err = railyard("sweep", path, "--jobs", "1", "--out", "out", "--no-resume")
    assert (code, len([*Path("out", "runs").iterdir()])) == (0, 3)
    assert "3 runs, 3 in 1 process" in err


def test_shards_share_a_folder_and_the_last_writes_the_report(railyard: Railyard, write: Write):
    path = write(small_study(1))
    plan = plan_study(path)
    shards = [shard_of(plan.runs, number, 2) for number in (1, 2)]
    assert sorted(run.key for shard in shards for run in shard) == sorted(run.key for run in plan.runs)
    with open_study(Path("out"), plan, shard=(1, 2)):
        with pytest.raises(OutputError, match="another run writes"), open_study(Path("out"), plan):
            pass
        with pytest.raises(OutputError, match="another run"), open_study(Path("out"), plan, shard=(1, 2)):
            pass
        assert railyard("sweep", path, "--jobs", "1", "--shard", "2/2", "--out", "out")[0] == 0
    assert not Path("out", "report.html").exists()
    code, out, err = railyard("sweep", path, "--jobs", "1", "--shard", "1/2", "--out", "out")
    assert (code, Path("out", "report.html").is_file()) == (0, True), err
    assert "3 right results of 3" in out


def test_failures_after_the_end_are_left_out_and_said(railyard: Railyard, write: Write):
    text = small_study(1).partition("study:")[0].replace("at_us: 0.02", "at_us: 500")
    code, out, _ = railyard("sweep", write(text), "--fail-each", "link", "--jobs", "1", "--out", "out")
    assert code == 1
    assert "over before the cut run: 4 runs left out; the faults come at 500 µs" in " ".join(out.split())
    assert "wrong" not in out
    assert len([*Path("out", "runs").iterdir()]) == 1


@pytest.mark.long
def test_a_killed_process_costs_its_run_which_is_tried_once_more(write: Write, tmp_path: Path):
    plan = plan_study(write(small_study(2)))
    with LocalPool(work_of(plan), 1) as pool, open_study(tmp_path / "out", plan) as study:

        def killed_once(done: Done) -> None:
            if len(ended) == 1:
                os.kill(pool.pids[0], signal.SIGKILL)
            ended.append(done)

        ended: list[Done] = []
        conducted = conduct(plan.runs, study, pool, note=killed_once)
        assert (conducted.lost, len(ended)) == ([], 6)
    with LocalPool(work_of(plan), 1) as pool, open_study(tmp_path / "two", plan) as study:
        seen: list[int] = []

        def stop() -> bool:
            """Kill each process at its first run."""
            fresh = [pid for pid in pool.pids if pid not in seen]
            seen.extend(fresh)
            for pid in fresh:
                os.kill(pid, signal.SIGKILL)
            return False

        conducted = conduct(plan.runs[:2], study, pool, stop=stop)
        assert [done.run.key for done in conducted.lost] == [run.key for run in plan.runs[:2]]
        assert conducted.lost[0].lost == "its process was lost 2 times: killed by SIGKILL"


def swept(path: Path, folder: Path) -> subprocess.Popen[bytes]:
    program = "from railyard.cli import main; main()"
    options = ["sweep", str(path), "--jobs", "2", "--out", str(folder)]
    return subprocess.Popen(
        [sys.executable, "-c", program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


@pytest.mark.long
@pytest.mark.parametrize("victim", ["the sweep", "a process"])
def test_killed_at_random_moments_it_ends_with_the_same_bytes(write: Write, tmp_path: Path, victim: str):
    path = write(small_study(20))
    assert swept(path, tmp_path / "whole").wait() == 0
    chance = random.Random(19)
    kills = 0
    process = swept(path, tmp_path / "parts")
    while kills < 10:
        time.sleep(chance.uniform(0.5, 4.0))
        if process.poll() is not None:
            # All is done before ten kills: begin anew with a part of the results.
            for run in sorted((tmp_path / "parts" / "runs").iterdir())[::2]:
                run.unlink()
        elif victim == "the sweep":
            process.kill()
            process.wait()
            kills += 1
        elif workers := children(process.pid):
            os.kill(chance.choice(workers), signal.SIGKILL)
            kills += 1
            continue
        else:
            continue
        process = swept(path, tmp_path / "parts")
    code = process.wait()
    if code == 3:  # a run whose process was killed twice
        code = swept(path, tmp_path / "parts").wait()
    assert code == 0
    whole, parts = content(tmp_path / "whole"), content(tmp_path / "parts")
    assert len(json.loads(whole["sweep.json"])["runs"]) == 60
    # The command in the report has no folder and no number of processes.
    assert {*whole} == {*parts}
    assert [name for name in whole if whole[name] != parts[name]] == []

# SPDX-License-Identifier: Apache-2.0
"""Real processes that get real signals: exit codes, and what is finished stays and is read back."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Write = Callable[[str], Path]
Railyard = Callable[..., tuple[int, str, str]]
Begin = Callable[..., subprocess.Popen[str]]

ENDS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -signal.SIGKILL}

# The command, with a stop in the middle: it writes the file `begun` and goes on when the file `go` exists.
COMMAND = """\
import os, time
def pause(function, *, at):
    calls = iter(range(1, 1000))
    def paused(*arguments, **options):
        if next(calls) == at:
            open("begun", "w").close()
            while not os.path.exists("go"):
                time.sleep(0.02)
        return function(*arguments, **options)
    return paused
{patch}
from railyard.cli import main
main()
"""

SCENARIO = """\
name: small
topology: {name: full-mesh, dims: [2, 2]}
collective: {elements: 256, payload_bytes: 256}
link: {detect_us: 1}
variants:
  - {name: healthy}
  - {name: cut, faults: [{at_us: 0.02, link: npu0-npu1}]}
  - {name: shortest, routing: {strategy: shortest}}
"""

PAUSED_RUN = "import harness.run.runner as module; module._observe = pause(module._observe, at=2)"
PAUSED_SWEEP = "import harness.sweeps.worker as module; module.execute = pause(module.execute, at=2)"
MODEL = """\
import os, time
def counted(name):
    with open("measured", "a") as file:
        file.write(f"{name}\\n")
    if name == "second" and not os.path.exists("go"):
        open("begun", "w").close()
        while not os.path.exists("go"):
            time.sleep(0.02)
    return {"figure": 2.0}
def drawing():
    return "<svg>drawn</svg>"
"""
CHECK = """\
  {name}:
    title: {name}
    model: model.py:counted
    picture: model.py:drawing
    arguments: {{name: {name}}}
    claims:
      figure: {{text: {name}, kind: stated, place: §1, holds: [1, 3], mutation: {{scale: 2}}}}
"""
CLAIMS = "name: counted\ntitle: counted\nchecks:\n" + "".join(
    CHECK.format(name=name) for name in ("first", "second", "third")
)


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Starts the command in a folder of its own, and waits until it pauses."""
    started: list[subprocess.Popen[str]] = []

    def start(patch: str, *arguments: str | Path, pauses: bool = True) -> subprocess.Popen[str]:
        words = [sys.executable, "-c", COMMAND.replace("{patch}", patch), *map(str, arguments)]
        process = subprocess.Popen(
            words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        started.append(process)
        while pauses and not (tmp_path / "begun").exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def end(process: subprocess.Popen[str], number: signal.Signals) -> None:
    process.send_signal(number)
    said, _ = process.communicate()
    assert process.returncode == ENDS[number], said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_goes_on_after_the_last_variant_that_finished(
    begin: Begin, railyard: Railyard, write: Write, tmp_path: Path, number: signal.Signals
):
    path = write(SCENARIO)
    end(begin(PAUSED_RUN, "run", path, "--no-report", "--out", "parts"), number)
    assert [file.name for file in (tmp_path / "parts").rglob("*") if file.is_file()] == ["healthy.run"]
    code, _, err = railyard("run", path, "--no-report", "--out", "parts")
    assert code == 0
    assert "1 of 3, healthy: read back" in err
    assert "2 of 3, cut: read back" not in err
    code, _, err = railyard("run", path, "--no-report", "--out", "whole")
    assert "read back" not in err
    whole, parts = ((tmp_path / folder / "result.json").read_bytes() for folder in ("whole", "parts"))
    assert whole == parts
    assert not (tmp_path / "parts" / "unfinished").exists()


def test_a_variant_of_another_seed_or_begun_anew_or_damaged_is_not_read_back(
    begin: Begin, railyard: Railyard, write: Write, tmp_path: Path
):
    path = write(SCENARIO)
    end(begin(PAUSED_RUN, "run", path, "--no-report", "--out", "parts"), signal.SIGTERM)
    kept = tmp_path / "parts" / "unfinished" / "healthy.run"
    content = kept.read_bytes()
    for options, before in [(["--seed", "2"], content), (["--no-resume"], content), ([], content[:90])]:
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(before)
        code, _, err = railyard("run", path, "--no-report", "--out", "parts", *options)
        assert code == 0
        assert "read back" not in err


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.long)])
def test_experiments_measure_only_the_checks_that_are_missing(
    begin: Begin, tmp_path: Path, number: signal.Signals
):
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    (tmp_path / "claims.yaml").write_text(CLAIMS, encoding="utf-8")
    command = ("experiments", "claims.yaml", "--jobs", "1", "--out", "parts")
    end(begin("", *command), number)
    (tmp_path / "go").touch()
    again = begin("", *command, pauses=False)
    said, _ = again.communicate()
    assert again.returncode == 0, said
    assert "read back: first" in said
    assert (tmp_path / "measured").read_text().split() == ["first", "second", "second", "third"]
    anew = begin("", *command, "--no-resume", pauses=False)
    assert anew.wait() == 0
    assert (tmp_path / "measured").read_text().split()[4:] == ["first", "second", "third"]
    document = json.loads((tmp_path / "parts" / "experiments.json").read_text())
    assert document["finished"]
    assert (tmp_path / "parts" / "first.svg").read_text() == "<svg>drawn</svg>\n"


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_after_the_first_signal_a_sweep_ends_the_run_that_has_begun_and_after_the_second_at_once(
    begin: Begin, railyard: Railyard, write: Write, tmp_path: Path, number: signal.Signals
):
    path = write(SCENARIO)
    options = ("sweep", path, "--seeds", "1..3", "--variant", "cut", "--jobs", "1", "--out", "parts")
    runs = tmp_path / "parts" / "runs"
    process = begin(PAUSED_SWEEP, *options)
    process.send_signal(number)
    assert process.stdout is not None
    for line in process.stdout:
        if "runs that have begun may finish" in line:
            break
    end(process, number)
    assert len([*runs.iterdir()]) == 1
    (tmp_path / "begun").unlink()
    process = begin(PAUSED_SWEEP, *options)
    process.send_signal(number)
    for line in process.stdout or ():
        if "runs that have begun may finish" in line:
            break
    (tmp_path / "go").touch()
    said, _ = process.communicate()
    assert process.returncode == ENDS[number]
    assert "results are in parts; the same command continues" in said
    assert len([*runs.iterdir()]) == 3
    assert railyard(*options)[0] == 0

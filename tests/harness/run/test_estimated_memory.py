# SPDX-License-Identifier: Apache-2.0
"""Memory: estimated by `check`, refused by `run` and `sweep` before anything starts."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.run import estimated_memory as memory

Write = Callable[[str], Path]
Railyard = Callable[..., tuple[int, str, str]]

SCENARIO = """\
name: small
topology: {name: full-mesh, dims: [2, 2]}
collective: {elements: ELEMENTS, dtype: DTYPE}
"""


@pytest.fixture
def having(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    return lambda free: monkeypatch.setattr(memory, "available_bytes", lambda: free)


def scenario(write: Write, elements: int = 1024, dtype: str = "int32") -> Path:
    return write(SCENARIO.replace("ELEMENTS", str(elements)).replace("DTYPE", dtype))


def figure(said: str) -> float:
    match = re.search(r"memory: about ([\d,.]+) (MB|GB)", said)
    assert match
    return float(match[1].replace(",", "")) * (1000 if match[2] == "GB" else 1)


@pytest.mark.parametrize(
    ("dtype", "bits", "copies"),
    [
        ("int32", 24, 1),  # of an agent, into which the input is drawn
        ("float32", 24, 5),  # and the input, and those of the proof
        ("float32", 25, 4),  # inputs of more than 256 MiB are made anew when they are needed
    ],
)
def test_check_names_the_memory_which_grows_with_the_arrays(
    railyard: Railyard, write: Write, dtype: str, bits: int, copies: int
):
    small = figure(railyard("check", scenario(write, dtype=dtype))[1])
    large = figure(railyard("check", scenario(write, 1 << bits, dtype))[1])
    # Arrays of four NPUs of 64 or 128 MiB.
    assert large - small == pytest.approx(4 * copies * (4 << bits) / 10**6, rel=0.05)


GRAPH = """\
name: graph
topology: {name: full-mesh, dims: [2, 2]}
graph:
  operations:
    - {id: first, send: BYTES, from: npu0, to: npu1}
"""
PASSED_ON = "    - {id: second, send: BYTES, from: npu1, to: npu3, read: first, after: [first]}\n"


def test_flows_are_held_once_and_what_is_passed_on_twice(railyard: Railyard, write: Write):
    def grown(text: str) -> float:
        sizes = (str(1 << 10), str(1 << 26))
        small, large = (figure(railyard("check", write(text.replace("BYTES", size)))[1]) for size in sizes)
        return large - small

    assert grown(GRAPH) == pytest.approx(2 * 67, rel=0.05)  # at its source and at its target
    assert grown(GRAPH + PASSED_ON) == pytest.approx(2 * 3 * 67, rel=0.05)  # with the truth beside it


def test_check_says_what_this_machine_lacks_and_run_refuses(
    railyard: Railyard, write: Write, having: Callable[[int], None]
):
    having(50_000_000)
    path = scenario(write)
    code, out, _ = railyard("check", path)
    assert code == 0
    assert "this machine has" in out
    code, _, err = railyard("run", path, "--out", "results", "--quiet")
    assert code == 3
    assert re.search(r"the run needs about [\d,]+ MB of memory, and this machine has 50 MB", err)
    assert not Path("results").exists()


def test_a_sweep_refuses_processes_that_do_not_fit_together(
    railyard: Railyard, write: Write, having: Callable[[int], None]
):
    having(2_000_000_000)
    path = scenario(write, 1 << 24, "float32")
    code, _, err = railyard("sweep", path, "--seeds", "1..4", "--jobs", "4", "--out", "results")
    assert code == 3
    assert "4 processes need about" in err
    assert "give --jobs 1" in err
    assert not list(Path("results", "runs").iterdir())


def test_available_memory_is_that_of_the_control_group_where_it_is_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    whole = memory.available_bytes()
    monkeypatch.setattr(memory, "_GROUP", tmp_path)
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("4096\n")
    assert memory.available_bytes() == pytest.approx(whole, rel=0.5)
    (tmp_path / "memory.max").write_text("1048576\n")
    assert memory.available_bytes() == 1048576 - 4096

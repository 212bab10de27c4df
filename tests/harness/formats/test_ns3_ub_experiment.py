# SPDX-License-Identifier: Apache-2.0
"""The check of experiment 31 on a small case of our own: traces read, completion compared, skips."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tests.harness.formats.samples import LINKS, NODES

pytestmark = pytest.mark.usefixtures("command_in_this_process")

CHECK = Path(__file__).resolve().parents[3] / "experiments" / "31_ns3_ub" / "check.py"
TASKS = "taskId,sourceNode,destNode,dataSize(Byte),opType,priority,delay\n0,0,1,8192,URMA_WRITE,7,10ns\n"
TRACE = "[0.010000us] WQE Starts, jettyNum: 0 taskId: 0\n[0.420000us] WQE Completes, jettyNum: 0 taskId: 0\n"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, CHECK.with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def check() -> ModuleType:
    return script("check")


def test_a_case_and_its_trace(
    check: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = tmp_path / "small"
    (case / "runlog").mkdir(parents=True)
    for name, text in (("node", NODES), ("topology", LINKS), ("traffic", TASKS)):
        (case / f"{name}.csv").write_text(text)
    (case / "runlog" / "TaskTrace_node_0.tr").write_text(TRACE)
    picture = tmp_path / "completion.svg"
    monkeypatch.setattr("sys.argv", ["check.py", "--cases", str(tmp_path), "--picture", str(picture)])
    assert check.main() == 0
    out = capsys.readouterr().out
    (row,) = (line for line in out.splitlines() if line.startswith("| small"))
    last_here, last_there = (float(cell) for cell in row.split("|")[4:6])
    assert last_there == 0.42
    assert 0.3 < last_here < 0.6  # two frames over two links of 400 Gbit/s
    assert "every task ends here, its data are right: yes" in out
    assert "<svg" in picture.read_text()


@pytest.mark.parametrize("given", [[], ["--cases", "nowhere"]])
def test_without_cases_the_check_is_skipped(
    check: ModuleType, given: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["check.py", *given])
    assert check.main() == 0
    assert capsys.readouterr().out.startswith("skipped: ")


def test_tasks_in_turn_on_one_path(tmp_path: Path) -> None:
    """Two tasks that wait for each other take twice as long as a task, whatever the import planned."""
    case = tmp_path / "two"
    case.mkdir()
    tasks = TASKS.replace("8192", "409600") + "1,0,1,409600,URMA_WRITE,7,10ns\n"
    for name, text in (("node", NODES), ("topology", LINKS), ("traffic", tasks)):
        (case / f"{name}.csv").write_text(text)
    causes = script("causes")
    first, second = causes.our_times(case, causes.ONE_PATH, in_turn=True).values()
    assert 8 < first < 10  # 101 frames of 4,150 bytes at 400 Gbit/s
    assert 1.9 < second / first < 2.1


def test_without_its_cases_causes_are_skipped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.argv", ["causes.py", "--cases", str(tmp_path)])
    assert script("causes").main() == 0
    assert capsys.readouterr().out.startswith("skipped: ")


def test_a_case_on_the_links_that_its_run_used(
    check: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = tmp_path / "given" / "pairs"
    (case / "test").mkdir(parents=True)
    links = [(0, 0, 4, 0), (1, 0, 4, 1), (2, 0, 5, 0), (3, 0, 5, 1), (4, 2, 5, 2), (4, 3, 5, 3)]
    (case / "node.csv").write_text("nodeId,nodeType,portNum\n0..3,DEVICE,1\n4..5,SWITCH,4\n")
    (case / "topology.csv").write_text(
        "\n".join(
            [
                "nodeId1,portId1,nodeId2,portId2,bandwidth,delay",
                *(",".join(map(str, link)) + ",400Gbps,20ns" for link in links),
            ]
        )
    )
    (case / "traffic.csv").write_text(TASKS.replace("0,0,1,8192", "0,0,2,16385"))
    (case / "test" / "throughput.csv").write_text(
        "nodeId,portId,type,TotalBytes\n0,0,Tx,8300\n4,3,Tx,8300\n5,0,Tx,8300\n5,3,Rx,8300\n"
    )
    (case / "test" / "task_statistics.csv").write_text("taskId,taskCompletesTime(us)\n0,0.88\n")
    monkeypatch.setattr(
        "sys.argv", ["used_links.py", str(case), "--out", str(tmp_path / "used"), "--divide", "2"]
    )
    assert script("used_links").main() == 0
    out = capsys.readouterr().out
    assert "pairs: 4 nodes, 3 links" in out
    assert "1 ports between switches sent 1 tasks" in out
    monkeypatch.setattr("sys.argv", ["check.py", "--cases", str(tmp_path / "used")])
    assert check.main() == 0
    (row,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("| pairs"))
    last_here, last_there = (float(cell) for cell in row.split("|")[4:6])
    assert last_there == 0.44
    assert 0.4 < last_here < 0.8  # two frames over three links of 400 Gbit/s

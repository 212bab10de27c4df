import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

import harness.run.boot
import harness.run.runner
from harness.output import output_folder

Write = Callable[[str], Path]
Railyard = Callable[..., tuple[int, str, str]]

SMALL = """\
name: small
topology: {name: full-mesh, dims: [2, 2]}
collective: {elements: 1024}
"""


def test_a_run_writes_its_files_and_nothing_else(railyard: Railyard, write: Write, tmp_path: Path):
    code, out, _ = railyard("run", write(SMALL), "--out", tmp_path / "results", "--seed", "5")
    assert code == 0, out
    assert "1 of 1 assertions hold" in out
    assert str(tmp_path / "results" / "report.html") in out
    names = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert names == ["picture.svg", "report.html", "result.json", "timing.json"]
    document = json.loads((tmp_path / "results" / "result.json").read_text())
    assert (document["scenario"], document["seed"], document["passed"]) == ("small", 5, True)


def test_several_files_run_after_each_other_and_scripts_get_json_and_junit(
    railyard: Railyard, write: Write, tmp_path: Path
):
    other = tmp_path / "other.yaml"
    other.write_text(SMALL.replace("small", "other") + "assertions: [{metric: run.npus, equals: 5}]\n")
    options = ("--json", "-", "--no-report", "--junit", "junit.xml", "--out", "out")
    code, out, err = railyard("run", write(SMALL), other, *options)
    assert (code, err) == (1, "fails run.npus exactly 5: 4 against 5\n")
    decoder = json.JSONDecoder()
    first, end = decoder.raw_decode(out)
    second, _ = decoder.raw_decode(out[end:].lstrip())
    assert [(item["scenario"], item["passed"]) for item in (first, second)] == [
        ("small", True),
        ("other", False),
    ]
    assert first == json.loads(Path("out", "small", "result.json").read_text())
    files = sorted(path.name for path in Path("out", "other").iterdir())
    assert files == ["result.json", "timing.json"]
    assert 'failures="1"' in Path("junit.xml").read_text()
    code, out, err = railyard("run", write(SMALL), write(SMALL))
    assert code == 2
    assert "two scenarios are called 'small'" in err
    assert railyard("run", other, "--quiet") == (1, "", "fails run.npus exactly 5: 4 against 5\n")


def test_a_broken_file_of_a_batch_is_an_error_of_the_junit_file(
    railyard: Railyard, write: Write, tmp_path: Path
):
    (tmp_path / "broken.yaml").write_text(SMALL.replace("topology", "fabric"))
    (tmp_path / "late.yaml").write_text(SMALL.replace("small", "late") + "link: {credit_bytes: 10}\n")
    files = [tmp_path / "broken.yaml", write(SMALL), tmp_path / "late.yaml"]
    code, _, err = railyard("run", *files, "--no-report", "--quiet", "--junit", "junit.xml", "--out", "out")
    assert code == 2
    assert "broken.yaml:2: unknown key 'fabric'" in err
    suites = ElementTree.parse("junit.xml").getroot()
    errors = {suite.get("name"): suite.get("errors") for suite in suites}
    assert errors == {str(files[0]): "1", "small": "0", "late": "1"}
    assert Path("out", "small", "result.json").is_file()
    assert railyard("run", *files, "--no-report", "--quiet", "--out", "other")[0] == 2
    assert not Path("other").exists()


def test_a_variant_runs_alone(railyard: Railyard, write: Write, tmp_path: Path):
    scenario = SMALL + "variants: [{name: one}, {name: two, routing: {strategy: shortest}}]\n"
    scenario += "assertions: [{metric: one.npus, equals: 99}, {metric: two.npus, equals: 4}]\n"
    code, _, _ = railyard("run", write(scenario), "--variant", "two", "--no-report", "--out", "out")
    document = json.loads(Path("out", "result.json").read_text())
    assert (code, [*document["faults"]]) == (0, ["two"])
    assert [item["metric"] for item in document["assertions"]] == ["two.correct_npus", "two.npus"]
    code, _, err = railyard("run", write(scenario), "--variant", "three")
    assert (code, "choose among one, two" in err) == (2, True)


def test_scripts_get_the_lists_and_the_schema(railyard: Railyard):
    listed = json.loads(railyard("list", "--json")[1])
    assert {"scenarios", "studies", "topologies", "collectives", "metrics"} == {*listed}
    (first,) = [item for item in listed["scenarios"] if item["name"] == "first-train"]
    assert first["file"].endswith("01_first_train/scenario.yaml")
    (mesh,) = [item for item in listed["topologies"] if item["name"] == "full-mesh"]
    assert json.loads(railyard("list", "full-mesh", "--json")[1]) == mesh
    assert json.loads(railyard("list", "--schema")[1])["$id"] == "urn:railyard:result:1"


def test_a_folder_to_which_another_run_writes_is_refused(railyard: Railyard, write: Write, tmp_path: Path):
    with output_folder(tmp_path / "out"):
        code, _, err = railyard("run", write(SMALL), "--out", tmp_path / "out")
    assert code == 3
    assert "another run writes its results to this folder" in err
    assert list((tmp_path / "out").iterdir()) == []


def test_without_a_folder_results_go_to_one_of_the_scenarios_name(
    railyard: Railyard, write: Write, tmp_path: Path
):
    assert railyard("run", write(SMALL))[0] == 0
    assert (tmp_path / "results" / "small" / "result.json").is_file()


def test_list_shows_the_parameters_of_a_topology_whole_at_80_columns(
    railyard: Railyard, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("railyard.cli.list.out", lambda: Console(width=80, highlight=False))
    code, out, _ = railyard("list", "lumos")
    assert code == 0
    assert "source: LumosCore (arXiv 2411.01503)" in out
    row = next(line.split() for line in out.splitlines() if line.startswith("hb_gbps"))
    assert row[:5] == ["hb_gbps", "Gbit/s", "above", "0", "2400"]
    everything = railyard("list")[1]
    assert "moe-dispatch " in everything
    assert "…" not in out + everything
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 80
    code, _, err = railyard("list", "lumo")
    assert code == 2
    assert "no topology named 'lumo'; did you mean lumos?" in err


def test_an_assertion_that_fails_makes_exit_code_1(railyard: Railyard, write: Write):
    code, out, _ = railyard("run", write(SMALL + "assertions: [{metric: run.npus, equals: 5}]\n"))
    assert code == 1
    assert "fails run.npus exactly 5: 4 against 5" in out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (SMALL + "sede: 1\n", ":4: unknown key 'sede'; did you mean 'seed'?"),
        (SMALL + "faults: [{at_us: 1, link: npu0-npu7}]\n", "no link named 'npu0-npu7'"),
        (
            SMALL.replace("2]}", "2], lane_rate_gbps: 0}"),
            "topology full-mesh: lane_rate_gbps is 0; give a number above 0",
        ),
    ],
)
@pytest.mark.parametrize("verb", ["run", "check"])
def test_bad_input_makes_exit_code_2_and_leaves_nothing(
    railyard: Railyard, write: Write, tmp_path: Path, verb: str, text: str, told: str
):
    code, out, err = railyard(verb, write(text))
    assert (code, out) == (2, "")
    assert told in err
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["scenario.yaml"]


@pytest.mark.parametrize(
    "arguments",
    [["run"], ["run", "--testbed", "none", "x.yaml"], ["sweep", "x.yaml"], ["up", "ub-rak"], ["dance"]],
)
def test_bad_usage_makes_exit_code_2(railyard: Railyard, arguments: Sequence[str]):
    code, _, err = railyard(*arguments)
    assert code == 2
    assert err


def test_a_folder_that_cannot_be_written_is_found_before_anything_starts(
    railyard: Railyard, write: Write, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(harness.run.runner, "observe", lambda *_: pytest.fail("nothing may start"))
    path = write(SMALL)
    code, _, err = railyard("run", path, "--out", path / "below-a-file")
    assert code == 3
    assert "results cannot be written" in err


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A copy of the compiled programs that the command takes for its own."""
    folder = tmp_path / "programs"
    shutil.copytree(harness.run.boot.PROGRAMS, folder)
    monkeypatch.setattr(harness.run.boot, "PROGRAMS", folder)
    return folder


def test_a_truncated_program_is_refused(railyard: Railyard, write: Write, programs: Path):
    program = programs / "ub_npu.json"
    program.write_bytes(program.read_bytes()[:5000])
    code, _, err = railyard("run", write(SMALL))
    assert code == 2
    assert "Traceback" not in err
    assert not Path("results").exists()


def test_a_p4info_of_another_program_is_refused(railyard: Railyard, write: Write, programs: Path):
    p4info = programs / "ub_npu.p4info.txtpb"
    p4info.write_text(p4info.read_text().replace("linear", "curved"))
    code, _, err = railyard("run", write(SMALL))
    assert code == 2
    assert "curved" in err
    assert "Traceback" not in err


def test_a_program_that_is_not_there_is_named(railyard: Railyard, write: Write, programs: Path):
    (programs / "ub_npu.json").unlink()
    code, _, err = railyard("run", write(SMALL))
    assert code == 2
    assert re.search(
        r"ub_npu\.json cannot be read: No such file or directory; restore the compiled programs with `git",
        err,
    )


def test_an_address_in_use_is_named(railyard: Railyard):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        code, _, err = railyard("up", "full-mesh", "--dims", "2x2", "--grpc", address)
    assert code == 3
    assert address in err
    assert "Traceback" not in err


def test_show_and_list_tell_what_there_is(railyard: Railyard, tmp_path: Path):
    assert "448 of x4, 400 Gbit/s each way" in railyard("show", "ub-rack")[1]
    assert "npu13 port 8" in railyard("show", "ub-rack", "--node", "npu5")[1]
    assert json.loads(railyard("show", "full-mesh", "--dims", "2x2", "--json")[1])["dims"] == [2, 2]
    assert railyard("show", "ub-rack", "--svg", tmp_path / "rack.svg")[0] == 0
    assert (tmp_path / "rack.svg").read_text().count("<circle") == 64
    listed = railyard("list")[1]
    assert {"first-train", "every-link", "intra-rack"} <= {*listed.split()}
    assert "full-mesh" in listed
    assert "convergence_us" in railyard("list", "--metrics")[1]


def test_check_says_what_a_scenario_comes_to(railyard: Railyard, write: Write):
    code, out, _ = railyard("check", write(SMALL))
    assert code == 0
    assert "run: 4 nodes, 4 links" in out
    assert "no cycle under T2-G" in out
    assert "single path" not in out
    cube = SMALL.replace("[2, 2]", "[2, 2, 2]").replace("elements", "algorithm: dimension-wise, elements")
    assert "8 of 56 pairs have a single path of up to 6 hops under T2-G" in railyard("check", write(cube))[1]
    ring = "name: ring\ntopology: {name: torus, dims: [8]}\nrouting: {rules: T1-UD}\ncollective: "
    out = railyard("check", write(ring + "{kind: all-to-all, algorithm: direct, elements: 800}\n"))[1]
    assert "1 of 1 lanes; 6 of 56 pairs have paths up to 4 hops longer than their shortest" in out


def test_a_sweep_tells_how_many_were_right(railyard: Railyard, write: Write, tmp_path: Path):
    path = write(SMALL + "faults: [{at_us: 0.05, link: npu0-npu1}]\n")
    code, out, _ = railyard("sweep", path, "--fail-each", "link", "--jobs", "2", "--out", tmp_path / "sweep")
    assert code == 0
    assert "4 right results of 4" in out
    document = json.loads((tmp_path / "sweep" / "sweep.json").read_text())
    assert (document["metrics"]["correct_runs"], document["metrics"]["runs"]) == (4, 4)
    assert document["passed"] is True


@pytest.mark.long
def test_a_sweep_cuts_pairs_under_each_variant(railyard: Railyard, write: Write, tmp_path: Path):
    variants = "variants: [{name: direct}, {name: flooding, routing: {notification: flooding}}]\n"
    larger = SMALL.replace("[2, 2]", "[3, 3]")
    path = write(larger + "faults: [{at_us: 0.05, link: npu0-npu1}]\n" + variants)
    folder = tmp_path / "sweep"
    code, out, _ = railyard("sweep", path, "--fail-each", "pair:2", "--jobs", "1", "--out", folder)
    assert code == 0
    assert "4 right results of 4" in out
    document = json.loads((folder / "sweep.json").read_text())
    assert document["variants"] == ["direct", "flooding"]
    assert [record["failed"] for record in document["runs"]] == [0, 2, 2] * 2
    assert document["runs"][0]["status"] == "right"
    assert "flooding" in (folder / "sweep.svg").read_text()


def test_python_runs_the_package_as_the_command(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-m", "railyard", "check", "none.yaml"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: none.yaml: the file does not exist" in done.stderr


def command(*arguments: str, folder: Path) -> subprocess.Popen[str]:
    root = Path(harness.run.boot.__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONUNBUFFERED": "1"}
    code = "from railyard.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def until(stream: "Sequence[str] | object", word: str) -> list[str]:
    lines: list[str] = []
    for line in stream:  # type: ignore[attr-defined]
        lines.append(line)
        if word in line:
            break
    return lines


def test_ctrl_c_ends_a_run_and_leaves_nothing(write: Write, tmp_path: Path):
    path = write("name: long\ntopology: {name: full-mesh, dims: [4, 4]}\ncollective: {elements: 4194304}\n")
    with command("run", str(path), "--out", "results", folder=tmp_path) as process:
        assert process.stderr is not None
        until(process.stderr, "running")
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in "".join(part or "" for part in rest)
    assert not (tmp_path / "results").exists()


def test_up_serves_until_ctrl_c(tmp_path: Path):
    from controller.p4runtime.client import P4RuntimeClient

    with command("up", "full-mesh", "--dims", "2x2", "--grpc", "127.0.0.1:0", folder=tmp_path) as process:
        assert process.stdout is not None
        said = "".join(until(process.stdout, "Ctrl-C"))
        address = re.search(r"P4Runtime: (\S+)", said)
        assert address is not None
        assert "every device id answers at this address: 1 (npu0) to 4 (npu3)" in said.lower()
        with P4RuntimeClient(address[1]) as client:
            client.connect({"npu3": 4}, election_id=2)
            assert len(client.read("npu3", "all_path")) == 3 * 16
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert err == ""


def test_up_serves_and_ends_while_frames_circulate(tmp_path: Path):
    """The program of every switch sends every frame on by port 1, and the frame comes back by it."""
    from controller.p4runtime.client import P4RuntimeClient, ProgramFiles

    wire = Path(__file__).resolve().parents[2] / "programs" / "build" / "wire"
    files = ProgramFiles(*(wire.with_suffix(end).read_bytes() for end in (".json", ".p4info.txtpb")))
    with command("up", "full-mesh", "--dims", "2", "--grpc", "127.0.0.1:0", folder=tmp_path) as process:
        assert process.stdout is not None
        address = re.search(r"P4Runtime: (\S+)", "".join(until(process.stdout, "Ctrl-C")))
        assert address is not None
        with P4RuntimeClient(address[1]) as client:
            client.connect({"npu0": 1, "npu1": 2}, election_id=2)
            client.push_pipeline({"npu0": files, "npu1": files})
            client.packet_out("npu0", bytes([1 << 3]) + bytes(63))
            for _ in range(3):
                assert client.read("npu1") == []
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 143


def test_a_scenario_of_railyards_own_goes_by_its_name(railyard: Railyard):
    code, out, err = railyard("check", "02_real_time")
    assert code == 0, err
    assert out == railyard("check", "real-time")[1]
    code, _, err = railyard("run", "real-tame")
    assert code == 2
    assert "did you mean 'real-time'?" in err

# SPDX-License-Identifier: Apache-2.0
"""A run in one file is replayed elsewhere and compared."""

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from scapy.utils import RawPcapReader, RawPcapWriter

from emulation.traffic.frames.layers import CLH, Ether
from harness.report.bundle import differences
from harness.report.captures import read_capture

Railyard = Callable[..., tuple[int, str, str]]

TOPOLOGY = "import networkx as nx\n\n\ndef ring(n):\n    return nx.cycle_graph(n)\n"
SCENARIO = """\
name: own
topology: {python: 'mine.py:ring', params: {n: 4}}
collective: {elements: 256, payload_bytes: 256, algorithm: direct}
"""


@pytest.fixture
def packed(railyard: Railyard, tmp_path: Path) -> Path:
    """A bundle of a run with seed 3, whose scenario and files are gone."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "mine.py").write_text(TOPOLOGY)
    (home / "own.yaml").write_text(SCENARIO)
    assert railyard("run", "home/own.yaml", "--seed", "3", "--out", "out", "--quiet")[0] == 0
    assert railyard("bundle", "out") == (0, "written: own.railyard\n", "")
    first = Path("own.railyard").read_bytes()
    assert railyard("bundle", "out")[0] == 0
    assert Path("own.railyard").read_bytes() == first
    shutil.rmtree(home)
    return tmp_path / "own.railyard"


def test_a_bundle_needs_nothing_else_and_gives_the_same_result(railyard: Railyard, packed: Path):
    with zipfile.ZipFile(packed) as bundle:
        names = {*bundle.namelist()}
        about = json.loads(bundle.read("bundle.json"))
    assert names >= {"scenario.yaml", "mine.py", "fabric.json", "plan.json", "results/result.json"}
    assert (about["seed"], about["scenario"]) == (3, "own")
    code, out, _ = railyard("run", packed)
    assert code == 0, out
    assert "the results are the same" in " ".join(out.split())
    assert Path("results/own-replay/result.json").read_text() == Path("out/result.json").read_text()


def test_a_bundle_of_one_variant_whose_algorithm_the_fabric_decides(railyard: Railyard, tmp_path: Path):
    path = tmp_path / "hosts.yaml"
    path.write_text(
        "name: hosts\ntopology: {name: hpn, segments: 1, hosts: 2, rails: 2, aggs: 1}\n"
        "collective: {elements: 256}\nvariants: [{name: one}, {name: two}, {name: three}]\n"
    )
    for variants in ((), ("--variant", "one", "--variant", "three")):
        assert railyard("run", path, *variants, "--out", "out", "--quiet")[0] == 0
        assert railyard("bundle", "out") == (0, "written: hosts.railyard\n", "")
        code, out, _ = railyard("run", "hosts.railyard")
        assert code == 0, out
        assert railyard("export", "chakra", "out", "--out", "traces")[0] == 0
        shutil.rmtree("out")


def test_a_result_that_was_changed_is_told(railyard: Railyard, packed: Path, tmp_path: Path):
    content = {}
    with zipfile.ZipFile(packed) as bundle:
        content = {name: bundle.read(name) for name in bundle.namelist()}
    result = json.loads(content["results/result.json"])
    result["metrics"]["run.sent_frames"] += 1
    content["results/result.json"] = json.dumps(result).encode()
    changed = tmp_path / "changed.railyard"
    with zipfile.ZipFile(changed, "w") as bundle:
        for name, data in content.items():
            bundle.writestr(name, data)
    code, out, _ = railyard("run", changed)
    assert code == 1
    assert "differs run.sent_frames: 25 in the bundle, 24 now" in " ".join(out.split())
    changed.write_text("name: x")
    code, _, err = railyard("run", changed)
    assert code == 2
    assert "cannot be read as a bundle" in err
    code, _, err = railyard("run", "none.railyard")
    assert (code, "none.railyard cannot be read as a bundle: No such file or directory" in err) == (2, True)


def test_captures_are_replayed_and_compared_frame_by_frame(railyard: Railyard, tmp_path: Path):
    path = tmp_path / "own.yaml"
    path.write_text("name: own\ntopology: {name: full-mesh, dims: [2, 2]}\ncollective: {elements: 256}\n")
    assert railyard("run", path, "--out", "out", "--quiet", "--pcap", "npu0-npu1")[0] == 0
    assert "Captured frames" in Path("out/report.html").read_text()
    assert railyard("bundle", "out")[0] == 0
    code, out, _ = railyard("run", "own.railyard")
    assert code == 0, out
    recorded = Path("out/run-npu0-npu1.pcap")
    frames = [*RawPcapReader(str(recorded))]
    count = len(read_capture(recorded).data)
    assert 0 < count < len(frames)
    assert f"1 captures with {count} data frames are compared" in " ".join(out.split())
    page = Path("results/own-replay/report.html").read_text()
    assert "run-npu0-npu1, in the bundle" in page
    assert "run-npu0-npu1, now" in page
    # Without its last data frame the capture is told apart.
    last = max(number for number, (frame, _) in enumerate(frames) if CLH in Ether(frame))
    with RawPcapWriter(str(recorded), linktype=1, nano=True) as writer:
        writer.write_header(None)
        for number, (frame, _) in enumerate(frames):
            if number != last:
                writer.write_packet(frame)
    assert railyard("bundle", "out")[0] == 0
    code, out, _ = railyard("run", "own.railyard")
    assert code == 1
    words = f"{count - 1} data frames in the bundle, {count} now, {count - 1} of them the same"
    assert words in " ".join(out.split())


def test_a_scenario_that_has_changed_since_is_refused(railyard: Railyard, tmp_path: Path):
    path = tmp_path / "own.yaml"
    path.write_text("name: own\ntopology: {name: full-mesh, dims: [2, 2]}\ncollective: {elements: 256}\n")
    assert railyard("run", path, "--out", "out", "--quiet", "--no-report")[0] == 0
    path.write_text(path.read_text().replace("256", "512"))
    code, _, err = railyard("bundle", "out")
    assert code == 2
    assert "out/result.json is the result of another scenario than" in err


def test_of_a_run_in_real_time_only_untimed_figures_count():
    before = {"testbed": "mininet", "metrics": {"a.completion_us": 5.0, "a.npus": 4}, "seed": 1}
    after = {"testbed": "embedded", "metrics": {"a.completion_us": 3.0, "a.npus": 4}, "seed": 1}
    assert differences(before, after) == []
    assert differences(before, {**after, "metrics": {"a.npus": 3}}) == ["a.npus: 4 in the bundle, 3 now"]

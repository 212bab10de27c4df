"""Scripts of PyTorch on a fabric: results equal Gloo's, runs repeat, faults change times or end ranks."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: `pip install railyard[torch]`")

from tests.railyard.torch.starting import RAILYARD, SCRIPTS, gloo, losses, scenario, torchrun


def test_every_collective_equals_gloo(tmp_path):
    script = SCRIPTS / "collectives.py"
    torchrun("--dims", 4, "full-mesh", script, "railyard", tmp_path)
    gloo(script, 4, "gloo", str(tmp_path))
    for rank in range(4):
        ours, theirs = (
            json.loads((tmp_path / f"{name}{rank}.json").read_text()) for name in ("railyard", "gloo")
        )
        assert ours.keys() == theirs.keys()
        assert {key for key in ours if ours[key] != theirs[key]} == set()


def test_a_run_of_ddp_repeats_byte_for_byte(tmp_path):
    outputs = []
    for name in ("first", "second"):
        folder = tmp_path / name
        ended = torchrun(
            "--dims", 4, "--tflops", "0.01", "--out", folder, "full-mesh", SCRIPTS / "ddp.py", "railyard", 5
        )
        files = [(folder / file).read_bytes() for file in ("training.json", "trace.json")]
        outputs.append((ended.stdout, files))
    assert outputs[0] == outputs[1]
    training = json.loads(outputs[0][1][0])
    for rank in training["ranks"]:
        assert len(rank["steps"]) == 5
        assert 0 < rank["communication_us"] < rank["end_us"]
    assert [step["loss"] for step in training["ranks"][0]["steps"]] == [
        float.fromhex(loss) for loss in losses(outputs[0][0])
    ]


def test_a_link_that_is_cut_changes_times_alone(tmp_path):
    cut = scenario(tmp_path, [{"link": "npu0-npu1", "at_us": 300}], "cut")
    healthy = scenario(tmp_path, [], "healthy")
    runs = {}
    for file in (healthy, cut):
        folder = tmp_path / file.stem
        ended = torchrun("--tflops", "0.01", "--out", folder, file, SCRIPTS / "ddp.py", "railyard", 10)
        training = json.loads((folder / "training.json").read_text())
        runs[file.stem] = losses(ended.stdout), training["end_us"]
    assert runs["cut"][0] == runs["healthy"][0]
    assert len(runs["cut"][0]) == 10
    assert runs["cut"][1] > runs["healthy"][1] > 300


def test_a_lost_npu_ends_its_process_and_is_named_to_the_others(tmp_path):
    lost = scenario(tmp_path, [{"npu": "npu2", "at_us": 300}], "lost")
    folder = tmp_path / "out"
    ended = torchrun(
        "--tflops", "0.01", "--out", folder, lost, SCRIPTS / "ddp.py", "railyard", 1000, check=False
    )
    assert ended.returncode == 1
    assert "DistBackendError: railyard: rank 2 (npu2) is lost" in ended.stderr
    ranks = json.loads((folder / "training.json").read_text())["ranks"]
    assert "is lost" in ranks[2]["outcome"]
    assert all("rank 2 (npu2) is lost" in ranks[rank]["outcome"] for rank in (0, 1, 3))


def test_the_others_go_on_in_a_smaller_group_and_lose_another(tmp_path):
    lost = scenario(tmp_path, [{"npu": "npu2", "at_us": 100}, {"npu": "npu1", "at_us": 1300}], "lost")
    ended = torchrun(lost, SCRIPTS / "shrink.py", 20, check=False)
    assert ended.returncode == 1
    sums = [tuple(map(int, words.split())) for words in re.findall(r"^sum (.*)$", ended.stdout, re.MULTILINE)]
    assert len(sums) == 20
    steps = [(1 + 2 + 3 + 4, 0, 1, 2, 3), (1 + 2 + 4, 0, 1, 3), (1 + 4, 0, 3)]
    assert list(dict.fromkeys(sums)) == steps


def test_nothing_is_left_after_an_interrupt(tmp_path):
    script = tmp_path / "endless.py"
    script.write_text(
        "import os, torch, torch.distributed as dist\n"
        "dist.init_process_group('railyard')\n"
        "while True:\n"
        "    dist.all_reduce(torch.ones(8))\n"
        "    if not os.path.exists(name := f'{os.environ[\"RANK\"]}.pid'):\n"
        "        open(name, 'w').write(str(os.getpid()))\n"
    )
    process = subprocess.Popen([*RAILYARD, "--dims", "4", "full-mesh", str(script)], cwd=tmp_path)
    try:
        while len(files := [*tmp_path.glob("*.pid")]) < 4 or not all(file.read_text() for file in files):
            assert process.poll() is None
            time.sleep(0.1)
        ids = [int(file.read_text()) for file in files]
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    finally:
        process.kill()
    for number in ids:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


def test_a_killed_rank_is_named_to_the_others(tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(
        "import os, signal, torch, torch.distributed as dist\n"
        "dist.init_process_group('railyard')\n"
        "dist.all_reduce(torch.ones(8))\n"
        "if dist.get_rank() == 1:\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "dist.all_reduce(torch.ones(8))\n"
    )
    ended = torchrun("--dims", 4, "full-mesh", script, check=False)
    assert ended.returncode == 1
    assert "DistBackendError: railyard: rank 1 (npu1) was killed" in ended.stderr


def test_a_script_outside_of_torchrun_is_told_how_to_start(tmp_path):
    script = tmp_path / "alone.py"
    script.write_text(
        "import railyard.torch, torch.distributed as dist\n"
        "dist.init_process_group('railyard', store=dist.HashStore(), rank=0, world_size=1)\n"
    )
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert "start the script with `railyard torchrun FABRIC SCRIPT`" in ended.stderr

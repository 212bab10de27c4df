# SPDX-License-Identifier: Apache-2.0
"""Starts scripts of PyTorch by `railyard torchrun`, or with Gloo."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

__all__ = ["RAILYARD", "SCRIPTS", "gloo", "losses", "scenario", "torchrun"]

SCRIPTS = Path(__file__).parent / "scripts"
RAILYARD = [sys.executable, "-m", "railyard", "torchrun"]


def torchrun(*words, check=True):
    ended = subprocess.run([*RAILYARD, *map(str, words)], capture_output=True, text=True, check=False)
    if check:
        assert ended.returncode == 0, ended.stderr
    return ended


def losses(text):
    return re.findall(r"^loss (\S+)$", text, flags=re.MULTILINE)


def scenario(folder, faults, name="faults"):
    file = folder / f"{name}.yaml"
    file.write_text(
        json.dumps({"name": name, "topology": {"name": "full-mesh", "dims": [4]}, "faults": faults})
    )
    return file


def gloo(script, ranks, *words):
    """Run a script with Gloo, a process a rank; return what rank 0 prints."""
    common = {**os.environ, "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "1"}
    code = "import sys, runpy; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    store = (
        "import torch.distributed as d; s = d.TCPStore('127.0.0.1', 0, None, True, wait_for_workers=False);"
    )
    store += "print(s.port, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", store], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as keeper:
        assert keeper.stdin is not None
        assert keeper.stdout is not None
        port = keeper.stdout.readline().strip()
        common |= {"MASTER_PORT": port, "TORCHELASTIC_USE_AGENT_STORE": "True"}
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", code, str(script), *map(str, words)],
                env={**common, "RANK": str(rank)},
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(ranks)
        ]
        texts = [process.communicate()[0] for process in processes]
        codes = [process.returncode for process in processes]
        keeper.stdin.write("\n")
        keeper.stdin.close()
    assert codes == [0] * ranks
    return texts[0]

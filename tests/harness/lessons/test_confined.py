"""A student's code in its process: what it may do, and the sentence for what it may not."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.lessons.confined.run import Limits, StudentError, call_each, run_command

# No test depends on how busy the machine is.
ROOMY = Limits(5, 512, wall_seconds=300)


def call(code: str, folder: Path, *arguments: Any, limits: Limits | None = None) -> Any:
    file = folder / "mine.py"
    file.write_text(code)
    return call_each(file, "f", [arguments], limits or ROOMY, folder)[0]


def test_values_go_in_and_out_as_json(tmp_path: Path):
    code = "def f(a, b):\n    print('noise')\n    return {'sum': a + b['x'], 'none': None}"
    assert call(code, tmp_path, 1, {"x": 2}) == {"sum": 3, "none": None}


def test_calls_of_one_request_share_a_process(tmp_path: Path):
    file = tmp_path / "mine.py"
    file.write_text("seen = []\ndef f(a):\n    seen.append(a)\n    return len(seen)")
    assert call_each(file, "f", [[1], [1], [1]], ROOMY, tmp_path) == [1, 2, 3]


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("def f():\n    return 1 / 0", "mine.py line 2: ZeroDivisionError"),
        ("def f(:\n", "mine.py line 1: SyntaxError"),
        ("import nowhere\n", "mine.py line 1: ModuleNotFoundError"),
        ("def g():\n    pass", "no function f"),
        ("def f():\n    f()", "RecursionError"),
        ("def f():\n    return {1, 2}", "JSON cannot hold"),
        ("def f():\n    return float('nan')", "NaN is no number"),
        ("def f():\n    raise SystemExit", "SystemExit"),
        (
            "def f():\n    import os\n    os._exit(0)",
            "ended its process with exit code 0 and returned nothing",
        ),
        ("def f():\n    while True: pass", "f did not end within 1 s of processor time"),
        ("def f():\n    bytearray(10 << 30)", "more than 256 MiB of memory"),
        ("def f():\n    data = []\n    while True: data.append('x' * 1000)", "more than 256 MiB"),
        ("def f():\n    return 'x' * (20 << 20)", "returned more than 16 MiB"),
    ],
)
def test_code_without_an_answer_gets_a_sentence(code: str, sentence: str, tmp_path: Path):
    with pytest.raises(StudentError, match=r"mine\.py") as caught:
        call(code, tmp_path, limits=Limits(1, 256, wall_seconds=300))
    assert sentence in caught.value.observed


def test_sleeping_code_is_ended(tmp_path: Path):
    with pytest.raises(StudentError, match="did not end within 1 s") as caught:
        call("import time\ndef f():\n    time.sleep(3600)", tmp_path, limits=Limits(60, 256, wall_seconds=1))
    assert caught.value.limit


@pytest.mark.parametrize(
    "act",
    [
        "os.fork()",
        "__import__('subprocess').run(['true'])",
        "os.execv('/bin/true', ['true'])",
        "__import__('socket').socket()",
        "__import__('socket').socket(__import__('socket').AF_UNIX)",
        "os.kill(os.getppid(), 9)",
        "os.kill(1, 0)",
        "open('note.txt', 'w')",
        "open(__file__, 'a')",
        "os.remove(__file__)",
        "os.chmod(__file__, 0)",
        "os.truncate(__file__, 0)",
        "os.mkdir('folder')",
        "open(f'/proc/{os.getppid()}/mem', 'rb')",
        "os.listdir(f'/proc/{os.getppid()}/fd')[0] and os.readlink(f'/proc/{os.getppid()}/fd/1')",
    ],
)
def test_walls_refuse_it(act: str, tmp_path: Path):
    """They hold for root as well."""
    code = f"import os\ndef f():\n    try:\n        {act}\n    except OSError:\n        return 'no'\n"
    assert call(code, tmp_path) == "no"


def test_an_own_program_with_unix_sockets_has_no_other_sockets(tmp_path: Path):
    code = (
        "import socket, threading\ndef f():\n"
        "    threading.Thread(target=print).start()\n"
        "    pair = socket.socketpair()\n"
        "    try:\n        socket.socket(socket.AF_INET)\n"
        "    except OSError:\n        return 'no'\n"
    )
    assert call(code, tmp_path, limits=replace(ROOMY, unix_sockets=True)) == "no"


def test_a_compiler_has_limits_as_well(tmp_path: Path):
    done = run_command(["sh", "-c", "echo out; echo err >&2; exit 3"], ROOMY, tmp_path, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")
    with pytest.raises(StudentError, match="sh did not end within 1 s"):
        run_command(
            ["sh", "-c", "while true; do :; done"], Limits(1, 512, wall_seconds=300), tmp_path, tmp_path
        )


def test_limits_stay_for_root_as_well(tmp_path: Path):
    code = (
        "import resource\ndef f():\n    try:\n"
        "        resource.setrlimit(resource.RLIMIT_CPU, (99, 99))\n"
        "    except (OSError, ValueError):\n"
        "        return resource.getrlimit(resource.RLIMIT_CPU)\n"
    )
    assert call(code, tmp_path, limits=ROOMY) == [5, 6]

"""A student's code in its process: what it may do, and the sentence for what it may not."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.files import LABS
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
        ("def f():\n    return float('nan')", "NaN is no JSON number"),
        ("def f():\n    raise SystemExit", "SystemExit"),
        (
            "def f():\n    import os\n    os._exit(0)",
            "ended its process with exit code 0 and returned nothing",
        ),
        ("def f():\n    while True: pass", "f did not end within 1 s of processor time"),
        ("def f():\n    bytearray(10 << 30)", "more than 256 MiB of memory"),
        ("def f():\n    data = []\n    while True: data.append(bytearray(1 << 20))", "more than 256 MiB"),
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


SOLUTION = LABS / "solutions" / "03_deadlock" / "kept" / "rules.py"

# Ways to get at what somebody else wrote. `SECRET` is the path of a file outside of the student's folder.
READS = [
    "open(SECRET).read()",
    "exec(open(SECRET).read())",
    "os.open(SECRET, os.O_RDONLY)",
    "os.open(os.path.relpath(SECRET), os.O_RDONLY)",
    "os.listdir(os.path.dirname(SECRET))",
    "next(os.scandir(os.path.dirname(SECRET)))",
    "list(pathlib.Path(SECRET).parent.iterdir())[0]",
    "pathlib.Path(SECRET).read_bytes()",
    "shutil.copyfile(SECRET, '/dev/null')",
    "importlib.machinery.SourceFileLoader('x', SECRET).load_module()",
    "runpy.run_path(SECRET)",
    "io.FileIO(SECRET)",
    "mmap.mmap(os.open(SECRET, os.O_RDONLY), 0, prot=mmap.PROT_READ)",
    "fileinput.input(SECRET).readline()",
    "tokenize.open(SECRET)",
    "zipfile.ZipFile(SECRET)",
    "ctypes.CDLL(None, use_errno=True).open(SECRET.encode(), 0) == -1 and raise_errno()",
    "os.open(os.path.basename(SECRET), 0, dir_fd=os.open(os.path.dirname(SECRET), os.O_PATH))",
    "os.link(SECRET, 'mine')",
    "os.symlink(SECRET, 'mine')",
    "os.listdir('/')",
    "os.listdir('/tmp')",
    "os.listdir('/proc')",
    "os.listdir(os.path.expanduser('~root'))",
    "open('/etc/passwd').read()",
    "open('/proc/self/environ').read()",
    "open(f'/proc/{os.getppid()}/environ').read()",
    "open(f'/proc/{os.getppid()}/cmdline').read()",
    "open(f'/proc/self/cwd/../../{os.path.basename(SECRET)}').read()",
    "os.memfd_create('x') and os.execve(os.memfd_create('y'), ['y'], {})",
]

_MODULES = [
    "ctypes",
    "fileinput",
    "importlib.machinery",
    "io",
    "mmap",
    "os",
    "pathlib",
    "runpy",
    "shutil",
    "tokenize",
    "zipfile",
]
_BEFORE = f"""import {", ".join(_MODULES)}
def raise_errno():
    raise OSError(ctypes.get_errno(), 'refused')
"""


@pytest.mark.parametrize("whose", ["solution", "neighbour"])
@pytest.mark.parametrize("act", READS)
def test_a_student_reads_no_solution_and_no_neighbour(act: str, whose: str, tmp_path: Path):
    neighbour = tmp_path / "neighbour" / "rules.py"
    neighbour.parent.mkdir()
    neighbour.write_text("def next_lane(a, b, c): return 1\n")
    secret = {"solution": SOLUTION, "neighbour": neighbour}[whose]
    assert secret.is_file()
    folder = tmp_path / "mine"
    folder.mkdir()
    code = (
        f"{_BEFORE}SECRET = {str(secret)!r}\n"
        f"def f():\n    try:\n        return str({act})\n    except OSError:\n        return 'refused'\n"
    )
    assert call(code, folder) == "refused"


def test_railyard_itself_cannot_be_imported(tmp_path: Path):
    """Student code cannot import Railyard, which computes the answers of a lab."""
    names = (
        "railyard",
        "harness.lessons",
        "controller.paths.finder",
        "emulation._engine",
        "papers",
        "topologies",
    )
    code = "import importlib\ndef f(name):\n    importlib.import_module(name)\n"
    for name in names:
        with pytest.raises(StudentError, match=r"ModuleNotFoundError|PermissionError"):
            call(code, tmp_path, name)


def test_the_environment_holds_nothing_of_the_grader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RAILYARD_SECRET", "42")
    seen = call("import os\ndef f():\n    return dict(os.environ)", tmp_path)
    assert not {"RAILYARD_SECRET", "HOME", "PATH", "TMPDIR", "USER"} & set(seen)


def test_libraries_and_files_of_the_lab_can_be_read(tmp_path: Path):
    (tmp_path / "example.json").write_text("[1]")
    (tmp_path / "helper.py").write_text("ONE = 1\n")
    code = """
import json, pathlib, sqlite3, zoneinfo
import networkx, numpy, scipy.optimize
from helper import ONE
def f():
    numpy.linalg.inv(numpy.eye(64))
    return json.loads(pathlib.Path(__file__).with_name("example.json").read_text()) + [ONE]
"""
    assert call(code, tmp_path, limits=replace(ROOMY, memory_mb=2048)) == [1, 1]


def test_a_compiler_includes_no_file_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RAILYARD_SECRET", "42")
    folder, scratch = tmp_path / "mine", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    neighbour = tmp_path / "neighbour.p4"
    neighbour.write_text("control")
    (folder / "own.p4").write_text("own")
    for secret in (neighbour, LABS / "solutions" / "01_source_route" / "teacher.md", Path("/etc/passwd")):
        done = run_command(["cat", "own.p4", str(secret)], ROOMY, folder, scratch)
        assert (done.returncode, done.stdout) == (1, "own")
        assert "Permission denied" in done.stderr
    assert "RAILYARD" not in run_command(["env"], ROOMY, folder, scratch).stdout


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

"""A student's code in its process: what it may do, and the sentence for what it may not."""

import contextlib
import os
import platform
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
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
        ("def f(:\n", "mine.py line 1: SyntaxError: invalid syntax"),
        ("import helper\n", "No module named 'helper'; a check takes no other Python file of your folder"),
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


def test_an_error_names_the_call_in_which_it_came(tmp_path: Path):
    file = tmp_path / "mine.py"
    file.write_text("def f(a):\n    return 1 / a['x']")
    with pytest.raises(StudentError) as caught:
        call_each(file, "f", [[{"x": 1}], [{"x": 0}], [{"x": 2}]], ROOMY, tmp_path)
    assert caught.value.observed == "mine.py line 2: ZeroDivisionError: division by zero, in f({'x': 0})"
    with pytest.raises(StudentError) as caught:
        call_each(file, "f", [["long" * 100]], ROOMY, tmp_path)
    assert "long" not in caught.value.observed


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


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Addresses of two servers, each of which says its name to whoever connects."""

    def serve(server: socket.socket, name: bytes) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = server.accept()
                with client:
                    client.sendall(name)

    with contextlib.ExitStack() as stack:
        for name in ("own", "other"):
            server = stack.enter_context(socket.socket(socket.AF_UNIX))
            server.bind(str(tmp_path / name))
            server.listen()
            stack.callback(server.shutdown, socket.SHUT_RDWR)
            threading.Thread(target=serve, args=(server, name.encode()), daemon=True).start()
        yield f"unix:{tmp_path / 'own'}", str(tmp_path / "other")


def test_code_with_a_server_reaches_that_server_alone(listening: tuple[str, str], tmp_path: Path):
    code = (
        "import select, socket\n"
        "def f(address):\n"
        "    client = socket.socket(socket.AF_UNIX)\n"
        "    client.connect(address)\n"
        "    select.select([client], [], [])\n"
        "    return client.recv(99).decode()\n"
    )
    own, other = listening
    limits = replace(ROOMY, server=own)
    for address in (own.removeprefix("unix:"), other, "/run/docker.sock", "\0abstract"):
        assert call(code, tmp_path, address, limits=limits) == "own"


def test_a_server_that_is_gone_refuses_the_connection(tmp_path: Path):
    code = "import socket\ndef f():\n    socket.socket(socket.AF_UNIX).connect('x')"
    with pytest.raises(StudentError, match="FileNotFoundError"):
        call(code, tmp_path, limits=replace(ROOMY, server=f"unix:{tmp_path / 'none'}"))


@pytest.mark.parametrize(
    "act",
    [
        "socket.socket(socket.AF_INET)",
        "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)",
        "socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)",
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
    ],
)
@pytest.mark.parametrize("server", ["", "unix:none"])
def test_code_has_no_sockets_that_send_without_a_connection(act: str, server: str, tmp_path: Path):
    code = (
        "import socket, threading\ndef f():\n"
        "    pair = socket.socketpair()\n"
        f"    try:\n        {act}\n"
        "    except OSError:\n        return 'no'\n"
    )
    assert call(code, tmp_path, limits=replace(ROOMY, server=server)) == "no"


def test_code_with_a_server_has_threads(tmp_path: Path):
    code = "import threading\ndef f():\n    threading.Thread(target=print).start()\n    return 1"
    assert call(code, tmp_path, limits=replace(ROOMY, server="unix:none")) == 1


# Arguments that change nothing where a call is allowed.
CALLS = [
    "os.setpriority(os.PRIO_PROCESS, os.getppid(), os.getpriority(os.PRIO_PROCESS, os.getppid()))",
    "os.sched_setaffinity(os.getppid(), os.sched_getaffinity(os.getppid()))",
    "ctypes.CDLL(None).sethostname(os.uname().nodename.encode(), len(os.uname().nodename)) and refused()",
]


@pytest.mark.parametrize("act", CALLS)
def test_code_changes_neither_the_machine_nor_other_processes(act: str, tmp_path: Path):
    code = (
        "import ctypes, os\ndef refused():\n    raise PermissionError\ndef f():\n"
        f"    try:\n        {act}\n    except PermissionError:\n        return 'no'\n"
    )
    assert call(code, tmp_path) == "no"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the header has the numbers of x86-64")
def test_numbers_of_system_calls_are_those_of_the_headers():
    headers = ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm-generic/unistd.h")
    if not all(map(os.path.exists, headers)):
        pytest.skip("the headers of Linux are not installed")
    from harness.lessons.confined.system_calls import _REFUSED, ARCHITECTURES

    own = ARCHITECTURES["x86_64"], ARCHITECTURES["aarch64"]
    named = {name: tuple(getattr(calls, name) for calls in own) for name in own[0]._fields[1:-1]}
    for column, header in enumerate(headers):
        text = Path(header).read_text()
        numbers = {name: int(number) for name, number in re.findall(r"__NR(?:3264)?_(\w+)\s+(\d+)", text)}
        named["prlimit64"] = named.get("prlimit64", named.pop("prlimit", ()))
        for name, pair in {**_REFUSED, **named}.items():
            # Headers may be older than a call.
            assert pair[column] in (0, numbers.get(name, pair[column])), name


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


def test_packages_of_another_environment_may_be_read(tmp_path: Path):
    """A .pth file or PYTHONPATH adds them; no other folder of the path for modules may be read."""
    packages, others = tmp_path / "site-packages", tmp_path / "others"
    code = (
        "from harness.lessons.confined.readable import readable_by_python\n"
        "from pathlib import Path\n"
        "print(*readable_by_python(Path('/nowhere')), sep='\\n')"
    )
    for folder in (packages, others):
        folder.mkdir()
        (folder / "library.py").write_text("")
    environment = {**os.environ, "PYTHONPATH": f"{packages}:{others}"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    readable = done.stdout.splitlines()
    assert str(packages / "library.py") in readable
    assert not any(path.startswith(str(others)) for path in readable)

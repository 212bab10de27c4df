# SPDX-License-Identifier: Apache-2.0
"""The web application: who may connect, what pages receive, and commands that have no effect."""

import http.client
import json
import re
import socket
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Data, Origin

from emulation.embedded.testbed import EmbeddedTestbed
from harness.errors import OutputError, RecordingError
from harness.recording.records import Kind, Record, Tick, event, json_record
from harness.scenario.loader import load
from railyard.api.scenarios import execute
from railyard.web.app import PACKAGES, PAGE
from railyard.web.live import Live, opened
from railyard.web.server import ADDRESS_VARIABLE, HOST_VARIABLE, presenters, serving
from railyard.web.session import Command, Session
from railyard.web.standing import StandingFabric
from tests.browser import LIMIT_SECONDS, needs_packages
from topologies import full_mesh

pytestmark = needs_packages()

SMALL = """\
name: small
topology: {name: full-mesh, dims: [2, 2]}
collective: {elements: 1024}
variants: [{name: healthy}]
"""


@pytest.fixture
def session() -> Session:
    session = Session("replay")
    session.history(json_record(Kind.HEADER, {"title": "x"}))
    session.history(event(5, "fault", "it breaks"))
    return session


@contextmanager
def connected(address: str, *, token: str | None = None, origin: str = "") -> Iterator[ClientConnection]:
    place = urlsplit(address)
    query = place.query if token is None else f"token={token}"
    with connect(
        f"ws://{place.netloc}/live?{query}",
        origin=Origin(origin or f"http://{place.netloc}"),
        proxy=None,
        open_timeout=LIMIT_SECONDS,
        close_timeout=0,
    ) as live:
        yield live


def got(address: str, path: str, **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=LIMIT_SECONDS)
    connection.request("GET", path, headers=headers)
    return connection.getresponse()


@pytest.mark.parametrize(
    ("token", "origin", "words"),
    [
        ("", "", "token"),
        ("wrong", "", "token"),
        (None, "http://evil.example", "another site"),
        (None, "http://127.0.0.1:1", "another site"),
        (None, "null", "another site"),
    ],
)
def test_a_page_without_token_or_of_another_site_gets_nothing(
    session: Session, token: str | None, origin: str, words: str
):
    with serving(session, port=0) as address, connected(address, token=token, origin=origin) as live:
        with pytest.raises(ConnectionClosed) as closed:
            live.recv(timeout=LIMIT_SECONDS)
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, words in closed.value.rcvd.reason) == (4401, True)


def test_a_name_that_another_site_leads_here_is_refused(session: Session):
    with serving(session, port=0) as address:
        assert got(address, "/", Host="evil.example").status == 400


def test_the_page_loads_from_nowhere_else_and_shows_no_other_file(session: Session):
    with serving(session, port=0) as address:
        index = got(address, "/")
        assert "default-src 'none'" in index.headers["content-security-policy"]
        assert b"http" not in index.read()
        assert got(address, "/page/main.js").status == 200
        hidden = ("package.json", "../app.py", "%2e%2e/app.py", "node_modules/htm/dist/htm.module.js")
        for path in (*(f"/page/{name}" for name in hidden), "/npm/x.js"):
            assert got(address, path).status == 404


def test_no_module_names_another_machine():
    files = [path for path in sorted(PAGE.rglob("*")) if "node_modules" not in path.parts]
    modules = [path for path in files if path.suffix in (".js", ".css", ".html")]
    assert len(modules) > 20
    lines = [line for path in modules for line in path.read_text().splitlines() if "://" in line]
    assert [line for line in lines if "${location.host}" not in line and "w3.org" not in line] == []


def received(live: ClientConnection, kind: str) -> dict:
    while True:
        message = live.recv(timeout=LIMIT_SECONDS)
        if isinstance(message, str) and (values := json.loads(message))["type"] == kind:
            return values


def test_a_page_receives_the_state_and_all_records(session: Session):
    with serving(session, port=0) as address, connected(address) as live:
        assert received(live, "state")["mode"] == "replay"
        assert [live.recv(timeout=LIMIT_SECONDS)[0] for _ in range(2)] == [Kind.HEADER, Kind.EVENT]
        session.history(event(9, "fault", "later"))
        assert json.loads(live.recv(timeout=LIMIT_SECONDS)[1:])["text"] == "later"


def test_of_three_pages_that_look_at_a_run_the_one_that_never_reads_delays_nobody(tmp_path: Path):
    file = tmp_path / "small.yaml"
    file.write_text("name: small\ntopology: {name: full-mesh, dims: [2, 4]}\ncollective: {elements: 65536}\n")
    live = Live(*load(file), file, [], None, read_only=False)
    live.session.put(Command({"do": "play"}, lambda reply: None))
    # More than the buffers of a socket hold, so that the page that never reads has to wait.
    ballast = json_record(Kind.EVENT, {"t": 0, "kind": "fault", "text": "x" * 100_000})
    with (
        serving(live.session, port=0) as address,
        connected(address) as asleep,
        connected(address) as first,
        connected(address) as second,
    ):
        received(asleep, "state")
        for _ in range(200):
            live.session.history(ballast)
        result = live.run()
        for viewer in (first, second):
            while (message := viewer.recv(timeout=LIMIT_SECONDS))[0] != Kind.CLOSE:
                assert message
    assert result.to_json() == execute(*load(file), None).to_json()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ({"do": "pause"}, "a recording cannot be changed"),
        ({"do": "fault", "keys": {"link": "a-b"}}, "a recording cannot be changed"),
        ({"do": "ask", "what": "weather"}, "no question named 'weather'"),
        ({"do": "ask", "what": "link", "name": "x"}, "no run is in progress"),
        ({"do": "save"}, "this session has no scenario file"),
    ],
)
def test_a_command_without_effect_is_answered_by_a_sentence(session: Session, command: dict, words: str):
    with serving(session, port=0) as address, connected(address) as live:
        live.send(json.dumps({**command, "id": 4}))
        session.wait(LIMIT_SECONDS)
        reply = received(live, "refused")
        assert words in reply["text"]
        assert reply["id"] == 4


@pytest.mark.parametrize("text", ["[]", "{", "x" * 70000])
def test_what_is_no_command_is_refused(session: Session, text: str):
    with serving(session, port=0) as address, connected(address) as live:
        live.send(text)
        assert "the command is not a JSON object" in received(live, "refused")["text"]


@pytest.mark.parametrize(
    "text", ['{"do": "play", "pace": 1e400}', '{"do": "play", "id": NaN}', '{"do": -Infinity}']
)
def test_a_number_that_json_cannot_hold_is_refused(session: Session, text: str):
    with serving(session, port=0) as address, connected(address) as live:
        live.send(text)
        assert "finite numbers" in received(live, "refused")["text"]


def test_a_pace_that_is_no_number_leaves_later_messages_whole():
    session = Session("live")
    replies: list = []
    for pace in ("inf", "nan", "1e400"):
        session.put(Command({"do": "play", "pace": pace}, replies.append))
    for _ in range(3):
        session.wait(0)
    assert ["ended" in reply["text"] or "not a finite number" in reply["text"] for reply in replies] == [
        True
    ] * 3
    assert json.loads(json.dumps(session.state, allow_nan=False))["pace"] is None


def test_a_class_looks_and_the_presenter_acts(tmp_path: Path):
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    running = Live(*load(file), file, [], None, read_only=True)
    with serving(running.session, port=0) as address:
        thread = threading.Thread(target=running.run, daemon=True)
        thread.start()
        with connected(address) as pupil, connected(presenters(address, running.session)) as presenter:
            assert received(pupil, "state")["read_only"]
            assert not received(presenter, "state")["read_only"]
            pupil.send(json.dumps({"do": "play"}))
            assert (
                "this page is read-only and cannot control the run; use the presenter's page"
                in received(pupil, "refused")["text"]
            )
            presenter.send(json.dumps({"do": "play", "pace": None}))
            thread.join(LIMIT_SECONDS)
            while not received(pupil, "state")["ended"]:
                pass
    assert not thread.is_alive()


def test_an_address_for_all_of_this_machine_is_printed_as_one_that_others_can_open(session: Session):
    with serving(session, "0.0.0.0", port=0) as address:
        assert "0.0.0.0" not in address
        assert urlsplit(address).hostname


def test_failing_assertions_are_named_with_their_values(tmp_path: Path):
    file = tmp_path / "small.yaml"
    file.write_text(
        SMALL + "assertions: [{metric: healthy.lost_frames, min: 5}, {metric: healthy.npus, max: 1}]\n"
    )
    running = Live(*load(file), file, [], None, read_only=False)
    running.session.put(Command({"do": "play", "pace": None}, lambda _: None))
    running.run()
    words = running.session.state["words"]
    assert "assertions hold; healthy.lost_frames is 0, required >= 5; healthy.npus is " in words


def test_a_page_that_only_looks_changes_nothing():
    session = Session("live", read_only=True)
    replies: list = []
    session.put(Command({"do": "play"}, replies.append))
    session.wait(0)
    assert "this page is read-only" in replies[0]["text"]
    assert session.state["paused"]


def test_a_port_in_use_is_named_before_anything_starts():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(OutputError, match=f"port {port} of 127.0.0.1 is in use"),
            serving(Session("replay"), port=port),
        ):
            pass


class TestAddressOutside:
    """In a virtual machine and in a container the page is reached by an address of another computer."""

    def free_default_port(self, monkeypatch: pytest.MonkeyPatch) -> int:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        monkeypatch.setattr("railyard.web.server.DEFAULT_PORT", port)
        return port

    def status(self, port: int, host: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_SECONDS)
        connection.request("GET", "/", headers={"Host": host})
        return connection.getresponse().status

    def test_the_default_port_prints_it_and_answers_to_its_name(self, monkeypatch: pytest.MonkeyPatch):
        port = self.free_default_port(monkeypatch)
        monkeypatch.setenv(HOST_VARIABLE, "0.0.0.0")
        monkeypatch.setenv(ADDRESS_VARIABLE, "http://lab7.example:9001/")
        with serving(Session("replay"), port=port) as address:
            assert re.fullmatch(r"http://lab7\.example:9001/\?token=[\w-]{24}", address)
            assert self.status(port, "lab7.example:9001") == 200
            assert self.status(port, f"127.0.0.1:{port}") == 200
            assert self.status(port, "elsewhere.example") == 400

    def test_another_port_is_not_forwarded_and_prints_its_own_address(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv(ADDRESS_VARIABLE, "http://127.0.0.1:9001")
        with serving(Session("replay"), port=0) as address:
            assert ":9001" not in address

    def test_a_host_that_the_command_names_wins(self, monkeypatch: pytest.MonkeyPatch):
        port = self.free_default_port(monkeypatch)
        monkeypatch.setenv(HOST_VARIABLE, "0.0.0.0")
        monkeypatch.setenv(ADDRESS_VARIABLE, "http://lab7.example")
        with serving(Session("replay"), "127.0.0.1", port) as address:
            assert address.startswith(f"http://127.0.0.1:{port}/?token=")
            assert self.status(port, "lab7.example") == 400

    @pytest.mark.parametrize("wrong", ["lab7", "http://", "ftp://lab7", "http://lab7/page"])
    def test_what_is_no_address_is_refused(self, monkeypatch: pytest.MonkeyPatch, wrong: str):
        port = self.free_default_port(monkeypatch)
        monkeypatch.setenv(ADDRESS_VARIABLE, wrong)
        refused = pytest.raises(OutputError, match="which is not an address of a page")
        with refused, serving(Session("replay"), port=port):
            pass


def test_a_wheel_has_every_package_of_the_page():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    included = set(project["tool"]["scikit-build"]["sdist"]["include"])
    prefix = "railyard/web/page/node_modules/"
    assert {prefix + path for path in PACKAGES.values()} <= included
    assert {f"{prefix}{path.partition('/')[0]}/LICENSE" for path in PACKAGES.values()} <= included


def test_results_without_a_recording_are_refused_with_the_remedy(tmp_path: Path):
    with pytest.raises(RecordingError, match="run the scenario again with --record"), opened(tmp_path):
        pass


def state_of_links(message: Data) -> bytes:
    """Return a byte a link, of a message that is a tick."""
    if isinstance(message, str) or message[0] != Kind.TICK:
        return b""
    return Tick.of(Record(Kind.TICK, bytes(message[1:]))).links.state


def test_a_fabric_kept_running_shows_a_link_that_a_page_takes_down():
    fabric = full_mesh((2, 2))
    with EmbeddedTestbed(fabric) as testbed:
        standing = StandingFabric(testbed)
        stopped = threading.Event()
        thread = threading.Thread(target=testbed.serve, args=(stopped,))
        thread.start()
        try:
            with serving(standing.session, port=0) as address, connected(address) as live:
                link = fabric.links[1].name
                live.send(json.dumps({"do": "fault", "keys": {"link": link}, "id": 1}))
                assert received(live, "struck")["keys"]["link"] == link
                while (state := state_of_links(live.recv(timeout=LIMIT_SECONDS))) in (b"", b"\1\1\1\1"):
                    pass
                assert state == b"\1\0\1\1"
        finally:
            stopped.set()
            thread.join()

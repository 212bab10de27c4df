# SPDX-License-Identifier: Apache-2.0
"""Orders to a part and its answers, over pipes in place of ssh."""

from __future__ import annotations

import sys
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from emulation.errors import MachineError
from emulation.linux.record import RunRecord
from emulation.mininet.cluster.machines import Machine
from emulation.mininet.cluster.session import Session
from tests.emulation.mininet.benches import no_rights
from tests.emulation.mininet.commands import ROOT

reason = no_rights()
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)

# Answers an order with its own method and arguments; before an order `wait` until a file exists.
PART = """\
import os, pathlib, sys, time
sys.path.insert(0, {root!r})
from multiprocessing.connection import Connection
from emulation.mininet.cluster.orders import BEGIN, Answer
os.write(1, b"a login shell says hello\\n" + BEGIN)
orders, answers = Connection(0, writable=False), Connection(1, readable=False)
while True:
    order = orders.recv()
    if order.method == "wait":
        while not pathlib.Path(order.arguments[0]).exists():
            time.sleep(0.01)
    answers.send(Answer(order.number, (order.method, *order.arguments)))
    if order.method == "stop":
        break
"""


def test_an_answer_that_nobody_waits_for_any_more_is_no_answer_to_the_next_order(tmp_path: Path) -> None:
    script = tmp_path / "part.py"
    script.write_text(PART.format(root=str(ROOT)))
    machine = Machine("a", IPv4Address("10.0.0.1"), ("sh", "-c"), (sys.executable, str(script)))
    with RunRecord.create(tmp_path / "runs") as record:
        session = Session(machine, record)
        assert session.call("first", 1) == ("first", 1)
        released = tmp_path / "released"
        with pytest.raises(MachineError, match=r"machine a: wait has no answer after 0\.01 s"):
            session.call("wait", str(released), seconds=0.01)
        released.touch()
        assert session.call("second", 2) == ("second", 2)
        assert session.close()

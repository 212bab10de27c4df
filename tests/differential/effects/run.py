# SPDX-License-Identifier: Apache-2.0
"""Programs whose effects meet, one after the other on the same pair of switches: the engine and BMv2."""

import zlib
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self, final

from controller.p4runtime.client import ProgramFiles
from emulation._engine import Network, Program
from tests.differential.differential import Differential, Frame, show
from tests.differential.effects.pairs import EffectPairs
from tests.differential.effects.programs import every_frame, every_pair, replication
from tests.differential.fuzz.both import Both

__all__ = ["RECORD", "Meeting", "engine_with", "record"]

RECORD = Path(__file__).parents[1] / "golden" / "effects.txt"
"""Result of `record` for each form of `every_pair`, written when BMv2 agreed with every frame."""

_PORTS = range(8)
# Seconds of silence after which a frame of BMv2 is lost, and in which nothing more may come; then again.
_PATIENCE = ((4.0, 0.05), (20.0, 2.0))
_EXAMPLES = 3


def engine_with(files: ProgramFiles) -> Network:
    """Return a network of one switch with a program, and the group and the sessions of `replication`."""
    network = Network()
    network.add_switch("s")
    network.set_program(0, Program(files.json))
    for update in replication():
        entry = update.entity.packet_replication_engine_entry
        if entry.HasField("multicast_group_entry"):
            copies = [(copy.egress_port, copy.instance) for copy in entry.multicast_group_entry.replicas]
            network.multicast_set(0, entry.multicast_group_entry.multicast_group_id, copies)
        else:
            copies = [(copy.egress_port, copy.instance) for copy in entry.clone_session_entry.replicas]
            network.clone_set(0, entry.clone_session_entry.session_id, copies, 0)
    return network


def record(files: ProgramFiles) -> str:
    """Return a line for each frame of `every_frame`: its number, and a checksum of the engine's outputs."""
    network = engine_with(files)
    lines: list[str] = []
    for number, frame in enumerate(every_frame()):
        outputs = sorted(f"{port}:{data.hex()}" for port, data in network.process(0, 0, frame))
        lines.append(f"{number:04} {zlib.crc32(' '.join(outputs).encode()):08x}\n")
    return "".join(lines)


@final
class Meeting:
    """Both switches. `pairs` counts the pairs of effects that the engine has executed."""

    def __init__(self, directory: Path) -> None:
        self.pairs = EffectPairs()
        self.frames = self.outputs = 0
        self._stack = ExitStack()
        self._pair = Differential(
            every_pair(), (), ports=_PORTS, directory=directory, many=True, on_log=self.pairs.log
        )

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self._pair)
            self._both = stack.enter_context(Both(self._pair))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def differences(self, files: ProgramFiles, frames: Sequence[bytes]) -> list[str]:
        """Return the frames on which the switches differ, with what each sends; empty when they agree.

        The programs keep no state. When the frames together make a difference, which may be frames that a
        busy BMv2 sends late or loses, each is repeated alone, and that counts.
        """
        self._both.forget_replication()
        self._pair.load(files)
        answers = self._both.write(replication())
        if any(answer != ("OK", "OK") for answer in answers):
            return [f"groups and sessions were answered with {answers}"]
        sent = [(0, frame) for frame in frames]
        for late, quiet in _PATIENCE:
            expected, got = self._pair.exchange(sent, late_seconds=late, quiet_seconds=quiet)
            if expected == got:
                self.pairs.finish()
                self.frames += len(sent)
                self.outputs += expected.total()
                return []
            self._pair.drain(quiet)
        return self._examples(sent)

    def _examples(self, frames: Sequence[Frame]) -> list[str]:
        """Return the first frames that alone make a difference."""
        late, quiet = _PATIENCE[-1]
        result: list[str] = []
        for frame in frames:
            expected, got = self._pair.exchange([frame], late_seconds=late)
            if expected != got:
                lines = [f"into {show(frame)}"]
                lines += [f"  only the engine: {show(item)}" for item in (expected - got).elements()]
                lines += [f"  only BMv2: {show(item)}" for item in (got - expected).elements()]
                result.append("\n".join(lines))
                self._pair.drain(quiet)
            if len(result) == _EXAMPLES:
                break
        return result

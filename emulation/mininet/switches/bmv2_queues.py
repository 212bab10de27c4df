# SPDX-License-Identifier: Apache-2.0
"""Depth and rate of BMv2's queues, set by calls of its Thrift server: P4Runtime has no such calls.

The service `simple_switch` is in BMv2's targets/simple_switch/thrift/simple_switch.thrift; the encoding is
Thrift's binary protocol. Three calls with integers do not justify the Thrift library, of which there is no
wheel.
"""

import socket
import struct
from collections.abc import Mapping
from typing import Final

from emulation.errors import MachineError

__all__ = ["set_queue_depth"]

_CALL, _REPLY = 0x80010001, 0x80010002
_I32, _I64 = (8, ">bhi"), (10, ">bhq")
_SECONDS = 30.0
_RESPONSES: Final = 7
"""Priority of responses in the P4 programs; its queue has no rate limit."""


def set_queue_depth(thrift_port: int, rates: Mapping[int, int], frames: int) -> None:
    """Set the depth of a switch's queues to `frames`, and the rates of its egress ports.

    `thrift_port` is the switch's TCP port in this namespace. `rates` has the data frames per second that
    leave each egress port. MachineError if the switch does not answer.
    """
    try:
        with socket.create_connection(("127.0.0.1", thrift_port), _SECONDS) as connection:
            _call(connection, "set_all_egress_queue_depths", (_I32, frames))
            for port, rate in rates.items():
                _call(connection, "set_egress_queue_rate", (_I32, port), (_I64, rate))
                _call(
                    connection, "set_egress_priority_queue_rate", (_I32, port), (_I32, _RESPONSES), (_I64, 0)
                )
    except OSError as error:
        raise MachineError(
            f"BMv2 does not answer at its Thrift port {thrift_port}: {error.strerror or error}",
            remedy="build BMv2 with Thrift, as the packages of p4lang-bmv2 are, take --switch builtin, "
            "or leave out `ecn_frames:`",
        ) from error


def _call(connection: socket.socket, method: str, *arguments: tuple[tuple[int, str], int]) -> None:
    """Call a method; OSError unless it returns a 32-bit 0, as all of the service's methods do on success."""
    name = f"simple_switch:{method}".encode()
    fields = [
        struct.pack(form, kind, number, value) for number, ((kind, form), value) in enumerate(arguments, 1)
    ]
    connection.sendall(struct.pack(">Ii", _CALL, len(name)) + name + bytes(4) + b"".join(fields) + b"\0")
    kind, length = struct.unpack(">Ii", _exactly(connection, 8))
    if kind != _REPLY:
        raise OSError(f"{method} is refused")
    _exactly(connection, length + 4)
    *_, result, _ = struct.unpack(">bhib", _exactly(connection, 8))
    if result != 0:
        raise OSError(f"{method} has failed with {result}")


def _exactly(connection: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        piece = connection.recv(size - len(content))
        if not piece:
            raise OSError("the connection has ended")
        content += piece
    return content

# SPDX-License-Identifier: Apache-2.0
"""Reader of Chakra traces in protobuf: one file per rank, perhaps gzip; each message follows its length.

The message types are declared in this module, with the field numbers of the schema of MLCommons' Chakra. The
number of an attribute may be in any arm of the oneof `value`. A node depends on its `data_deps`, as in
Chakra's own feeder. `ctrl_deps` are ignored: they name the PyTorch caller of an operation, which ends after
the operation.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from harness.formats.chakra.node import Node
from harness.formats.files import unpacked
from harness.formats.text import FileLocation

if TYPE_CHECKING:
    from google.protobuf.message import Message

__all__ = ["node_class", "read_trace"]

_MAX_MESSAGE = 1 << 24
# Protobuf types of the arms of an attribute's oneof `value`. The nth arm has field number 3 + 2n; the field
# numbers in between are arms with lists, which are not read.
_ARMS = {
    "double": 1, "float": 2, "int32": 5, "int64": 3, "uint32": 13, "uint64": 4, "sint32": 17, "sint64": 18,
    "fixed32": 7, "fixed64": 6, "sfixed32": 15, "sfixed64": 16, "bool": 8, "string": 9,
}  # fmt: skip
_STRING, _UINT64, _INT32, _MESSAGE = 9, 4, 5, 11
_CREATE_AGAIN = "create or copy the trace again"


def read_trace(path: Path) -> Iterator[Node]:
    """Yield the nodes of a trace; an invalid file raises FormatError with the position in bytes."""
    from google.protobuf.message import DecodeError

    node_type = node_class()
    location = FileLocation(path)
    at = 0
    try:
        with unpacked(path) as file:
            head = True
            while (data := _message(file, location, at)) is not None:
                at += len(data)
                if not head:  # The first message has metadata of the trace, not a node.
                    yield _node(node_type.FromString(data))
                head = False
    except DecodeError:
        location.refuse(f"no Chakra node can be read near byte {at}", _CREATE_AGAIN)


def _message(file: BinaryIO, location: FileLocation, at: int) -> bytes | None:
    """Read the length of a message, then the message; return the message, or None at the end of the file.

    `at` is the number of bytes read so far, for error messages.
    """
    length = shift = 0
    while True:
        byte = file.read(1)
        if not byte and not shift:
            return None
        if not byte or shift > 28:
            location.refuse(f"the length of a message near byte {at} is invalid", _CREATE_AGAIN)
        length |= (byte[0] & 0x7F) << shift
        shift += 7
        if byte[0] < 0x80:
            break
    if length > _MAX_MESSAGE:
        location.refuse(
            f"the message near byte {at} has {length} bytes, more than {_MAX_MESSAGE}", _CREATE_AGAIN
        )
    data = file.read(length)
    if len(data) < length:
        location.refuse(f"a message of {length} bytes near byte {at} is cut short", _CREATE_AGAIN)
    return data


def _node(message: "Message") -> Node:
    node: Any = message
    values = {}
    for attribute in node.attr:
        arm = attribute.WhichOneof("value")
        if arm is not None:
            values[attribute.name] = getattr(attribute, arm)
    return Node(node.id, node.name, node.type, tuple(node.data_deps), node.duration_micros, values)


@cache
def node_class() -> Any:
    """Return the protobuf class of Chakra's nodes, built from its field numbers."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(
        name="railyard/chakra.proto", package="railyard.chakra", syntax="proto3"
    )
    attribute = file.message_type.add(name="Attribute")
    attribute.field.add(name="name", number=1, type=_STRING, label=1)
    attribute.oneof_decl.add(name="value")
    for number, (name, kind) in enumerate(_ARMS.items()):
        attribute.field.add(name=f"{name}_val", number=3 + 2 * number, type=kind, label=1, oneof_index=0)
    node = file.message_type.add(name="Node")
    for name, number, kind, label in (
        ("id", 1, _UINT64, 1),
        ("name", 2, _STRING, 1),
        ("type", 3, _INT32, 1),
        ("data_deps", 5, _UINT64, 3),
        ("start_time_micros", 6, _UINT64, 1),
        ("duration_micros", 7, _UINT64, 1),
    ):
        node.field.add(name=name, number=number, type=kind, label=label)
    node.field.add(name="attr", number=10, type=_MESSAGE, label=3, type_name=".railyard.chakra.Attribute")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("railyard.chakra.Node"))

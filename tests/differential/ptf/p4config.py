# SPDX-License-Identifier: Apache-2.0
"""The message P4DeviceConfig of package p4.tmp, which PI defines and the tutorials' tests import.

The command copies this module to p4/tmp/p4config_pb2.py beside PTF; it imports nothing but protobuf.
"""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, symbol_database

__all__ = ["P4DeviceConfig"]

_FIELDS = (
    ("reassign", 1, descriptor_pb2.FieldDescriptorProto.TYPE_BOOL),
    ("device_data", 3, descriptor_pb2.FieldDescriptorProto.TYPE_BYTES),
)


def _message() -> type:
    file = descriptor_pb2.FileDescriptorProto(name="p4/tmp/p4config.proto", package="p4.tmp", syntax="proto3")
    message = file.message_type.add(name="P4DeviceConfig")
    for name, number, kind in _FIELDS:
        label = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
        message.field.add(name=name, number=number, type=kind, label=label)
    pool = descriptor_pool.Default()
    pool.Add(file)
    database: Any = symbol_database.Default()  # p4runtime-shell's protobuf is an old one
    return database.GetPrototype(pool.FindMessageTypeByName("p4.tmp.P4DeviceConfig"))


P4DeviceConfig = _message()

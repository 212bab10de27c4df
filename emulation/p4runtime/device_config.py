# SPDX-License-Identifier: Apache-2.0
"""The program in a p4_device_config: plain JSON, or JSON in the P4DeviceConfig message of early P4Runtime.

BMv2's server takes both, and p4lang's tutorials still send the message. It has long left the specification,
and no package carries it, so its three fields are read here by hand.
"""

__all__ = ["program_json"]

_DEVICE_DATA = 3
_VARINT, _LENGTH_DELIMITED = 0, 2


def program_json(device_config: bytes) -> bytes:
    """The JSON itself. Bytes that are neither come back as they are: the reader of JSON will complain."""
    if device_config.lstrip()[:1] == b"{":
        return device_config
    try:
        return _field(device_config, _DEVICE_DATA) or device_config
    except (IndexError, ValueError):
        return device_config


def _field(message: bytes, wanted: int) -> bytes | None:
    """The last length-delimited field of that number; ValueError or IndexError when it is no such message."""
    found, at = None, 0
    while at < len(message):
        tag, at = _varint(message, at)
        if tag & 7 == _VARINT:
            _, at = _varint(message, at)
        elif tag & 7 == _LENGTH_DELIMITED:
            length, at = _varint(message, at)
            if at + length > len(message):
                raise ValueError("a field goes beyond the end")
            if tag >> 3 == wanted:
                found = message[at : at + length]
            at += length
        else:
            raise ValueError(f"wire type {tag & 7}")
    return found


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at

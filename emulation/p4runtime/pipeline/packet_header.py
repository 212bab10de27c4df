# SPDX-License-Identifier: Apache-2.0
"""Packet-in and packet-out metadata, carried as a header in front of the frame at the CPU port."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import final

from finsy.proto import p4i, p4r, rpc_code

from emulation.p4runtime.pipeline.strings import Strings
from emulation.p4runtime.pipeline.values import canonical, unsigned
from emulation.p4runtime.status import Refusal

__all__ = ["PacketHeader"]


@final
@dataclass(frozen=True, slots=True)
class PacketHeader:
    """A controller header of `octets` bytes. `fields` are (id, name, bits), most significant first.

    `strings` maps the ids of fields that controllers see as strings to their translations.
    """

    name: str
    fields: tuple[tuple[int, str, int], ...]
    octets: int
    strings: Mapping[int, Strings] = field(default_factory=dict)

    @classmethod
    def of(
        cls, info: p4i.ControllerPacketMetadata, widths: Iterable[int], strings: Mapping[int, Strings]
    ) -> "PacketHeader":
        """Return the header described by a p4info.

        Args:
            info: Header in the p4info.
            widths: Width of each field in the program, in bits; their sum is a multiple of 8.
            strings: Translations of the fields that controllers see as strings, by field id.
        """
        fields = tuple((item.id, item.name, bits) for item, bits in zip(info.metadata, widths, strict=True))
        return cls(info.preamble.name, fields, sum(bits for _, _, bits in fields) // 8, strings)

    @classmethod
    def none(cls, name: str) -> "PacketHeader":
        """Return an empty header, for a program without the controller header `name`."""
        return cls(name, (), 0)

    def join(self, packet: p4r.PacketOut) -> bytes:
        """Return the frame for the CPU port: header, then payload; a Refusal for wrong metadata."""
        sent: dict[int, bytes] = {}
        for metadata in packet.metadata:
            if metadata.metadata_id in sent:
                raise Refusal(
                    rpc_code.INVALID_ARGUMENT, f"{self.name}: metadata {metadata.metadata_id} is given twice"
                )
            sent[metadata.metadata_id] = metadata.value
        header = 0
        for field_id, name, bits in self.fields:
            if field_id not in sent:
                raise Refusal(
                    rpc_code.INVALID_ARGUMENT, f"{self.name}: metadata {name!r} (id {field_id}) is missing"
                )
            what, strings = f"{self.name}, metadata {name!r}", self.strings.get(field_id)
            given = sent.pop(field_id)
            value = unsigned(given, bits, what) if strings is None else strings.number(given, what)
            header = header << bits | int.from_bytes(value)
        if sent:
            raise Refusal(
                rpc_code.INVALID_ARGUMENT, f"{self.name} has no metadata with id {next(iter(sent))}"
            )
        return header.to_bytes(self.octets) + packet.payload

    def split(self, frame: bytes) -> p4r.PacketIn | None:
        """Return a frame from the CPU port as a packet-in; None if it is too short to hold the header."""
        if len(frame) < self.octets:
            return None
        return p4r.PacketIn(payload=frame[self.octets :], metadata=self._metadata(frame[: self.octets]))

    def _metadata(self, header: bytes) -> Iterable[p4r.PacketMetadata]:
        number, left = int.from_bytes(header), self.octets * 8
        for field_id, _, bits in self.fields:
            left -= bits
            value = number >> left & ((1 << bits) - 1)
            shown, strings = value.to_bytes(self.octets), self.strings.get(field_id)
            sent = canonical(shown) if strings is None else strings.text(shown)
            yield p4r.PacketMetadata(metadata_id=field_id, value=sent)

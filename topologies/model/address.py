# SPDX-License-Identifier: Apache-2.0
"""Structured addresses: a 16-bit compact network address (CNA) cut into fields that follow physical place."""

from dataclasses import dataclass
from typing import final

from topologies.errors import TopologyError

__all__ = ["CNA_BITS", "AddressField", "AddressPlan"]

CNA_BITS = 16


@final
@dataclass(frozen=True, slots=True)
class AddressField:
    """Field of an address: its name, and its width in bits."""

    name: str
    bits: int


@final
@dataclass(frozen=True, slots=True)
class AddressPlan:
    """The fields of an address, widest place first; together they are the whole address.

    Source: UB-Mesh, All-Path-Routing: the address space is cut into segments by physical location.
    """

    fields: tuple[AddressField, ...]

    @property
    def bits(self) -> int:
        return sum(part.bits for part in self.fields)

    def shift(self, name: str) -> int:
        """Bits to the right of a field."""
        at = self._position(name)
        return sum(part.bits for part in self.fields[at + 1 :])

    def mask(self, name: str) -> int:
        """Return the largest value of a field."""
        return (1 << self.fields[self._position(name)].bits) - 1

    def pack(self, **values: int) -> int:
        """Return the address of these field values; a field left out is 0."""
        address = 0
        for name, value in values.items():
            if not 0 <= value <= self.mask(name):
                raise TopologyError(
                    f"address field {name}: {value} is not in 0..{self.mask(name)}",
                    remedy="use a smaller fabric or a wider field",
                )
            address |= value << self.shift(name)
        return address

    def unpack(self, address: int) -> dict[str, int]:
        """Field values of an address, in the order of the fields."""
        if not 0 <= address < 1 << self.bits:
            raise TopologyError(
                f"address {address:#x} does not fit {self.bits} bits", remedy="check the address plan"
            )
        return {part.name: address >> self.shift(part.name) & self.mask(part.name) for part in self.fields}

    def prefix(self, name: str, address: int) -> tuple[int, int]:
        """(value, length) of the prefix that ends just before field `name`: the segment its members share."""
        below = self.shift(name) + self.fields[self._position(name)].bits
        return address >> below << below, self.bits - below

    def _position(self, name: str) -> int:
        names = [part.name for part in self.fields]
        if name not in names:
            raise TopologyError(
                f"no address field named {name!r}", remedy=f"fields of this plan: {', '.join(names)}"
            )
        return names.index(name)

# SPDX-License-Identifier: Apache-2.0
"""Structured addresses: a 16-bit compact network address (CNA) cut into fields that follow physical place."""

from dataclasses import dataclass
from functools import cached_property
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
@dataclass(frozen=True)
class AddressPlan:
    """The fields of an address, widest place first; together they are the whole address.

    Source: UB-Mesh, All-Path-Routing: the address space is cut into segments by physical location.
    """

    fields: tuple[AddressField, ...]

    @cached_property
    def bits(self) -> int:
        """Bits of an address."""
        return sum(part.bits for part in self.fields)

    @cached_property
    def _places(self) -> dict[str, tuple[int, int]]:
        """Bits to the right of each field, and its largest value; of two fields of a name, the first."""
        places: dict[str, tuple[int, int]] = {}
        right = self.bits
        for part in self.fields:
            right -= part.bits
            places.setdefault(part.name, (right, (1 << part.bits) - 1))
        return places

    def shift(self, name: str) -> int:
        """Bits to the right of a field."""
        return self._place(name)[0]

    def mask(self, name: str) -> int:
        """Return the largest value of a field."""
        return self._place(name)[1]

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
                f"address {address:#x} does not fit in {self.bits} bits", remedy="use an address of this plan"
            )
        return {part.name: address >> self.shift(part.name) & self.mask(part.name) for part in self.fields}

    def prefix(self, name: str, address: int) -> tuple[int, int]:
        """(value, length) of the prefix that ends just before field `name`: the segment its members share."""
        shift, mask = self._place(name)
        below = shift + mask.bit_length()
        return address >> below << below, self.bits - below

    def _place(self, name: str) -> tuple[int, int]:
        place = self._places.get(name)
        if place is None:
            names = ", ".join(part.name for part in self.fields)
            raise TopologyError(f"the address plan has no field {name!r}", remedy=f"use one of {names}")
        return place

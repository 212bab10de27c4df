# SPDX-License-Identifier: Apache-2.0
"""Structured addresses: a 16-bit compact network address (CNA), whose fields give the physical location."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import final

from topologies.errors import TopologyError

__all__ = ["CNA_BITS", "AddressField", "AddressPlan", "padded_plan"]

CNA_BITS = 16


@final
@dataclass(frozen=True, slots=True)
class AddressField:
    """Name and width in bits of an address field."""

    name: str
    bits: int


@final
@dataclass(frozen=True)
class AddressPlan:
    """The fields of an address, from the most significant bits down; together they fill the address.

    Source: UB-Mesh, All-Path-Routing: the address space is divided into segments by physical location.
    """

    fields: tuple[AddressField, ...]

    @cached_property
    def bits(self) -> int:
        """Number of bits of an address."""
        return sum(part.bits for part in self.fields)

    @cached_property
    def _places(self) -> dict[str, tuple[int, int]]:
        """Shift and largest value of each field, by name; if two fields share a name, the first counts."""
        shifts_and_masks: dict[str, tuple[int, int]] = {}
        right = self.bits
        for part in self.fields:
            right -= part.bits
            shifts_and_masks.setdefault(part.name, (right, (1 << part.bits) - 1))
        return shifts_and_masks

    def shift(self, name: str) -> int:
        """Return the number of bits to the right of a field."""
        return self._place(name)[0]

    def mask(self, name: str) -> int:
        """Return the largest value of a field."""
        return self._place(name)[1]

    def pack(self, **values: int) -> int:
        """Return the address with the given field values; a field that is not given is 0.

        TopologyError when a value does not fit into its field.
        """
        address = 0
        for name, value in values.items():
            shift, mask = self._place(name)
            if not 0 <= value <= mask:
                raise TopologyError(
                    f"address field {name}: {value} is not in 0..{mask}",
                    remedy="use a smaller fabric or a wider field",
                )
            address |= value << shift
        return address

    def unpack(self, address: int) -> dict[str, int]:
        """Return the field values of an address by name, in the order of the fields.

        TopologyError when the address has more bits than the plan.
        """
        if not 0 <= address < 1 << self.bits:
            raise TopologyError(
                f"address {address:#x} does not fit in {self.bits} bits", remedy="use an address of this plan"
            )
        return {name: address >> shift & mask for name, (shift, mask) in self._places.items()}

    def prefix(self, name: str, address: int) -> tuple[int, int]:
        """Return (value, length) of the prefix of `address` that ends just before field `name`."""
        shift, mask = self._place(name)
        below = shift + mask.bit_length()
        return address >> below << below, self.bits - below

    def _place(self, name: str) -> tuple[int, int]:
        shift_and_mask = self._places.get(name)
        if shift_and_mask is None:
            names = ", ".join(part.name for part in self.fields)
            raise TopologyError(f"the address plan has no field {name!r}", remedy=f"use one of {names}")
        return shift_and_mask


def padded_plan(class_bits: int, bits: Mapping[str, int]) -> AddressPlan:
    """Return the plan of an address of CNA_BITS: class, padding if bits are left over, then `bits` by name.

    The class and the fields must not need more than CNA_BITS.
    """
    pad = CNA_BITS - class_bits - sum(bits.values())
    padding = [AddressField("pad", pad)] if pad else []
    fields = (AddressField(name, width) for name, width in bits.items())
    return AddressPlan((AddressField("class", class_bits), *padding, *fields))

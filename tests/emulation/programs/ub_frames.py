# SPDX-License-Identifier: Apache-2.0
"""UB frames by field, packed from the wire format alone, so that tests of a program have their own packer."""

from dataclasses import dataclass, replace

__all__ = ["CFG_CNA16", "CFG_SOURCE_ROUTE", "Srh", "UbFrame", "coded_length", "instructions"]

ETHERTYPE = 0x88B5
CFG_CNA16 = 0x6
CFG_SOURCE_ROUTE = 0xC


def coded_length(octets: int) -> int:
    """LPH.length of so many bytes from the LPH to the end: blocks-1 : 4, flits-1 : 5, bytes-1 : 5."""
    flits = -(-octets // 20)
    blocks = -(-flits // 32)
    return (blocks - 1) << 10 | (flits - 32 * (blocks - 1) - 1) << 5 | (octets - 20 * (flits - 1) - 1)


def instructions(*ports: int) -> int:
    """Up to six egress ports as the 48 bits of an SRH, the first leftmost."""
    return int.from_bytes(bytes(ports).ljust(6, b"\0"))


@dataclass(frozen=True)
class Srh:
    ptr: int
    bitmap: int
    instr: int

    @property
    def ports(self) -> tuple[int, ...]:
        """Instructions as six egress ports."""
        return tuple(self.instr.to_bytes(6))

    def packed(self) -> bytes:
        return (self.ptr << 60 | self.bitmap << 48 | self.instr).to_bytes(8)

    @classmethod
    def parsed(cls, data: bytes) -> "Srh":
        number = int.from_bytes(data)
        return cls(number >> 60, number >> 48 & 0xFFF, number & (1 << 48) - 1)


@dataclass(frozen=True)
class UbFrame:
    """Ethernet, LPH, perhaps SRH, NTH and a payload. `length` None: what it truly is."""

    dcna: int
    vl: int = 0
    cfg: int | None = None
    srh: Srh | None = None
    scna: int = 0x0123
    lb: int = 0
    sl: int = 0
    mgmt: int = 0
    length: int | None = None
    lb_mode: int = 0
    rt: int = 1
    other_lph: int = 0
    cc: int = 0x4321
    nlp: int = 5
    payload: bytes = b"payload"
    ethertype: int = ETHERTYPE
    addresses: bytes = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02"

    def packed(self) -> bytes:
        srh = self.srh.packed() if self.srh else b""
        cfg = self.cfg if self.cfg is not None else CFG_SOURCE_ROUTE if self.srh else CFG_CNA16
        nth = (
            self.scna << 48
            | self.dcna << 32
            | self.cc << 16
            | self.lb << 8
            | self.sl << 4
            | self.mgmt << 3
            | self.nlp
        )
        rest = srh + nth.to_bytes(8) + self.payload
        length = coded_length(4 + len(rest)) if self.length is None else self.length
        # other_lph: credit 1, ack 1, credit_vl 4, rsv 1 and the rsv after vl, as one number of 8 bits.
        lph = self.other_lph >> 1 << 25 | self.vl << 21 | (self.other_lph & 1) << 20 | cfg << 16
        lph |= self.lb_mode << 15 | self.rt << 14 | length
        return self.addresses + self.ethertype.to_bytes(2) + lph.to_bytes(4) + rest

    @classmethod
    def parsed(cls, data: bytes) -> "UbFrame":
        """A whole frame of either cfg."""
        lph = int.from_bytes(data[14:18])
        cfg = lph >> 16 & 0xF
        rest = data[18:]
        srh = Srh.parsed(rest[:8]) if cfg == CFG_SOURCE_ROUTE else None
        rest = rest[8:] if srh else rest
        nth = int.from_bytes(rest[:8])
        return cls(
            dcna=nth >> 32 & 0xFFFF,
            vl=lph >> 21 & 0xF,
            srh=srh,
            scna=nth >> 48,
            lb=nth >> 8 & 0xFF,
            sl=nth >> 4 & 0xF,
            mgmt=nth >> 3 & 1,
            length=lph & 0x3FFF,
            lb_mode=lph >> 15 & 1,
            rt=lph >> 14 & 1,
            other_lph=lph >> 25 << 1 | lph >> 20 & 1,
            cc=nth >> 16 & 0xFFFF,
            nlp=nth & 7,
            payload=rest[8:],
            addresses=data[:12],
        )

    def but(self, **changes: object) -> "UbFrame":
        """A copy with other fields."""
        return replace(self, **changes)  # pyright: ignore[reportArgumentType]

# SPDX-License-Identifier: Apache-2.0
"""Every header of a UB link in this testbed, as Scapy layers.

Each layer names the origin of its fields: the kernel driver for UnifiedBus (openEuler's kernel, file
drivers/ub/ubus/msg.h), the simulator ns-3-UB, the UB-Mesh paper, or this testbed. Multi-byte fields are
big-endian. Ethernet is the carrier that lets a UB link cross a Linux interface; type 0x88B5 is IEEE's first
local experimental Ethernet type.
"""

from typing import ClassVar, Final

from scapy.fields import (
    AnyField,
    BitEnumField,
    BitField,
    ByteEnumField,
    ByteField,
    FieldListField,
    FlagsField,
    IntField,
    ShortField,
    ThreeBytesField,
    XBitField,
    XLongField,
    XShortField,
)
from scapy.layers.l2 import Ether
from scapy.packet import Packet, bind_layers

from emulation.errors import FrameError
from emulation.traffic.frames.values import (
    CFG_CNA16,
    CFG_CNA24,
    CFG_SOURCE_ROUTE,
    CFG_SOURCE_ROUTE_CNA24,
    ETHERTYPE,
    NLP_REDUCTION,
    Combine,
    Combining,
    ElementType,
    NextHeader,
    Opcode,
    Operation,
    ReductionKind,
    ReliableOpcode,
    Status,
    decode_length,
    encode_length,
)

__all__ = [
    "CLH",
    "LPH",
    "MOH",
    "NTH",
    "NTH24",
    "RDH",
    "RTPH",
    "SACK",
    "SRH",
    "SRH24",
    "TPH",
    "Ether",
    "LinkNotice",
]

_CFG: Final = {
    CFG_CNA16: "CNA16",
    CFG_CNA24: "CNA24",
    CFG_SOURCE_ROUTE: "source-route",
    CFG_SOURCE_ROUTE_CNA24: "source-route, CNA24",
}


class LPH(Packet):
    """Link packet header, 4 bytes.

    The format has three sources:

    - the kernel driver (struct ub_link_header): the fields, their widths and positions, and cfg 6, which
      means that a CNA16 header follows;
    - ns-3-UB: the meaning of lb_mode (0 per flow, 1 per packet) and rt (0 all paths, 1 shortest), and the
      three parts of the length: number of blocks - 1 (4 bits), number of flits of 20 bytes in the last
      block - 1 (5 bits), number of bytes in the last flit - 1 (5 bits);
    - this testbed: cfg 12 (a source-route header and a CNA16 header follow), cfg 13 (a CNA24 header), cfg 14
      (a source-route header and a CNA24 header). The length counts the bytes on the carrier, without the
      check codes of a real link.

    Building a packet fills in the length.
    """

    name = "LPH"
    fields_desc: ClassVar[list[AnyField]] = [
        BitField("credit", 0, 1),
        BitField("ack", 0, 1),
        BitField("credit_vl", 0, 4),
        BitField("rsv0", 0, 1),
        BitField("vl", 0, 4),
        BitField("rsv1", 0, 1),
        BitEnumField("cfg", CFG_CNA16, 4, _CFG),
        BitField("lb_mode", 0, 1),
        BitField("rt", 0, 1),
        BitField("length", None, 14),
    ]

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        """Fill in `length` if it is None."""
        if self.length is None:
            low = pkt[2] << 8 & 0xC000 | encode_length(len(pkt) + len(pay))
            pkt = pkt[:2] + low.to_bytes(2, "big")
        return pkt + pay

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes | None]:
        """Return the bytes after the LPH up to the packet's end, and the carrier's padding behind them."""
        size = decode_length(self.length)
        if size is None or not 4 <= size <= len(s) + 4:
            return s, None
        return s[: size - 4], s[size - 4 :]


class _SourceRoute(Packet):
    """Fields of `SRH` and `SRH24`, which differ only in the header that follows."""

    fields_desc: ClassVar[list[AnyField]] = [
        BitField("ptr", 0, 4),
        XBitField("bitmap", 0, 12),
        FieldListField("instr", None, ByteField("port", 0), count_from=lambda _: 6),
    ]

    def post_build(self, pkt: bytes, pay: bytes) -> bytes:
        """Pad the instructions to six; FrameError for more than six."""
        if len(pkt) > 8:
            raise FrameError(
                f"the source route has {len(self.instr)} instructions, but the header holds only six"
            )
        return pkt.ljust(8, b"\0") + pay


class SRH(_SourceRoute):
    """Source-route header, 8 bytes.

    UB-Mesh gives the sizes: ptr of 4 bits, bitmap of 12 bits, six instructions. The paper does not publish
    the rest, so this testbed defines it: the order of the fields, bit 0 of the bitmap leftmost, and an 8-bit
    egress port as the instruction.
    """

    name = "SRH"


class SRH24(_SourceRoute):
    """Source-route header, 8 bytes, before a CNA24 header."""

    name = "SRH24"


class NTH(Packet):
    """CNA16 network header, 8 bytes.

    The kernel driver (struct compact_network_header) defines the fields. This testbed defines their use: the
    low 4 bits of lb are the path bucket, sl is the service level (1 for acknowledgements), mgmt 1 marks a
    link notice, nlp is 4 before a reduction header and otherwise 0.
    """

    name = "NTH"
    fields_desc: ClassVar[list[AnyField]] = [
        XShortField("scna", 0),
        XShortField("dcna", 0),
        XShortField("cc", 0),
        ByteField("lb", 0),
        BitField("sl", 0, 4),
        BitField("mgmt", 0, 1),
        BitField("nlp", 0, 3),
    ]


class NTH24(Packet):
    """CNA24 network header, 12 bytes.

    OpenURMA (docs/wire_format.md) defines the fields; the kernel driver and OpenURMA's code put the bit mgmt
    between sl and nlp. nlp 2 means that an RTPH follows. In this testbed, lb, sl and mgmt have the same use
    as in the NTH.
    """

    name = "NTH24"
    fields_desc: ClassVar[list[AnyField]] = [
        BitField("rt", 0, 2),
        BitField("rsv0", 0, 6),
        XBitField("scna", 0, 24),
        XBitField("dcna", 0, 24),
        XShortField("cc", 0),
        ByteField("lb", 0),
        BitField("sl", 0, 4),
        BitField("mgmt", 0, 1),
        BitField("nlp", 2, 3),
        ByteField("rsv1", 0),
    ]


class RTPH(Packet):
    """Reliable transport header, 16 bytes.

    OpenURMA (docs/wire_format.md) defines the fields: `last` marks the last packet of a transaction, `a` asks
    for an acknowledgement, `f` marks a fake packet. This testbed defines the codes of `nlp`, marks a
    retransmission by the lowest bit of `rsv0`, and uses `tpmsn` like `ack_psn` of a TPH. In a selective
    acknowledgement `psn` is the first PSN not received yet.
    """

    name = "RTPH"
    fields_desc: ClassVar[list[AnyField]] = [
        BitField("last", 1, 1),
        BitEnumField(
            "opcode", ReliableOpcode.RELIABLE, 7, {item: item.name.lower() for item in ReliableOpcode}
        ),
        BitField("ver", 0, 2),
        BitField("pad", 0, 2),
        BitEnumField("nlp", NextHeader.CLH, 4, {item: item.name for item in NextHeader}),
        BitField("src_tpn", 0, 24),
        BitField("dst_tpn", 0, 24),
        BitField("a", 0, 1),
        BitField("f", 0, 1),
        BitField("rsv0", 0, 6),
        BitField("psn", 0, 24),
        BitField("rspst", 0, 3),
        BitField("rspinfo", 0, 5),
        BitField("tpmsn", 0, 24),
    ]


class TPH(Packet):
    """Transport header, 12 bytes, this testbed's own.

    The opcode numbers of data and acknowledgements are those of ns-3-UB. `src_q` is the sender's queue,
    `dst_q` the receiver's; the number of a queue tells the rank of its peer (host/connections.py), and is 0
    in memory operations. `ack_psn` is, in acknowledgements, the first PSN not received yet; in requests, the
    PSN of the oldest request without a response.
    """

    name = "TPH"
    fields_desc: ClassVar[list[AnyField]] = [
        ByteEnumField("opcode", Opcode.DATA, {opcode: opcode.name.lower() for opcode in Opcode}),
        FlagsField("flags", 0, 8, ["ack_now", "retransmission", "without_credit"]),
        ShortField("src_q", 0),
        ShortField("dst_q", 0),
        ThreeBytesField("psn", 0),
        ThreeBytesField("ack_psn", 0),
    ]


class MOH(Packet):
    """Memory operation header, 12 bytes, this testbed's own; data or operands follow.

    `length` counts the bytes that a load reads. `address` is a byte address in the lender's memory, or the
    number of a message. `status` is the outcome in a response, 0 in a request.
    """

    name = "MOH"
    fields_desc: ClassVar[list[AnyField]] = [
        ByteEnumField("operation", Operation.LOAD, {item: item.name.lower() for item in Operation}),
        ByteEnumField("status", Status.DONE, {item: item.name.lower() for item in Status}),
        ShortField("length", 0),
        XLongField("address", 0),
    ]


class RDH(Packet):
    """Reduction header, 12 bytes, this testbed's own; if `filled` is set, 256 bytes of values follow.

    Switches of tree number `tree` combine the values of block number `block` from all leaves. A value has 32
    bits, or 64 if `wide` is set, most significant byte first. `owner` is the leaf whose result frames carry
    values, 0xFFFF for every leaf; other leaves get the header alone. `scale` in a result is the largest scale
    that a leaf sent. `wrapped` marks a sum that overflowed.
    """

    name = "RDH"
    fields_desc: ClassVar[list[AnyField]] = [
        BitEnumField("kind", 0, 4, {item: item.name.lower() for item in ReductionKind}),
        BitEnumField("operation", 0, 3, {item: item.name.lower() for item in Combining}),
        BitField("wide", 0, 1),
        BitField("filled", 0, 1),
        BitField("wrapped", 0, 1),
        BitField("rsv", 0, 6),
        ShortField("tree", 0),
        XShortField("owner", 0xFFFF),
        ShortField("scale", 0),
        IntField("block", 1),
    ]


class SACK(Packet):
    """Payload of an acknowledgement, 8 bytes, this testbed's own.

    The payload is a bitmap. Bit i, counted from the lowest, is set if PSN ack_psn + 1 + 4 s + i has been
    received; s is the high byte of `psn`, 0 for windows of up to 64 frames. In a frame with opcode CREDIT the
    payload is a number: all bytes that the receiver has granted so far.
    """

    name = "SACK"
    fields_desc: ClassVar[list[AnyField]] = [XLongField("bitmap", 0)]


class CLH(Packet):
    """Collective header, 16 bytes, this testbed's own.

    offset and length are the position of the data in the receiver's array, in bytes.
    """

    name = "CLH"
    fields_desc: ClassVar[list[AnyField]] = [
        ShortField("job", 0),
        ByteEnumField("op", Combine.REDUCE, {op: op.name.lower() for op in Combine}),
        ByteEnumField("dtype", ElementType.INT32, {kind: kind.name.lower() for kind in ElementType}),
        ShortField("step", 0),
        ShortField("chunk", 0),
        IntField("offset", 0),
        IntField("length", 0),
    ]


NOTICE_STATES: Final = (
    "down",
    "up",
    "hello",
    "hello, heard",
    "watch",
    "acknowledged",
    "watch acknowledged",
)


class LinkNotice(Packet):
    """Payload of a management packet, 12 bytes, this testbed's own.

    The packet concerns the link between ports a and b. There are four kinds:

    - a report that the link is up or down: origin is the CNA of the node that detected the change, and
      sequence counts the reports of this node;
    - a hello from a to b: origin is a, sequence is 0, and state "heard" means that a hears b;
    - a watch, which subscribes to the link's state: origin is the subscriber, and sequence is 0;
    - a confirmation: state "acknowledged" confirms a report and repeats its sequence, state "watch
      acknowledged" confirms a watch; origin is the confirming node.
    """

    name = "LinkNotice"
    fields_desc: ClassVar[list[AnyField]] = [
        ByteField("version", 1),
        ByteEnumField("state", 0, dict(enumerate(NOTICE_STATES))),
        ShortField("sequence", 0),
        XShortField("cna_a", 0),
        ByteField("port_a", 0),
        XShortField("cna_b", 0),
        ByteField("port_b", 0),
        XShortField("origin", 0),
    ]


bind_layers(Ether, LPH, type=ETHERTYPE)
bind_layers(LPH, NTH, cfg=CFG_CNA16)
bind_layers(LPH, SRH, cfg=CFG_SOURCE_ROUTE)
bind_layers(SRH, NTH)
bind_layers(NTH, TPH, mgmt=0, nlp=0)
bind_layers(NTH, RDH, mgmt=0, nlp=NLP_REDUCTION)
bind_layers(NTH, LinkNotice, mgmt=1)
bind_layers(TPH, CLH, opcode=Opcode.DATA)
bind_layers(TPH, SACK, opcode=Opcode.ACK)
bind_layers(TPH, SACK, opcode=Opcode.NACK)
bind_layers(TPH, SACK, opcode=Opcode.CREDIT)
bind_layers(TPH, MOH, opcode=Opcode.REQUEST)
bind_layers(TPH, MOH, opcode=Opcode.RESPONSE)
bind_layers(LPH, NTH24, cfg=CFG_CNA24)
bind_layers(LPH, SRH24, cfg=CFG_SOURCE_ROUTE_CNA24)
bind_layers(SRH24, NTH24)
bind_layers(NTH24, RTPH, mgmt=0, nlp=2)
bind_layers(NTH24, LinkNotice, mgmt=1, nlp=0)
bind_layers(RTPH, CLH, nlp=NextHeader.CLH)
bind_layers(RTPH, SACK, nlp=NextHeader.SACK)
bind_layers(RTPH, SACK, nlp=NextHeader.CREDIT)
bind_layers(RTPH, MOH, nlp=NextHeader.REQUEST)
bind_layers(RTPH, MOH, nlp=NextHeader.RESPONSE)

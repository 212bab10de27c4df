# SPDX-License-Identifier: Apache-2.0
"""CNA24 and reliable transport headers against OpenURMA's own encoder and decoder.

`pytest --openurma CHECKOUT` takes the statements that write and read both headers out of the elements
UB_Eth_Encap and UB_Eth_Decap of bojieli/OpenURMA, compiles them with its ub_flit.hpp, and compares the bytes
and fields of random headers with those of the Scapy layers. The element framework that the elements are
written for is not part of that repository: a flit is an array of words here.
"""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from emulation.traffic.frames.layers import NTH24, RTPH, Ether

HEADERS = 20_000
BY_SCAPY = 1_000  # Scapy takes a millisecond a header; all others are packed by the layers' widths
ELEMENTS = "elements/protocols/ub"

# Fields that OpenURMA's metadata has, in the order of its accessors: accessor, layer, field, bits.
FIELDS = (
    ("scna", NTH24, "scna", 24),
    ("dcna", NTH24, "dcna", 24),
    ("lbf", NTH24, "lb", 8),
    ("sl", NTH24, "sl", 4),
    ("nth_nlp", NTH24, "nlp", 3),
    ("tp_opcode", RTPH, "last opcode", 8),
    ("tp_ver", RTPH, "ver", 2),
    ("padding", RTPH, "pad", 2),
    ("rtph_nlp", RTPH, "nlp", 4),
    ("src_tpn", RTPH, "src_tpn", 24),
    ("dst_tpn", RTPH, "dst_tpn", 24),
    ("a_flag", RTPH, "a", 1),
    ("f_flag", RTPH, "f", 1),
    ("psn", RTPH, "psn", 24),
    ("rspst", RTPH, "rspst", 3),
    ("rspinfo", RTPH, "rspinfo", 5),
    ("tpmsn", RTPH, "tpmsn", 24),
)
# The decoder's name of each of these fields.
READ = (
    *("scna", "dcna", "lbf", "sl", "nlp", "tpop", "tpver", "pad", "rtph_nlp", "srctpn", "dsttpn", "aflag"),
    *("fflag", "psn", "rspst", "rspinfo", "tpmsn"),
)
UTP = 3  # nlp of packets without a reliable transport header
SIZE = 12 + 16
AT = 14  # behind the Ethernet header


def _between(text: str, first: str, last: str) -> str:
    start = text.index(first)
    return text[start : text.index(last, start)]


def _compiled(checkout: Path, folder: Path) -> ctypes.CDLL:
    encoder = (checkout / ELEMENTS / "UB_Eth_Encap.clnp").read_text()
    decoder = (checkout / ELEMENTS / "UB_Eth_Decap.clnp").read_text()
    written = _between(encoder, "// NTH 24-bit CNA", "// BTAH/ATAH (16 B")
    read = _between(decoder, "const uint8_t* n = ", "const uint8_t* b = ")
    (folder / "openclicknp").mkdir()
    (folder / "openclicknp" / "flit.hpp").write_text("""
        #pragma once
        #include <cstdint>
        namespace openclicknp {
        struct flit_t {
            uint64_t words[8] = {};
            uint64_t get(int lane) const { return words[lane]; }
            void set(int lane, uint64_t word) { words[lane] = word; }
        };
        }""")
    setters = "\n".join(f"m.set_{accessor}(*rows++);" for accessor, *_ in FIELDS)
    reads = "\n".join(f"*rows++ = {name};" for name in READ)
    program, library = folder / "headers.cpp", folder / "headers.so"
    program.write_text(f"""
        #include <cstring>
        #include "openurma/ub_flit.hpp"
        extern "C" void fill(long count, const uint32_t* rows, uint8_t* out) {{
            for (long i = 0; i < count; i++, out += {SIZE}) {{
                openurma::ub_meta m;
                {setters}
                uint8_t w[{AT + SIZE}];
                {written}
                std::memcpy(out, w + {AT}, {SIZE});
            }}
        }}
        extern "C" void read(long count, const uint8_t* in, uint32_t* rows) {{
            struct {{ uint8_t hdrbuf[{AT + SIZE}]; }} _state;
            for (long i = 0; i < count; i++, in += {SIZE}) {{
                std::memcpy(_state.hdrbuf + {AT}, in, {SIZE});
                {read}
                {reads}
            }}
        }}""")
    includes = [f"-I{folder}", f"-I{checkout / 'runtime/openurma/include'}"]
    subprocess.run(["c++", "-std=c++17", "-shared", "-fPIC", *includes, "-o", library, program], check=True)
    return ctypes.CDLL(str(library))


def _values(row: list[int]) -> dict[type, dict[str, int]]:
    values: dict[type, dict[str, int]] = {NTH24: {}, RTPH: {}}
    for (_, layer, names, bits), value in zip(FIELDS, row, strict=True):
        first, *rest = names.split()
        if rest:
            values[layer] |= {first: value >> bits - 1, rest[0]: value & (1 << bits - 1) - 1}
        else:
            values[layer][first] = value
    return values


def _packed(layer: type, values: dict[str, int]) -> bytes:
    """Pack values by the widths of a layer's fields, most significant first; other fields are 0."""
    total, size = 0, 0
    for field in layer.fields_desc:
        width = getattr(field, "size", 0) or 8 * int(field.sz)
        total, size = total << width | values.get(field.name, 0), size + width
    return total.to_bytes(size // 8)


def test_headers_of_openurma(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    checkout = request.config.getoption("--openurma")
    if checkout is None:
        pytest.skip("needs a checkout of bojieli/OpenURMA: --openurma FOLDER")
    if shutil.which("c++") is None:
        pytest.skip("needs a C++ compiler")
    compiled = _compiled(Path(checkout), tmp_path)
    random = np.random.default_rng(1)
    rows = np.stack([random.integers(0, 1 << bits, HEADERS, np.uint32) for *_, bits in FIELDS], axis=1)
    nlp = [accessor for accessor, *_ in FIELDS].index("nth_nlp")
    rows[rows[:, nlp] == UTP, nlp] = 2
    pointer = ctypes.c_void_p
    theirs = np.zeros((HEADERS, SIZE), np.uint8)
    compiled.fill(ctypes.c_long(HEADERS), pointer(rows.ctypes.data), pointer(theirs.ctypes.data))
    ours = np.zeros_like(theirs)
    for number, row in enumerate(rows.tolist()):
        values = _values(row)
        packed = b"".join(_packed(layer, chosen) for layer, chosen in values.items())
        assert packed == theirs[number].tobytes(), values
        if number < BY_SCAPY:
            assert bytes(NTH24(**values[NTH24]) / RTPH(**values[RTPH])) == packed, values
        ours[number] = np.frombuffer(packed, np.uint8)
    again = np.zeros_like(rows)
    compiled.read(ctypes.c_long(HEADERS), pointer(ours.ctypes.data), pointer(again.ctypes.data))
    assert (again == rows).all()


def test_a_frame_of_a_run_is_read_by_openurma(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """OpenURMA knows no link header: its decoder reads the packet behind ours."""
    checkout = request.config.getoption("--openurma")
    if checkout is None or shutil.which("c++") is None:
        pytest.skip("needs a checkout of bojieli/OpenURMA and a C++ compiler: --openurma FOLDER")
    from emulation._engine import to_cna24
    from tests.oracle.codec import DataWriter

    compiled = _compiled(Path(checkout), tmp_path)
    writer = DataWriter(scna=0x1234, dcna=0x2345, src_q=3, dst_q=4, job=1, dtype=1, lb_mode=1, level=2)
    frame = to_cna24(writer.frame(7, 1, 0xABCDEF, 1, 0, 0, 0, bytes(8)))
    packet = np.frombuffer(frame[AT + 4 : AT + 4 + SIZE], np.uint8).copy()
    row = np.zeros(len(FIELDS), np.uint32)
    pointer = ctypes.c_void_p
    compiled.read(ctypes.c_long(1), pointer(packet.ctypes.data), pointer(row.ctypes.data))
    read = dict(zip(READ, row.tolist(), strict=True))
    assert read["scna"] == 0x1234
    assert read["dcna"] == 0x2345
    assert (read["lbf"], read["sl"], read["nlp"]) == (7, 2, 2)
    assert read["tpop"] == 0x81  # the last packet of its transaction, reliable
    assert (read["srctpn"], read["dsttpn"], read["psn"]) == (3, 4, 0xABCDEF)
    assert read["aflag"] == 1
    assert Ether(frame)[RTPH].psn == 0xABCDEF

# SPDX-License-Identifier: Apache-2.0
"""LPH and NTH against the structs of the vendor's kernel driver for UnifiedBus.

The driver is in openEuler's kernel, folder drivers/ub/ubus. Its msg.h declares the link header and the
compact network header. `pytest --ub-driver FOLDER` compiles both structs, fills them with random fields, and
compares the bytes with those of the Scapy layers.
"""

import ctypes
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from emulation.traffic.frames.layers import LPH, NTH

HEADERS = 100_000
BY_SCAPY = 2_000  # Scapy takes a millisecond a header; all others are packed by the layer's widths

# Fields of the driver's struct, in its order, and the fields of our layer: the driver's rt has two of ours.
LINK = {
    "plen": "length",
    "rt": "lb_mode rt",
    "cfg": "cfg",
    "rsvd1": "rsv1",
    "vl": "vl",
    "rsvd0": "rsv0",
    "crd_vl": "credit_vl",
    "ack": "ack",
    "crd": "credit",
}
NETWORK = {
    "dcna": "dcna",
    "scna": "scna",
    "nth_nlp": "nlp",
    "mgmt": "mgmt",
    "sl": "sl",
    "lb": "lb",
    "cc": "cc",
}


def _theirs(driver: Path, struct: str, fields: Sequence[str], rows: np.ndarray, folder: Path) -> np.ndarray:
    """Return the headers that the driver's struct gives for rows of fields; 32-bit words go big-endian."""
    declaration = re.search(rf"struct {struct} \{{.*?\n\}};", (driver / "msg.h").read_text(), re.DOTALL)
    assert declaration, f"msg.h has no struct {struct}"
    program, library = folder / "headers.c", folder / "headers.so"
    assignments = "\n".join(f"header.{name} = *rows++;" for name in fields)
    program.write_text(f"""
        #include <arpa/inet.h>
        #include <stdint.h>
        #include <string.h>
        typedef uint32_t u32;
        {declaration[0]}
        enum {{ WORDS = sizeof(struct {struct}) / 4 }};
        int words(void) {{ return WORDS; }}
        void fill(long count, const u32 *rows, u32 *out) {{
            for (long i = 0; i < count; i++) {{
                struct {struct} header = {{0}};
                u32 parts[WORDS];
                {assignments}
                memcpy(parts, &header, sizeof header);
                for (int word = 0; word < WORDS; word++) *out++ = htonl(parts[word]);
            }}
        }}""")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, program], check=True)
    compiled = ctypes.CDLL(str(library))
    headers = np.zeros((len(rows), compiled.words()), np.uint32)
    compiled.fill(
        ctypes.c_long(len(rows)), *(array.ctypes.data_as(ctypes.c_void_p) for array in (rows, headers))
    )
    return headers


def _widths(layer: type[LPH] | type[NTH]) -> dict[str, int]:
    return {field.name: getattr(field, "size", 8 * int(field.sz)) for field in layer.fields_desc}


def _random(fields: dict[str, str], widths: dict[str, int], random: np.random.Generator) -> np.ndarray:
    bits = [sum(widths[name] for name in ours.split()) for ours in fields.values()]
    return np.stack([random.integers(0, 1 << width, HEADERS, dtype=np.uint32) for width in bits], axis=1)


def _ours(fields: dict[str, str], widths: dict[str, int], row: np.ndarray) -> dict[str, int]:
    values = {}
    for theirs, value in zip(fields.values(), row.tolist(), strict=True):
        for name in reversed(theirs.split()):
            values[name] = value & (1 << widths[name]) - 1
            value >>= widths[name]
    return values


def _packed(layer: type[LPH] | type[NTH], values: dict[str, int]) -> bytes:
    """Pack values by the widths of a layer's fields, most significant first."""
    total, size = 0, 0
    for name, width in _widths(layer).items():
        total, size = total << width | values[name], size + width
    return total.to_bytes(size // 8, "big")


@pytest.mark.parametrize(
    ("layer", "struct", "fields"),
    [(LPH, "ub_link_header", LINK), (NTH, "compact_network_header", NETWORK)],
    ids=["link header", "network header"],
)
def test_headers_of_the_vendors_driver(
    layer: type[LPH] | type[NTH],
    struct: str,
    fields: dict[str, str],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    driver = request.config.getoption("--ub-driver")
    if driver is None:
        pytest.skip("needs drivers/ub/ubus of openEuler's kernel: --ub-driver FOLDER")
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    widths = _widths(layer)
    rows = _random(fields, widths, np.random.default_rng(1))
    theirs = _theirs(Path(driver), struct, list(fields), rows, tmp_path)
    for number, (row, header) in enumerate(zip(rows, theirs, strict=True)):
        values = _ours(fields, widths, row)
        assert _packed(layer, values) == header.tobytes(), values
        if number < BY_SCAPY:
            assert bytes(layer(**values)) == header.tobytes(), values

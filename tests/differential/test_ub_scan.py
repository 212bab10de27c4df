# SPDX-License-Identifier: Apache-2.0
"""The scan program on the engine and on BMv2; requests and answers in the structs of the vendor's driver.

`pytest --ub-driver drivers/ub/ubus` compiles enum.h and the functions of enum.c that write a path, from
openEuler's kernel, and compares the bytes of random requests; the driver's structs then read random answers.
"""

import ctypes
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from controller import CPU_PORT
from controller.discovery import Hops, guid_of, read_answer, request, scan_entries
from emulation.embedded.testbed import EmbeddedTestbed
from harness.run.boot import filled, read_program
from tests.differential.differential import Differential, Frame
from topologies import full_mesh

MESH = full_mesh((8, 8))
NODE = MESH.nodes[9]
PORTS = len(NODE.ports) - 1
REQUESTS = 2_000


def random_request(random: Random) -> tuple[int, list[int], list[int], Hops]:
    hops = random.choice([*Hops])
    count = random.randint(0, hops.most)
    path, back = ([random.randrange(min(1 << hops.bits, 300)) for _ in range(count)] for _ in range(2))
    return random.randrange(1 << 16), path, back, hops


def at_step(frame: bytes, step: int) -> bytes:
    return frame[:33] + bytes([step]) + frame[34:]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Differential]:
    entries = scan_entries(MESH)[NODE.name]
    directory = tmp_path_factory.mktemp("bmv2")
    with Differential(read_program("ub_scan"), entries, ports=range(PORTS + 1), directory=directory) as pair:
        yield pair


def frames_of(random: Random, count: int) -> list[Frame]:
    frames = []
    for _ in range(count):
        number, path, back, hops = random_request(random)
        step = random.choice([0, len(path), random.randint(0, min(255, len(path) + 2))])
        frame = at_step(request(number, path, back, hops), step)
        if random.random() < 0.3:  # a bit of the headers behind Ethernet is wrong
            place = random.randrange(14, 34)
            frame = frame[:place] + bytes([frame[place] ^ 1 << random.randrange(8)]) + frame[place + 1 :]
        if random.random() < 0.2:
            frame = frame[: random.randrange(14, len(frame))]
        frames.append((random.randint(0, PORTS), frame))
    return frames


@pytest.mark.bmv2
@pytest.mark.parametrize("seed", range(4))
def test_random_scans_on_both_switches(pair: Differential, seed: int) -> None:
    assert pair.differences(frames_of(Random(seed), 400)) == []


@pytest.mark.bmv2
def test_the_root_and_its_controller(pair: Differential) -> None:
    asked = [(CPU_PORT, bytes(2) + request(number, [], [])) for number in range(5)]
    sent = [(CPU_PORT, bytes(2) + request(9, [port], [0])) for port in range(1, PORTS + 1)]
    assert pair.differences([*asked, *sent]) == []


@pytest.fixture(scope="module")
def driver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = request.config.getoption("--ub-driver")
    if folder is None:
        pytest.skip("needs drivers/ub/ubus of openEuler's kernel: --ub-driver FOLDER")
    if shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    return compiled(Path(folder), tmp_path_factory.mktemp("driver"))


def compiled(driver: Path, folder: Path) -> ctypes.CDLL:
    """Compile the driver's structs and path functions, and wrappers that fill and read them."""
    headers = (driver / "msg.h").read_text() + (driver / "enum.h").read_text()
    source = (driver / "enum.c").read_text()
    structs = [
        "ub_link_header",
        "compact_network_header",
        "enum_pkt_header",
        "enum_pld_scan_header",
        "enum_pld_scan_pdu_common",
        "enum_tlv_common",
        "enum_tlv_port_num",
        "enum_tlv_cap_info",
        "enum_tlv_port_info",
    ]
    patterns = [
        *(rf"^struct {name} \{{.*?^\}};" for name in structs),
        *(rf"^enum {name} \{{.*?^\}};" for name in ("enum_cmd", "enum_tlv_type", "enum_hop_type")),
        r"^#define UB_COMPACT_LINK_CFG.*?$",
        *(rf"^static \w+ {name}\(.*?^\}}" for name in ("calc_forward_path_size", "set_hop_path")),
    ]
    parts = [re.search(pattern, headers + source, re.DOTALL | re.MULTILINE) for pattern in patterns]
    assert all(parts), "msg.h, enum.h or enum.c lack a struct or function of the scan"
    text = "\n".join(part[0] for part in parts if part)
    program, library = folder / "scan.c", folder / "scan.so"
    program.write_text(f"""
        #include <arpa/inet.h>
        #include <stddef.h>
        #include <stdint.h>
        #include <string.h>
        typedef uint8_t u8; typedef uint16_t u16; typedef uint32_t u32;
        typedef struct {{ u8 b[16]; }} guid_t;
        #define SZ_2 2
        #define SZ_4 4
        #define SZ_8 8
        #define SZ_16 16
        #define ALIGN(x, a) (((x) + (a) - 1) / (a) * (a))
        #define GENMASK(high, low) (((1u << ((high) - (low) + 1)) - 1) << (low))
        {text}
        static void swap(u8 *bytes, long size) {{
            for (long at = 0; at < size; at += 4) {{
                u32 word;
                memcpy(&word, bytes + at, 4);
                word = htonl(word);
                memcpy(bytes + at, &word, 4);
            }}
        }}
        long ask(u32 number, u32 hops, u32 type, const u32 *path, const u32 *back, u8 *out) {{
            memset(out, 0, 4096);
            struct enum_pkt_header *packet = (void *)out;
            packet->ulh.cfg = UB_COMPACT_LINK_CFG;
            packet->cnth.nth_nlp = NTH_NLP_WITHOUT_TPH;
            packet->cnth.mgmt = 1;
            packet->upi = 0x7fff;
            struct enum_pld_scan_header *scan = (void *)packet->payload;
            scan->bits.hop_type = type;
            scan->bits.hops = hops;
            scan->bits.r = hops > 0;
            size_t size = calc_forward_path_size(scan);
            for (u32 i = 0; i < hops; i++) {{
                set_hop_path(scan->path, type, i, path[i]);
                set_hop_path(scan->path + size, type, i, back[i]);
            }}
            struct enum_pld_scan_pdu_common *unit = (void *)(scan->path + 2 * size);
            unit->bits.version = UB_ENUM_MNG_VERSION;
            unit->bits.cmd = ENUM_CMD_TOPO_QUERY;
            unit->bits.opcode = 1;
            unit->msn = number;
            unit->pdu_len = sizeof *unit / 4;
            long total = (u8 *)(unit + 1) - out;
            swap(out, total);
            return total;
        }}
        long answer(u8 *in, long total, u32 *out) {{
            swap(in, total);
            struct enum_pld_scan_header *scan = (void *)((struct enum_pkt_header *)in)->payload;
            struct enum_pld_scan_pdu_common *unit = (void *)(scan->path + calc_forward_path_size(scan));
            u8 *at = (u8 *)(unit + 1), *end = (u8 *)unit + unit->pdu_len * 4;
            if (end - in != total || scan->bits.r) return -1;
            *out++ = unit->bits.opcode; *out++ = unit->bits.status; *out++ = unit->msn;
            memcpy(out, &unit->guid, 16);
            out += 4;
            long seen = 0;
            while (at < end) {{
                struct enum_tlv_common *tlv = (void *)at;
                if (tlv->type == TLV_PORT_NUM) out[0] = ((struct enum_tlv_port_num *)at)->total_num_ports;
                if (tlv->type == TLV_CAP_INFO) out[1] = ((struct enum_tlv_cap_info *)at)->class_code;
                if (tlv->type == TLV_PORT_INFO) {{
                    struct enum_tlv_port_info *port = (void *)at;
                    out[2] = port->local_port_idx; out[3] = port->remote_port_idx; out[4] = port->bits0.s;
                }}
                if (tlv->len == 0) return -2;
                seen |= 1 << tlv->type;
                at += tlv->len;
            }}
            return seen;
        }}""")
    subprocess.run(["cc", "-shared", "-fPIC", "-fno-strict-aliasing", "-o", library, program], check=True)
    return ctypes.CDLL(str(library))


def test_requests_of_the_vendors_driver(driver: ctypes.CDLL) -> None:
    random = Random(1)
    buffer = ctypes.create_string_buffer(4100)
    for _ in range(REQUESTS):
        number, path, back, hops = random_request(random)
        words = ctypes.c_uint32 * max(1, len(path))
        size = driver.ask(number, len(path), int(hops), words(*path), words(*back), buffer)
        ours = bytearray(request(number, path, back, hops)[14:])
        ours[:4] = (int.from_bytes(ours[:4], "big") & 0xF << 16).to_bytes(4, "big")  # VL and length: hardware
        assert buffer.raw[:size] == ours, (number, path, back, hops)


def test_answers_in_the_structs_of_the_vendors_driver(driver: ctypes.CDLL) -> None:
    random = Random(2)
    testbed = EmbeddedTestbed(MESH)
    programs = dict.fromkeys((node.name for node in MESH.nodes), read_program("ub_scan"))
    with filled(testbed, programs, scan_entries(MESH)):
        for _ in range(REQUESTS):
            number, path, back, hops = random_request(random)
            port = random.randint(1, PORTS) if path else CPU_PORT
            frame = bytes(2 * (not path)) + at_step(request(number, path, back, hops), len(path))
            ((_, sent),) = testbed.network.process(NODE.index, port, frame)
            packet = sent[14 + 2 * (not path) :]
            out = (ctypes.c_uint32 * 16)()
            seen = driver.answer(ctypes.create_string_buffer(packet, len(packet)), len(packet), out)
            assert seen == 1 << 0 | 1 << 1 | 1 << 2 | 1 << 4  # slice, ports, port, capabilities
            opcode, status, told, *guid = out[:7]
            assert (opcode, status, told) == (0, 0, number)
            assert sum(word << 96 - 32 * place for place, word in enumerate(guid)) == guid_of(NODE)
            expected = (port, path[-1], 1) if path else (0, 0, 1)
            assert (out[7], *out[9:12]) == (PORTS, *expected)
            answer = read_answer(sent[2 * (not path) :])
            assert answer is not None
            assert (answer.number, answer.port, answer.sent_by) == (number, *expected[:2])

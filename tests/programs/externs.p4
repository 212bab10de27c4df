// SPDX-License-Identifier: Apache-2.0
// Hashes, checksums, wide registers, random numbers, log messages, assertions, loops in actions.
#include <core.p4>
#include <v1model.p4>

header input_t {
    bit<8> what;
    bit<4> odd;
    bit<12> number;
    bit<32> address;
    bit<96> wide;
    bit<16> check;
    bit<16> check_all;
}

header output_t {
    bit<16> crc16;
    bit<32> crc32;
    bit<16> csum16;
    bit<16> xor16;
    bit<64> identity;
    bit<16> based;
    bit<96> cell;
    bit<8> low;
    bit<8> total;
    bit<8> wrong;
}

struct headers_t {
    output_t result;
    input_t probe;
}

struct metadata_t {
    bit<64> identity;
}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.probe);
        transition accept;
    }
}

control TestVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.probe.isValid() && hdr.probe.what != 9, { hdr.probe.what, hdr.probe.odd, hdr.probe.number, hdr.probe.address },
                        hdr.probe.check, HashAlgorithm.csum16);
    }
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    @name("cells")
    register<bit<96>>(16) cells;

    action total(bit<8> up_to) {
        bit<8> sum = 0;
        for (bit<8> i = 1; i <= up_to; i = i + 1) {
            if (i == 5) {
                continue;
            }
            sum = sum + i;
        }
        hdr.result.total = sum;
    }
    @name("totals")
    table totals {
        key = { hdr.probe.what: exact @name("what"); }
        actions = { total; NoAction; }
        default_action = NoAction();
        const entries = {
            1: total(4);
            2: total(9);
        }
    }

    apply {
        std.egress_spec = 1;
        if (hdr.probe.isValid()) {
            hdr.result.setValid();
            hash(hdr.result.crc16, HashAlgorithm.crc16, 16w0, { hdr.probe.odd, hdr.probe.number, hdr.probe.wide }, 32w0x10000);
            hash(hdr.result.crc32, HashAlgorithm.crc32, 32w0, { hdr.probe.address, hdr.probe.odd, 4w9 }, 64w0x100000000);
            hash(hdr.result.csum16, HashAlgorithm.csum16, 16w0, { hdr.probe.address, hdr.probe.wide }, 32w0x10000);
            hash(hdr.result.xor16, HashAlgorithm.xor16, 16w0, { hdr.probe.what, hdr.probe.address }, 32w0x10000);
            hash(meta.identity, HashAlgorithm.identity, 64w0, { hdr.probe.number, hdr.probe.odd, hdr.probe.address }, 64w0xFFFFFFFFFFFFFFFF);
            hash(hdr.result.based, HashAlgorithm.crc32, 16w100, { hdr.probe.wide }, (bit<16>)hdr.probe.number);
            hdr.result.identity = meta.identity;
            bit<32> index = (bit<32>)hdr.probe.odd;
            cells.read(hdr.result.cell, index);
            cells.write(index, hdr.probe.wide);
            bit<8> drawn;
            random<bit<8>>(drawn, 10, 20);
            hdr.result.low = drawn >= 10 && drawn <= 20 ? 8w1 : 8w0;
            hdr.result.wrong = (bit<8>)std.checksum_error;
            log_msg("number {} of {}", { hdr.probe.number, hdr.probe.wide });
            assert(hdr.probe.what != 0xFE);
            totals.apply();
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {}
}

control TestUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.probe.isValid(), { hdr.probe.what, hdr.probe.odd, hdr.probe.number, hdr.probe.address }, hdr.probe.check,
                        HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.probe.isValid() && hdr.probe.what != 3, { hdr.probe.address, hdr.probe.wide }, hdr.probe.check_all,
                                     HashAlgorithm.csum16);
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;

// SPDX-License-Identifier: Apache-2.0
// The node at the end of a path answers a request with its GUID, its class, the number of its ports and the port by which
// the request came. The answer leaves by that port and follows the return path.
#ifndef ANSWER_P4
#define ANSWER_P4

#include "../refuse.p4"

// An answer without a path: 5 flits, the last with 12 bytes. A word of the path adds 4 bytes.
const bit<5> ANSWER_FLITS = 4;
const bit<5> ANSWER_TAIL = 11;
// Words of a PDU of 24 bytes with TLVs of 48 bytes.
const bit<8> ANSWER_WORDS = 18;

control Answer(inout scan_headers_t hdr, inout scan_metadata_t meta, inout standard_metadata_t std) {
    action refuse_command() {
        REFUSE(NO_ROUTE);
    }
    action identify(bit<64> guid_high, bit<64> guid_low, bit<16> class_code, bit<16> ports) {
        hdr.answer.setValid();
        hdr.answer.slice_type = 0;
        hdr.answer.slice_len = 4;
        hdr.answer.slices = 1;
        hdr.answer.slice = 0;
        hdr.answer.number_type = 1;
        hdr.answer.number_len = 8;
        hdr.answer.ports = ports;
        hdr.answer.port_tlvs = 1;
        hdr.answer.rsv0 = 0;
        hdr.answer.cap_type = 4;
        hdr.answer.cap_len = 8;
        hdr.answer.mtu = 0;
        hdr.answer.rsv1 = 0;
        hdr.answer.class_code = class_code;
        hdr.answer.port_type = 2;
        hdr.answer.port_len = 28;
        hdr.answer.flags = 0;
        hdr.answer.up = 1;
        hdr.answer.rsv2 = 0;
        hdr.answer.local_port = 0;
        hdr.answer.remote_port = 0;
        hdr.answer.max_rate = 0;
        hdr.answer.cur_rate = 0;
        hdr.answer.remote_guid_high = 0;
        hdr.answer.remote_guid_low = 0;
        hdr.pdu.guid_high = guid_high;
        hdr.pdu.guid_low = guid_low;
    }
    @name("identity")
    table identity {
        key = { hdr.pdu.cmd: exact @name("cmd"); }
        actions = { identify; @defaultonly refuse_command; }
        const default_action = refuse_command();
        size = 4;
    }

    apply {
        if (hdr.pdu.opcode != OPCODE_REQUEST) {
            REFUSE(NO_ROUTE);
        }
        identity.apply();
        if (hdr.scan.hops != 0) {
            if (hdr.scan.r == 0) {
                REFUSE(HOPS);
            }
            hdr.answer.local_port = (bit<16>)std.ingress_port;
            hdr.answer.remote_port = (bit<16>)((hdr.current.hops >> meta.shift) & meta.mask);
            // The first hop back is known here better than at the source of the request.
            hdr.back[0].hops = hdr.back[0].hops & ~meta.mask | (bit<32>)std.ingress_port & meta.mask;
            hdr.before[0].setInvalid();
            hdr.before[1].setInvalid();
            hdr.before[2].setInvalid();
            hdr.current.setInvalid();
            hdr.after[0].setInvalid();
            hdr.after[1].setInvalid();
            hdr.after[2].setInvalid();
            hdr.scan.step = 1;
            hdr.scan.r = 0;
        }
        cna_t asker = hdr.nth.scna;
        hdr.nth.scna = hdr.nth.dcna;
        hdr.nth.dcna = asker;
        hdr.pdu.opcode = OPCODE_RESPONSE;
        hdr.pdu.status = 0;
        hdr.pdu.words = ANSWER_WORDS;
        hdr.lph.blocks = 0;
        hdr.lph.flits = ANSWER_FLITS;
        hdr.lph.tail = ANSWER_TAIL + (bit<5>)(meta.words << 2);
        if (meta.words > 2) {
            hdr.lph.flits = ANSWER_FLITS + 1;
            hdr.lph.tail = hdr.lph.tail - FLIT_BYTES;
        }
        meta.egress_port = std.ingress_port;
    }
}

#endif

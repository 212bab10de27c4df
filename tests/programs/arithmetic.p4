// SPDX-License-Identifier: Apache-2.0
// Arithmetic of many widths: what a frame brings is computed with, and the results leave behind it.
#include <core.p4>
#include <v1model.p4>

header operands_t {
    bit<8> narrow_a;
    bit<8> narrow_b;
    bit<13> odd_a;
    bit<3> odd_b;
    bit<64> word_a;
    bit<64> word_b;
    bit<128> wide_a;
    bit<128> wide_b;
    int<8> signed_a;
    int<8> signed_b;
    int<72> signed_wide_a;
    int<72> signed_wide_b;
    bit<8> by;
}

header narrow_t {
    bit<8> sum;
    bit<8> difference;
    bit<8> product;
    bit<8> saturated_sum;
    bit<8> saturated_difference;
    bit<8> complement;
    bit<8> negative;
    bit<16> concatenated;
    bit<4> slice;
    bit<13> odd_sum;
    bit<7> flags;
    bit<8> chosen;
}

header word_t {
    bit<64> sum;
    bit<64> difference;
    bit<64> product;
    bit<64> left;
    bit<64> right;
    bit<64> saturated_sum;
    bit<64> saturated_difference;
    bit<64> mixed;
    bit<8> flags;
}

header wide_t {
    bit<128> sum;
    bit<128> difference;
    bit<128> product;
    bit<128> left;
    bit<128> right;
    bit<128> mixed;
    bit<128> saturated_sum;
    bit<128> saturated_difference;
    bit<136> concatenated;
    bit<8> flags;
    bit<64> slice;
}

header signed_t {
    int<8> sum;
    int<8> difference;
    int<8> product;
    int<8> saturated_sum;
    int<8> saturated_difference;
    int<8> right;
    int<8> left;
    int<16> extended;
    bit<8> cast;
    int<72> wide_sum;
    int<72> wide_difference;
    int<72> wide_product;
    int<72> wide_right;
    int<72> wide_saturated;
    bit<8> flags;
}

struct headers_t {
    operands_t operands;
    narrow_t narrow;
    word_t word;
    wide_t wide;
    signed_t signed;
}

struct metadata_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.operands);
        transition accept;
    }
}

control TestVerify(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    action narrow(in operands_t o) {
        hdr.narrow.setValid();
        hdr.narrow.sum = o.narrow_a + o.narrow_b;
        hdr.narrow.difference = o.narrow_a - o.narrow_b;
        hdr.narrow.product = o.narrow_a * o.narrow_b;
        hdr.narrow.saturated_sum = o.narrow_a |+| o.narrow_b;
        hdr.narrow.saturated_difference = o.narrow_a |-| o.narrow_b;
        hdr.narrow.complement = ~o.narrow_a;
        hdr.narrow.negative = -o.narrow_a;
        hdr.narrow.concatenated = o.narrow_a ++ o.narrow_b;
        hdr.narrow.slice = o.narrow_a[6:3];
        hdr.narrow.odd_sum = o.odd_a + (bit<13>)o.odd_b;
        hdr.narrow.flags = (bit<1>)(o.narrow_a == o.narrow_b) ++ (bit<1>)(o.narrow_a < o.narrow_b) ++
                           (bit<1>)(o.narrow_a >= o.narrow_b) ++ (bit<1>)(o.odd_b > 3 && o.odd_a != 7) ++
                           (bit<1>)(o.odd_b > 3 || o.odd_a != 7) ++ o.odd_a[12:12] ++ o.odd_b[1:1];
        hdr.narrow.chosen = o.narrow_a > o.narrow_b ? o.narrow_a : o.narrow_b;
    }
    action word(in operands_t o) {
        hdr.word.setValid();
        hdr.word.sum = o.word_a + o.word_b;
        hdr.word.difference = o.word_a - o.word_b;
        hdr.word.product = o.word_a * o.word_b;
        hdr.word.left = o.word_a << o.by;
        hdr.word.right = o.word_a >> o.by;
        hdr.word.saturated_sum = o.word_a |+| o.word_b;
        hdr.word.saturated_difference = o.word_a |-| o.word_b;
        hdr.word.mixed = (o.word_a & ~o.word_b) ^ ((o.word_a | 64w0xFF00FF00FF00FF00) >> 3);
        hdr.word.flags = (bit<1>)(o.word_a == o.word_b) ++ (bit<1>)(o.word_a < o.word_b) ++
                         (bit<1>)(o.word_a + o.word_b < o.word_a) ++ (bit<1>)(o.word_a - o.word_b > o.word_a) ++ 4w5;
    }
    action wide(in operands_t o) {
        hdr.wide.setValid();
        hdr.wide.sum = o.wide_a + o.wide_b;
        hdr.wide.difference = o.wide_a - o.wide_b;
        hdr.wide.product = o.wide_a * o.wide_b;
        hdr.wide.left = o.wide_a << o.by;
        hdr.wide.right = o.wide_a >> o.by;
        hdr.wide.mixed = (o.wide_a & ~o.wide_b) ^ (o.wide_b | 128w0xF0F0F0F0F0F0F0F0F0F0F0F0F0F0F0F0);
        hdr.wide.saturated_sum = o.wide_a |+| o.wide_b;
        hdr.wide.saturated_difference = o.wide_a |-| o.wide_b;
        hdr.wide.concatenated = o.wide_a[127:60] ++ o.wide_b[67:0];
        hdr.wide.flags = (bit<1>)(o.wide_a == o.wide_b) ++ (bit<1>)(o.wide_a < o.wide_b) ++
                         (bit<1>)(o.wide_a >= o.wide_b) ++ (bit<1>)(o.wide_a[63:0] == o.word_a) ++ 4w3;
        hdr.wide.slice = o.wide_a[100:37];
    }
    action signed(in operands_t o) {
        hdr.signed.setValid();
        hdr.signed.sum = o.signed_a + o.signed_b;
        hdr.signed.difference = o.signed_a - o.signed_b;
        hdr.signed.product = o.signed_a * o.signed_b;
        hdr.signed.saturated_sum = o.signed_a |+| o.signed_b;
        hdr.signed.saturated_difference = o.signed_a |-| o.signed_b;
        hdr.signed.right = o.signed_a >> 2;
        hdr.signed.left = o.signed_a << 3;
        hdr.signed.extended = (int<16>)o.signed_a;
        hdr.signed.cast = (bit<8>)(o.signed_a >> 1);
        hdr.signed.wide_sum = o.signed_wide_a + o.signed_wide_b;
        hdr.signed.wide_difference = o.signed_wide_a - o.signed_wide_b;
        hdr.signed.wide_product = o.signed_wide_a * o.signed_wide_b;
        hdr.signed.wide_right = o.signed_wide_a >> 5;
        hdr.signed.wide_saturated = o.signed_wide_a |+| o.signed_wide_b;
        hdr.signed.flags = (bit<1>)(o.signed_a < o.signed_b) ++ (bit<1>)(o.signed_a >= 0) ++
                           (bit<1>)(o.signed_wide_a < o.signed_wide_b) ++ (bit<1>)(o.signed_wide_a == o.signed_wide_b) ++
                           (bit<1>)((int<72>)o.signed_a > o.signed_wide_b) ++ 3w1;
    }
    apply {
        std.egress_spec = 1;
        if (hdr.operands.isValid()) {
            narrow(hdr.operands);
            word(hdr.operands);
            wide(hdr.operands);
            signed(hdr.operands);
        }
    }
}

control TestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {}
}

control TestUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;

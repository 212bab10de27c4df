// SPDX-License-Identifier: Apache-2.0
#include "include/frame.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    counter(4, CounterType.packets) in_packets;
    counter(4, CounterType.bytes) in_bytes;
    counter(4, CounterType.packets_and_bytes) in_both;
    direct_counter(CounterType.packets_and_bytes) of_entry;

    action answered(bit<32> value) {
        of_entry.count();
        hdr.probe.result = value;
    }
    table answers {
        key = { hdr.probe.small: exact @name("small"); }
        actions = { answered; NoAction; }
        default_action = NoAction();
        counters = of_entry;
    }

    apply {
        std.egress_spec = 1;
        bit<32> index = (bit<32>)hdr.probe.what;
        in_packets.count(index);
        in_bytes.count(index);
        in_both.count(index);
        answers.apply();
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;

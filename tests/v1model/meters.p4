// SPDX-License-Identifier: Apache-2.0
#include "include/frame.p4"

control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    meter(4, MeterType.packets) in_packets;
    meter(4, MeterType.bytes) in_bytes;
    direct_meter<bit<8>>(MeterType.packets) of_entry;

    action metered() {
        of_entry.read(meta.kept);
    }
    table entries {
        key = { hdr.probe.small: exact @name("small"); }
        actions = { metered; }
        meters = of_entry;
    }

    apply {
        std.egress_spec = 1;
        bit<32> index = (bit<32>)hdr.probe.what;
        bit<8> packets;
        bit<16> bytes;
        in_packets.execute_meter(index, packets);
        in_bytes.execute_meter(index, bytes);
        meta.kept = 7;
        entries.apply();
        hdr.probe.number = bytes;
        hdr.probe.result = packets ++ meta.kept ++ 16w0;
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;

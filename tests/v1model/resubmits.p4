// SPDX-License-Identifier: Apache-2.0
#include "include/frame.p4"

// A frame with what = 1 is resubmitted once, before its changes count.
control TestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 1;
        if (std.instance_type != 0) {
            hdr.probe.small = (bit<8>)std.instance_type;
            hdr.probe.number = meta.kept ++ meta.lost;
        } else if (hdr.probe.what == 1) {
            meta.kept = 5;
            meta.lost = 6;
            hdr.probe.result = 1;
            resubmit_preserving_field_list(1);
        }
    }
}

V1Switch(TestParser(), TestVerify(), TestIngress(), TestEgress(), TestUpdate(), TestDeparser()) main;

// SPDX-License-Identifier: Apache-2.0
// PXN: a GPU reaches another rail by way of its neighbour on that rail (Rail-only, routing). For a destination in
// another domain its rank names the port: the own NIC when this GPU has that rank, else the way over the
// high-bandwidth domain to the local GPU that has it. That one finds its own NIC in the same table.
#ifndef PXN_P4
#define PXN_P4

control Pxn(inout headers_t hdr, inout metadata_t meta) {
    action set_ranks(bit<16> base, bit<8> shift, bit<16> mask) {
        meta.index = base + ((hdr.nth.dcna >> shift) & mask);
    }
    // The destination is here, or reached without a neighbour's NIC.
    action no_pxn() { }
    @name("pxn_segment")
    table pxn_segment {
        key = { hdr.nth.dcna: lpm @name("dcna"); }
        actions = { set_ranks; no_pxn; }
        const default_action = no_pxn();
        size = PXN_SEGMENT_SIZE;
    }

    action set_neighbour(port_t port) {
        meta.egress_port = port;
        meta.decided = true;
    }
    @name("pxn")
    table pxn {
        key = { meta.index: exact @name("index"); }
        actions = { set_neighbour; NoAction; }
        const default_action = NoAction();
        size = PXN_SIZE;
    }

    apply {
        switch (pxn_segment.apply().action_run) {
            set_ranks: { pxn.apply(); }
        }
    }
}

#endif

// SPDX-License-Identifier: Apache-2.0
#ifndef COUNTERS_P4
#define COUNTERS_P4

// Counts packets and bytes sent, by port and VL: index = port * 4 + VL; data of every class count as data of class 0.
control CountTransmit(in metadata_t meta, in standard_metadata_t std) {
    @name("tx_by_port_vl")
    counter(PORT_VL_COUNTERS, CounterType.packets_and_bytes) tx_by_port_vl;

    apply {
        tx_by_port_vl.count((bit<32>)(std.egress_port ++ meta.turn_vl[1:0]));
    }
}

#endif

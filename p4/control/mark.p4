// SPDX-License-Identifier: Apache-2.0
// Congestion marks. A frame whose sender takes marks is marked if, when it leaves its queue, at least as many
// frames of the port wait behind it as the controller has set for the port.
#ifndef MARK_P4
#define MARK_P4

// NTH.cc: the upper three bits are the mode, in mode FECN the lower two the mark (UnifiedBus, as ns-3-UB models it).
// The codes of the mark are this testbed's.
const bit<3> CC_FECN = 4;
const bit<2> FECN_NONE = 0;        // the sender takes no marks
const bit<2> FECN_CONGESTION = 3;

control Mark(inout headers_t hdr, in standard_metadata_t std) {
    bit<19> threshold = 0;

    @name("mark_from")
    action mark_from(bit<19> frames) {
        threshold = frames;
    }

    @name("congestion")
    table congestion {
        key = { std.egress_port : exact @name("egress_port"); }
        actions = { mark_from; @defaultonly NoAction; }
        default_action = NoAction();
        size = PORT_SIZE;
    }

    apply {
        if (hdr.nth.isValid() && hdr.nth.cc[15:13] == CC_FECN && hdr.nth.cc[1:0] != FECN_NONE) {
            if (congestion.apply().hit && std.deq_qdepth >= threshold) {
                hdr.nth.cc[1:0] = FECN_CONGESTION;
            }
        }
    }
}

#endif

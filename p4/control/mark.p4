// SPDX-License-Identifier: Apache-2.0
// Congestion marks. A frame whose sender takes marks is marked if, when it leaves its queue, at least as many
// frames of the port wait behind it as the controller has set for the port; or between two depths with a probability
// that grows from 0 to a share, and above the second depth always.
#ifndef MARK_P4
#define MARK_P4

// NTH.cc: the upper three bits are the mode, in mode FECN the lower two the mark (UnifiedBus, as ns-3-UB models it).
// The codes of the mark are this testbed's; 0: the sender takes no marks, 2: a queue has trimmed the frame.
const bit<3> CC_FECN = 4;
const bit<2> FECN_CAPABLE = 1;
const bit<2> FECN_CONGESTION = 3;

control Mark(inout headers_t hdr, in standard_metadata_t std) {
    bit<19> low = 0;
    bit<19> high = 0;
    bit<16> share = 0;

    @name("mark_from")
    action mark_from(bit<19> frames) {
        low = frames;
        high = frames;
    }
    // The probability just below `last` frames is `part` of 65,536.
    @name("mark_between")
    action mark_between(bit<19> first, bit<19> last, bit<16> part) {
        low = first;
        high = last;
        share = part;
    }

    @name("congestion")
    table congestion {
        key = { std.egress_port : exact @name("egress_port"); }
        actions = { mark_from; mark_between; @defaultonly NoAction; }
        default_action = NoAction();
        size = PORT_SIZE;
    }

    apply {
        if (hdr.nth.isValid() && hdr.nth.cc[15:13] == CC_FECN && hdr.nth.cc[1:0] == FECN_CAPABLE) {
            if (congestion.apply().hit && std.deq_qdepth >= low) {
                if (std.deq_qdepth >= high) {
                    hdr.nth.cc[1:0] = FECN_CONGESTION;
                } else {
                    bit<16> draw;
                    random(draw, 16w0, 16w0xFFFF);
                    bit<48> span = (bit<48>)(high - low);
                    bit<48> above = (bit<48>)(std.deq_qdepth - low);
                    if ((bit<48>)draw * span < above * (bit<48>)share) {
                        hdr.nth.cc[1:0] = FECN_CONGESTION;
                    }
                }
            }
        }
    }
}

#endif

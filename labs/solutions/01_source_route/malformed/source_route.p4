// A hop of a source route. Frames without the header pass through unchanged.

// Number of bits that are set in a 12-bit word.
control CountBits(in bit<12> word, out bit<4> count) {
    apply {
        bit<12> sum = word - ((word >> 1) & 0x555);
        sum = (sum & 0x333) + ((sum >> 2) & 0x333);
        sum = sum + (sum >> 4) + (sum >> 8);
        count = sum[3:0];
    }
}

control SourceRoute(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    CountBits() count_before;
    CountBits() count_all;

    apply {
        if (hdr.srh.isValid()) {
            bit<4> instructions = 0;
            count_all.apply(hdr.srh.bitmap, instructions);
            if (hdr.srh.ptr > 11 || instructions > 6) {
                mark_to_drop(std);
                exit;
            }
            if (hdr.srh.bitmap & (12w0x800 >> hdr.srh.ptr) != 0) {
                // The bits before bit ptr that are set have used as many instructions.
                bit<4> before = 0;
                count_before.apply(hdr.srh.bitmap & ~(12w0xFFF >> hdr.srh.ptr), before);
                bit<8> shift = 40 - ((bit<8>)before << 3);
                meta.egress_port = (bit<9>)(hdr.srh.instr >> shift)[7:0];
                meta.decided = true;
            }
            hdr.srh.ptr = hdr.srh.ptr + 1;
        }
    }
}

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
    apply {
        if (hdr.srh.isValid()) {
            // Bit ptr of the bitmap, counted from the left, says who decides this hop.
            if (hdr.srh.bitmap & (12w0x800 >> hdr.srh.ptr) != 0) {
                // Instruction 0 is in bits 47 to 40, instruction 1 in bits 39 to 32 ...
                bit<8> shift = 40 - ((bit<8>)hdr.srh.ptr << 3);
                meta.egress_port = (bit<9>)(hdr.srh.instr >> shift)[7:0];
                meta.decided = true;
                hdr.srh.ptr = hdr.srh.ptr + 1;
            }
        }
    }
}

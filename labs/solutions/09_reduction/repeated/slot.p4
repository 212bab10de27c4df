// A slot adds up a block: each worker sends its values, and each gets their sum.

// Adds eight values of 32 bits that stand side by side. The topmost bit of each value is added by itself, so that
// nothing passes from a value to the next.
control Add(inout bit<256> sum, in bit<256> values) {
    apply {
        bit<128> top = 128w0x80000000800000008000000080000000;
        bit<256> tops = top ++ top;
        sum = ((sum & ~tops) + (values & ~tops)) ^ ((sum ^ values) & tops);
    }
}

control Slot(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    Add() add;

    // Four blocks are under way at a time: block b is in cell b mod 4.
    register<bit<8>>(4) workers;
    register<bit<256>>(4) sums;

    apply {
        bit<32> at = (bit<32>)(hdr.sum.block & 3);
        bit<8> have;
        bit<256> sum;
        workers.read(have, at);
        sums.read(sum, at);
        if (have == 0) {
            sum = 0;
        }
        if (have & meta.own != 0) {
            mark_to_drop(std);
            exit;
        }
        add.apply(sum, hdr.sum.values);
        have = have | meta.own;
        if (have == meta.all) {
            have = 0;
            hdr.sum.kind = RESULT;
            hdr.sum.values = sum;
            std.mcast_grp = EVERY_WORKER;
        } else {
            mark_to_drop(std);
        }
        workers.write(at, have);
        sums.write(at, sum);
    }
}

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

    // Two versions of four slots: block b is in cell b mod 8. A worker that begins block b + 8 has the result of block
    // b + 4, for which all workers had the result of block b.
    register<bit<16>>(8) blocks;
    register<bit<8>>(8) workers;
    register<bit<256>>(8) sums;

    apply {
        bit<32> at = (bit<32>)(hdr.sum.block & 7);
        bit<16> block;
        bit<8> have;
        bit<256> sum;
        blocks.read(block, at);
        workers.read(have, at);
        sums.read(sum, at);
        if (hdr.sum.block < block) {
            mark_to_drop(std);
            exit;
        }
        if (hdr.sum.block > block) {
            have = 0;
            sum = 0;
        }
        bool again = have & meta.own != 0;
        if (!again) {
            add.apply(sum, hdr.sum.values);
            have = have | meta.own;
            blocks.write(at, hdr.sum.block);
            workers.write(at, have);
            sums.write(at, sum);
        }
        if (have != meta.all) {
            mark_to_drop(std);
            exit;
        }
        hdr.sum.kind = RESULT;
        hdr.sum.values = sum;
        if (again) {
            std.egress_spec = std.ingress_port;
        } else {
            std.mcast_grp = EVERY_WORKER;
        }
    }
}

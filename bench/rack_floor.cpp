// SPDX-License-Identifier: Apache-2.0
// Processor time of a rack's AllReduce (bench.collective) that links, switches and agents cannot save: the
// additions and copies of its data, and the pushing and popping of its events.
//     c++ -O3 -mavx2 -std=c++20 -Iemulation/engine -o build/rack_floor bench/rack_floor.cpp \
//         emulation/engine/network/events/events.cpp && build/rack_floor
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>
#include <random>
#include <vector>

#include "frames/stream.h"
#include "network/events/events.h"

namespace {

// A mesh of 8 x 8 NPUs: reduce-scatter along rows, then columns; all-gather along columns, then rows.
constexpr int kSide = 8, kNpus = kSide * kSide;
constexpr std::size_t kFrameBytes = 4096, kWords = kFrameBytes / sizeof(std::uint32_t);
constexpr std::size_t kFrames = 1024, kOfRow = kFrames / kSide, kOfNpu = kOfRow / kSide;  // of an array
constexpr double kHops = 274'176;  // packet-hops of the whole collective
// Its events, and how many of them are taken to be pending at a time: one for each direction of a link.
constexpr std::uint64_t kEvents = 769'517;
constexpr std::size_t kPending = 1'024;

std::vector<std::uint32_t*> arrays;
std::vector<std::uint32_t> room(kWords);
bool streams = false;
long frames = 0;

std::uint32_t* at(int npu, std::size_t frame) { return arrays[npu] + frame * kWords; }

// Add a frame of the arrays of eight NPUs, in their order, to that of one of them.
template <typename Peer>
void add(int npu, std::size_t frame, const Peer& peer) {
    std::array<const std::uint32_t*, kSide> terms;
    for (int k = 0; k < kSide; ++k) terms[k] = at(peer(k), frame);
    std::uint32_t* const sum = at(npu, frame);
    for (std::size_t i = 0; i < kWords; ++i) {
        std::uint32_t total = 0;
        for (const std::uint32_t* const term : terms) total += term[i];
        room[i] = total;
    }
    std::memcpy(sum, room.data(), kFrameBytes);
    frames += kSide - 1;
}

void copy(int to, int from, std::size_t frame) {
    auto* const target = reinterpret_cast<std::uint8_t*>(at(to, frame));
    const auto* const source = reinterpret_cast<const std::uint8_t*>(at(from, frame));
    if (streams) railyard::frames::stream(target, source, kFrameBytes);
    else std::memcpy(target, source, kFrameBytes);
    ++frames;
}

void all_reduce() {
    for (std::size_t s = 0; s < kOfRow; ++s)
        for (int npu = 0; npu < kNpus; ++npu)
            add(npu, npu % kSide * kOfRow + s, [&](int k) { return npu / kSide * kSide + k; });
    for (std::size_t s = 0; s < kOfNpu; ++s)
        for (int npu = 0; npu < kNpus; ++npu)
            add(npu, npu % kSide * kOfRow + npu / kSide * kOfNpu + s,
                [&](int k) { return k * kSide + npu % kSide; });
    for (std::size_t s = 0; s < kOfNpu; ++s)
        for (int npu = 0; npu < kNpus; ++npu)
            for (int k = 0; k < kSide; ++k)
                if (k != npu / kSide)
                    copy(npu, k * kSide + npu % kSide, npu % kSide * kOfRow + k * kOfNpu + s);
    for (std::size_t s = 0; s < kOfRow; ++s)
        for (int npu = 0; npu < kNpus; ++npu)
            for (int k = 0; k < kSide; ++k)
                if (k != npu % kSide) copy(npu, npu / kSide * kSide + k, k * kOfRow + s);
}

// Replace each event by a later one (Brown's hold model): a frame's transmission or its way, in ps.
void hold() {
    using namespace railyard;
    std::minstd_rand random(1);
    std::uint64_t number = 0;
    network::EventQueue events;
    for (std::size_t index = 0; index < kPending; ++index)
        events.push(Time(static_cast<std::int64_t>(random() % 327'680)), ++number, network::EventKind::Wake,
                    index);
    for (std::uint64_t event = 0; event < kEvents; ++event) {
        const network::Event next = events.pop();
        events.push(next.time + Time(static_cast<std::int64_t>(random() % 655'360)), ++number, next.kind,
                    next.index);
    }
}

double seconds() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

int main() {
    for (int npu = 0; npu < kNpus; ++npu) {
        arrays.push_back(new (std::align_val_t{kFrameBytes}) std::uint32_t[kFrames * kWords]);
        for (std::size_t i = 0; i < kFrames * kWords; ++i)
            arrays.back()[i] = static_cast<std::uint32_t>(npu + i);
    }
    for (const bool past_caches : {false, true, false, true, false, true}) {
        streams = past_caches;
        frames = 0;
        const double start = seconds();
        all_reduce();
        const double took = seconds() - start;
        std::printf("data: %ld frames, copies %s the caches: %.4f s, at most %.2f M packet-hops a second\n",
                    frames, past_caches ? "past" : "through", took, kHops / took / 1e6);
    }
    for (int round = 0; round < 3; ++round) {
        const double start = seconds();
        hold();
        std::printf("events: %llu: %.4f s\n", static_cast<unsigned long long>(kEvents), seconds() - start);
    }
}

// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "network/network.h"

// Passes of a frame through one switch, without links.
namespace railyard {

namespace {

using Copies = std::vector<std::pair<std::uint32_t, std::string>>;

Copies copies(const Outputs& out) {
    Copies result;
    for (const Output& o : out) result.emplace_back(o.port, std::string(o.frame->view()));
    return result;
}

}  // namespace

Copies Network::process(Index<Switch> switch_index, std::uint32_t port, std::string_view bytes) {
    Switch& sw = switch_at(switch_index);
    Outputs out;
    sw.process(pool_.acquire(bytes.data(), bytes.size()), port, now_, out);
    return copies(out);
}

Copies Network::trace(Index<Switch> switch_index, std::uint32_t port, std::string_view bytes,
                      std::vector<TraceStep>& steps) {
    Outputs out;
    switch_at(switch_index).trace(pool_.acquire(bytes.data(), bytes.size()), port, now_, out, steps);
    return copies(out);
}

// Processor seconds of `count` passes of a frame; copy_only: without the pipeline, as a baseline.
double Network::bench(Index<Switch> switch_index, std::uint32_t port, std::string_view bytes,
                      std::uint64_t count, bool copy_only) {
    Switch& sw = switch_at(switch_index);
    const auto seconds = [] {
        timespec t{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
    };
    Outputs out;
    const double start = seconds();
    for (std::uint64_t i = 0; i < count; ++i) {
        FrameHandle frame = pool_.acquire(bytes.data(), bytes.size());
        if (copy_only) out.push_back({0, std::move(frame)});
        else sw.process(std::move(frame), port, now_, out);
        out.clear();
    }
    return seconds() - start;
}

}  // namespace railyard

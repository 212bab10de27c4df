// SPDX-License-Identifier: Apache-2.0
#include "switch/passes.h"

#include <ctime>

namespace railyard::switching {

namespace {

FrameHandle frame_of(SwitchSet& set, std::string_view bytes) {
    return set.pool().acquire(bytes.data(), bytes.size());
}

Copies copies(const Outputs& out) {
    Copies result;
    for (const Output& o : out) result.emplace_back(o.port, std::string(o.frame->view()));
    return result;
}

}  // namespace

Copies process(SwitchSet& set, Index<Switch> switch_index, Port port, std::string_view bytes) {
    Outputs out;
    set.switch_at(switch_index).process(frame_of(set, bytes), port, set.now(), out);
    return copies(out);
}

Copies trace(SwitchSet& set, Index<Switch> switch_index, Port port, std::string_view bytes,
             std::vector<TraceStep>& steps) {
    Outputs out;
    set.switch_at(switch_index).trace(frame_of(set, bytes), port, set.now(), out, steps);
    return copies(out);
}

double bench(SwitchSet& set, Index<Switch> switch_index, Port port, std::string_view bytes,
             std::uint64_t count, bool copy_only) {
    Switch& sw = set.switch_at(switch_index);
    const auto seconds = [] {
        timespec t{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
    };
    Outputs out;
    const double start = seconds();
    for (std::uint64_t i = 0; i < count; ++i) {
        FrameHandle frame = frame_of(set, bytes);
        if (copy_only) out.push_back({Port(), std::move(frame)});
        else sw.process(std::move(frame), port, set.now(), out);
        out.clear();
    }
    return seconds() - start;
}

}  // namespace railyard::switching

// SPDX-License-Identifier: Apache-2.0
#include "hosts/reduction/reduction.h"

#include <algorithm>
#include <cstring>

#include "hosts/reduction/reduce.h"

namespace railyard::hosts {

ReductionStats ReductionUnit::stats() const {
    ReductionStats stats = stats_;
    stats.core = core();
    return stats;
}

Time ReductionUnit::core() const {
    return reduction_.ccu ? Time() : stats_.busy * reduction_.core_percent / 100;
}

Time ReductionUnit::work(Bytes size, std::size_t frames, Time now) {
    const Time length = reduction_.rate ? frames * transmission_time(size, *reduction_.rate) : Time();
    stats_.busy += length;
    free_ = std::max(free_, now) + length;
    return free_;
}

void ReductionUnit::memory(Bytes read, Bytes written) {
    stats_.read += read;
    stats_.written += written;
}

bool ReductionUnit::claim(Bytes size) {
    if (reduction_.sram_bytes && sram_ + size > *reduction_.sram_bytes) {
        stats_.spilled += size;
        stats_.written += size;
        return false;
    }
    sram_ += size;
    stats_.sram_peak = std::max(stats_.sram_peak, sram_);
    return true;
}

// Only the first sends wait for a copy: cores write each phase's result to the communication buffer as well.
bool Reducer::stages(std::uint32_t index, std::uint32_t applied) {
    if (unit_.ccu()) return false;
    if (applied > 0) {
        unit_.memory(Bytes(), size_of(index));
        return false;
    }
    staged_.push_back(index);
    return true;
}

void Reducer::begin(Time now) {
    for (const std::uint32_t index : staged_)
        tasks_.push_back({unit_.work(size_of(index), 1, now), index, kStage});
    staged_.clear();
    run(now);
}

void Reducer::take(std::uint32_t index, std::uint32_t phase, std::uint32_t source, FrameHandle frame,
                   Time now) {
    const Bytes size = size_of(index);
    const bool in_sram = unit_.ccu() && unit_.claim(size);
    if (!unit_.ccu()) unit_.memory(Bytes(), size);
    Held& held = held_[key(index, phase)];
    const std::size_t sources = phases(index)[phase].sources.size();
    held.frames.resize(sources);
    held.in_sram.resize(sources);
    ASSERT(source < sources);
    held.frames[source] = std::move(frame);
    held.in_sram[source] = in_sram;
    ++held.count;
    settle(index, now);
}

void Reducer::settle(std::uint32_t index, Time now) {
    offer(index, now);
    run(now);
}

void Reducer::run(Time now) {
    while (!tasks_.empty() && tasks_.front().end <= now) {
        const Task task = tasks_.front();
        tasks_.pop_front();
        if (task.source == kStage) {
            unit_.memory(size_of(task.index), size_of(task.index));
            agent_.release(task.index);
            continue;
        }
        const Phase& phase = phases(task.index)[agent_.slices[task.index].applied];
        if (unit_.ccu()) add(task.index, phase, task.source);
        else reduce(task.index, phase, now);
        offer(task.index, now);
    }
}

void Reducer::detach() {
    held_.clear();
    work_.clear();
    tasks_.clear();
}

// Give the unit the frames of a slice's current phase that it may take; end the phase once all are added.
void Reducer::offer(std::uint32_t index, Time now) {
    SliceState& slice = agent_.slices[index];
    const std::vector<Phase>& all = phases(index);
    while (slice.applied < all.size()) {
        const Phase& phase = all[slice.applied];
        const std::size_t count = phase.sources.size();
        const auto held = held_.find(key(index, slice.applied));
        if (held == held_.end()) return;
        Work& work = work_[index];
        if (!unit_.ccu()) return offer_whole(index, work, held->second.count == count, now);
        while (work.taken < count && held->second.frames[work.taken] != nullptr) {
            tasks_.push_back(
                {unit_.work(size_of(index), 1, now), index, static_cast<std::uint32_t>(work.taken)});
            ++work.taken;
        }
        if (work.added < count) return;
        if (slice.unsent > 0) {
            slice.blocked = true;
            return;
        }
        write(index, phase, now);
    }
}

// Give the cores a phase as one task, once all its frames have arrived and the slice's sends have left.
void Reducer::offer_whole(std::uint32_t index, Work& work, bool complete, Time now) {
    if (!complete || work.taken > 0) return;
    SliceState& slice = agent_.slices[index];
    if (slice.unsent > 0) {
        slice.blocked = true;
        return;
    }
    work.taken = phases(index)[slice.applied].sources.size();
    tasks_.push_back({unit_.work(size_of(index), work.taken, now), index, 0});
}

// End a phase on the cores: combine all frames and the own elements into the array.
void Reducer::reduce(std::uint32_t index, const Phase& phase, Time now) {
    work_.erase(index);
    const auto entry = held_.extract(key(index, agent_.slices[index].applied));
    ASSERT(!entry.empty() && entry.mapped().count >= phase.sources.size());
    const std::vector<FrameHandle>& frames = entry.mapped().frames;
    const std::size_t length = agent_.table.size[index];
    const Bytes size(length);
    agent_.payloads.keep(index);
    if (phase.op == kCopy) {
        unit_.memory(size, size);
        std::memcpy(own(index), content(*frames[0]), length);
    } else {
        unit_.memory((frames.size() + 1) * size, size);
        terms_.clear();
        for (std::size_t place = 0; place < frames.size(); ++place) {
            if (terms_.size() == place && phase.sources[place] > agent_.rank) terms_.push_back(own(index));
            terms_.push_back(content(*frames[place]));
        }
        if (terms_.size() == frames.size()) terms_.push_back(own(index));
        combine_in_order(own(index), terms_, length, agent_.dtype, phase.op, room_);
    }
    agent_.finish(index, phase, now);
}

// Add a frame to the CCU's sum. Values are added in the order of ranks, so this rank's own elements are added
// before the first frame of a higher rank.
void Reducer::add(std::uint32_t index, const Phase& phase, std::size_t place) {
    const std::size_t length = agent_.table.size[index];
    const Bytes size(length);
    Work& work = work_[index];
    const std::vector<std::uint32_t>& sources = phase.sources;
    const std::uint32_t source = sources[place];
    Held& held = held_[key(index, agent_.slices[index].applied)];
    const FrameHandle frame = std::move(held.frames[place]);
    ASSERT(frame != nullptr && work.added == place);
    const bool in_sram = held.in_sram[place];
    if (!in_sram) unit_.memory(size, Bytes());
    if (place == 0) work.in_sram = in_sram;  // the sum takes over the first frame's buffer
    else if (in_sram) unit_.free(size);
    if (!work.in_sram) unit_.memory(place > 0 ? size : Bytes(), size);
    const std::uint8_t* const part = content(*frame);
    terms_.clear();
    if (place > 0) terms_.push_back(work.total.data());
    const bool before = source > agent_.rank && (place == 0 || sources[place - 1] < agent_.rank);
    const bool after = source < agent_.rank && place + 1 == sources.size();
    if (phase.op != kCopy && before) terms_.push_back(own(index));
    terms_.push_back(part);
    if (phase.op != kCopy && after) terms_.push_back(own(index));
    if (phase.op != kCopy && (before || after)) unit_.memory(size, Bytes());
    work.total.resize(length);
    if (terms_.size() == 1) std::memcpy(work.total.data(), part, length);
    else combine_in_order(work.total.data(), terms_, length, agent_.dtype, phase.op, room_);
    ++work.added;
}

// End a phase on the CCU: write the sum to the array.
void Reducer::write(std::uint32_t index, const Phase& phase, Time now) {
    const auto work = work_.extract(index);
    held_.erase(key(index, agent_.slices[index].applied));
    const std::size_t length = agent_.table.size[index];
    const Bytes size(length);
    if (work.mapped().in_sram) unit_.free(size);
    else unit_.memory(size, Bytes());
    unit_.memory(Bytes(), size);
    agent_.payloads.keep(index);
    std::memcpy(own(index), work.mapped().total.data(), length);
    agent_.finish(index, phase, now);
}

}  // namespace railyard::hosts

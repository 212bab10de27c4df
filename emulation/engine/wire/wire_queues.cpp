// SPDX-License-Identifier: Apache-2.0
// Egress queues of Wire's ports: frames wait for their interface, pass egress, and leave in batches or paced.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "wire/system.h"
#include "wire/wire.h"

namespace railyard::wire {

namespace {

constexpr std::size_t kSendBatch = 64;     // most frames in a system call
constexpr std::size_t kMostEgress = 1024;  // most egress passes before the control plane's turn
// Most time of egress passes while another thread waits.
constexpr Nanoseconds kMostFlush = std::chrono::milliseconds(5);

}  // namespace

void Wire::enqueue(WirePort& port, frames::FrameHandle frame) {
    if (frame->priority().value() >= settings.queues) {
        port.stats.refused_odd += 1;
        return;
    }
    auto& queue = port.queues[frame->priority().value()];
    if (queue.size() >= settings.queue_frames && !flushing_) flush_all();
    if (queue.size() >= settings.queue_frames) {
        port.stats.refused_full += 1;
        return;
    }
    if (frame->pending) {
        frame->phv->enqueued = now_;
        frame->phv->enqueue_depth = static_cast<std::uint32_t>(queue.size());
    }
    if (port.ns_per_byte > 0 && port.idle())
        port.slot_at = std::max(port.slot_at, zero_ + Nanoseconds(now_ / kNanosecond));
    queue.push_back(std::move(frame));
    make_dirty(port);
}

void Wire::make_dirty(WirePort& port) {
    if (!std::exchange(port.dirty, true)) dirty_.push_back(&port);
}

// Move up to `most` frames to `ready`, highest priority first. A pending frame is sent alone, so that its
// program reads exact queue metadata.
void Wire::dequeue(WirePort& port, std::size_t most) {
    for (std::size_t q = port.queues.size(); q-- > 0;) {
        auto& queue = port.queues[q];
        while (!queue.empty() && port.ready.size() < most) {
            if (queue.front()->pending && (!port.ready.empty() || egress_left_ == 0)) return;
            frames::FrameHandle frame = queue.pop_front();
            if (frame->pending) {
                --egress_left_;
                egress(port, std::move(frame), static_cast<std::uint32_t>(queue.size()));
            } else port.ready.push_back(std::move(frame));
        }
    }
}

void Wire::egress(WirePort& port, frames::FrameHandle frame, std::uint32_t depth) {
    Switch& sw = *switches_[port.switch_index];
    egress_out_.clear();
    checkpoints_ = 0;
    try {
        const switching::QueueRecord record{frame->phv->enqueued, now_, frame->phv->enqueue_depth, depth};
        sw.egress(std::move(frame), port.number, record, now_, egress_out_);
    } catch (const std::exception& error) {
        port.stats.failed += 1;
        messages_.failed(sw.name(), error, now_);
    }
    for (switching::Output& o : egress_out_) {
        if (o.port == port.number && !o.frame->pending) port.ready.push_back(std::move(o.frame));
        else forward(std::move(o.frame), port.switch_index, o.port);
    }
    egress_out_.clear();
    if (!sw.digests().empty()) collect(port.switch_index);
    if (others_wait() && clock_nanoseconds() - flush_began_ > kMostFlush) egress_left_ = 0;
}

// Send queued frames until all are sent, kMostEgress egress passes have run, or another thread has waited for
// kMostFlush.
void Wire::flush_all() {
    flushing_ = true;
    egress_left_ = kMostEgress;
    flush_began_ = clock_nanoseconds();
    while (!dirty_.empty() && egress_left_ > 0) {
        WirePort& port = *dirty_.back();
        dirty_.pop_back();
        port.dirty = false;
        flush(port);
        if (egress_left_ == 0) make_dirty(port);
    }
    flushing_ = false;
}

void Wire::flush(WirePort& port) {
    mmsghdr messages[kSendBatch];
    iovec pieces[kSendBatch];
    const bool paced = port.ns_per_byte > 0;
    const std::size_t most = paced ? 1 : kSendBatch;
    while (!port.blocked) {
        if (paced && must_wait(port)) return;
        if (port.ready.empty()) dequeue(port, most);
        const std::size_t count = std::min(port.ready.size(), most);
        if (count == 0) return;
        for (std::size_t i = 0; i < count; ++i) {
            frames::Frame* const frame = port.ready[i].get();
            pieces[i] = {frame->data(), frame->length};
            messages[i] = {};
            messages[i].msg_hdr.msg_iov = &pieces[i];
            messages[i].msg_hdr.msg_iovlen = 1;
        }
        const int done = sendmmsg(port.socket->fd(), messages, static_cast<unsigned>(count), MSG_DONTWAIT);
        if (done > 0) {
            sent(port, static_cast<std::size_t>(done));
            continue;
        }
        if (errno == EINTR) continue;
        if (errno == EAGAIN) return ports_.block(port, true);
        // The error concerns the first frame.
        const frames::FrameHandle frame = port.ready.pop_front();
        if (errno == EMSGSIZE) too_long(port, frame->length);
        else if (errno == ENOBUFS) port.stats.refused_full += 1;
        else if (errno == ENETDOWN || errno == ENXIO) port.stats.refused_down += 1;
        else port.stats.refused_odd += 1;
    }
}

void Wire::sent(WirePort& port, std::size_t count) {
    port.stats.sent += count;
    for (std::size_t i = 0; i < count; ++i) {
        const frames::FrameHandle frame = port.ready.pop_front();
        port.stats.sent_bytes += frame->size();
        // Count from the slot, not from the current time: a late frame does not delay the next slot.
        port.slot_at +=
            Nanoseconds(static_cast<std::int64_t>(static_cast<double>(frame->length) * port.ns_per_byte));
        if (port.out) port.out->write(frame->view());
        if (settings.dump_bytes > 0) dump("out", port, frame->view());
    }
}

bool Wire::must_wait(WirePort& port) {
    if (port.idle()) return true;
    if (port.slot_at <= clock_nanoseconds()) return false;
    slots_.wait(port);
    return true;
}

void Wire::on_slots() {
    for (WirePort* const port : slots_.take_due()) make_dirty(*port);
}

}  // namespace railyard::wire

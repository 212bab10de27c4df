// SPDX-License-Identifier: Apache-2.0
#include "hosts/tree/tree_member.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "hosts/messages/fields.h"

namespace railyard::hosts {

namespace {

constexpr Vl kVlContribution{0};
constexpr std::uint16_t kNoScale = 0xFFFF, kScaleZero = 512;

}  // namespace

TreeMember::Tree::Tree(TreePort p, SharedBlocks b, const TreeParameters& parameters, std::uint16_t member)
    : port(std::move(p)),
      blocks(std::move(b)),
      lead(parameters.scaled
               ? static_cast<std::uint32_t>(std::min<std::size_t>(port.window, blocks->all.size()))
               : 0),
      step(parameters.scaled ? lead : port.window),
      frames(static_cast<std::uint32_t>(blocks->all.size()) + lead),
      lacking(blocks->all.size(), true),
      open(blocks->all.size()),
      scales(parameters.scaled ? blocks->all.size() : 0),
      slots(step),
      writer({port.tree, member, port.next, port.port, parameters.operation, parameters.item_bytes == 8}) {}

TreeMember::TreeMember(std::uint32_t rank, std::uint16_t address, ByteArray data,
                       const std::vector<std::pair<TreePort, SharedBlocks>>& trees,
                       const TreeParameters& parameters)
    : rank_(rank),
      address_(address),
      parameters_(parameters),
      data_(std::move(data)),
      result_(std::make_shared<ByteArray>(data_)) {
    for (const auto& [port, blocks] : trees) {
        for (const TreeBlock& block : blocks->all)
            if (block.stop < block.start || block.stop * parameters.item_bytes > data_.size() ||
                (block.stop - block.start) * parameters.item_bytes > kValueBytes)
                throw std::invalid_argument("elements " + std::to_string(block.start) + " to " +
                                            std::to_string(block.stop) + " are no block of an array of " +
                                            std::to_string(data_.size()) + " bytes");
        trees_.emplace_back(port, blocks, parameters_, address_);
        bits_ = 30 - static_cast<int>(std::bit_width(port.leaves.size() - 1));
    }
}

void TreeMember::detach() {
    on_done = nullptr;
    on_repath = nullptr;
    on_lost = nullptr;
}

TreeMember::Tree* TreeMember::find(std::uint16_t tree) {
    const auto at = std::ranges::find(trees_, tree, [](const Tree& each) { return each.port.tree; });
    return at == trees_.end() ? nullptr : &*at;
}

TreeMember::Sent* TreeMember::sent(Tree& tree, std::uint32_t frame) const {
    if (frame >= tree.frames) return nullptr;
    Sent& slot = tree.slots[frame % tree.step];
    return slot.frame == frame ? &slot : nullptr;
}

bool TreeMember::is_due(const Due& due) {
    Tree* const tree = find(std::get<1>(due));
    const Sent* const slot = tree == nullptr ? nullptr : sent(*tree, std::get<2>(due));
    return slot != nullptr && slot->deadline == std::get<0>(due);
}

Time TreeMember::rto() const {
    return rtt_ == Time() ? parameters_.initial_rto : std::max(parameters_.min_rto, rtt_ + 4 * rtt_var_);
}

// Return the timeout after that many retries: it doubles with each, up to max_rto.
Time TreeMember::backoff(int retries) const {
    const Time most = parameters_.max_rto;
    return rto() > most >> retries ? most : rto() << retries;
}

void TreeMember::start(Time now, Actions& actions) {
    for (Tree& tree : trees_) begin(tree, now, actions);
    end(now, actions);
}

void TreeMember::begin(Tree& tree, Time now, Actions& actions) {
    for (std::uint32_t frame = 0; frame < std::min(tree.step, tree.frames); ++frame)
        send(tree, frame, now, actions);
}

std::vector<std::uint32_t> TreeMember::lacking(std::uint16_t tree) const {
    std::vector<std::uint32_t> out;
    for (const Tree& each : trees_)
        if (each.port.tree == tree)
            for (std::uint32_t number = 0; number < each.lacking.size(); ++number)
                if (each.lacking[number]) out.push_back(number);
    return out;
}

void TreeMember::move(std::uint16_t number, const TreePort& port, SharedBlocks blocks, Time now,
                      Actions& actions) {
    const auto old = std::ranges::find(trees_, number, [](const Tree& each) { return each.port.tree; });
    if (old == trees_.end())
        throw std::invalid_argument("the member is in no tree " + std::to_string(number));
    std::vector<std::uint64_t> lacking;  // starts of the blocks, which identify them: blocks do not overlap
    for (std::size_t index = 0; index < old->lacking.size(); ++index)
        if (old->lacking[index]) lacking.push_back(old->blocks->all[index].start);
    std::ranges::sort(lacking);
    trees_.erase(old);
    Tree& tree = trees_.emplace_back(port, std::move(blocks), parameters_, address_);
    for (std::size_t index = 0; index < tree.lacking.size(); ++index)
        tree.lacking[index] = std::ranges::binary_search(lacking, tree.blocks->all[index].start);
    tree.open = static_cast<std::size_t>(std::ranges::count(tree.lacking, true));
    begin(tree, now, actions);
    end(now, actions);
}

void TreeMember::on_frame(FrameHandle frame, Time now, Actions& actions) {
    frame->join();
    TreeResult result;
    if (const char* const word = scan_tree(frame->data(), frame->length, result)) {
        ++stats_.junk[word];
    } else if (!result.result || result.dcna != address_) {
        ++stats_.junk["connection"];
    } else if (Tree* const tree = find(result.tree)) {
        take(*tree, result, now, actions);
    } else {
        ++stats_.junk["tree"];
    }
    end(now, actions);
}

void TreeMember::on_timer(Time now, Actions& actions) {
    while (!due_.empty() && std::get<0>(due_.top()) <= now && !failed_) {
        const Due due = due_.top();
        due_.pop();
        if (!is_due(due)) continue;
        const auto [deadline, number, frame] = due;
        Tree* tree = find(number);
        Sent* slot = sent(*tree, frame);
        if (slot->retries == parameters_.max_retries) {
            failed_ = Failure{number, tree->port.first_block + frame, now};
            break;
        }
        if (slot->retries == parameters_.report_after && !tree->reported) {
            tree->reported = true;
            if (on_lost) on_lost(number);
        }
        ++slot->retries;
        ++stats_.retransmitted;
        slot->deadline = now + backoff(slot->retries);
        due_.emplace(slot->deadline, number, frame);
        actions.add(contribution(*tree, frame, actions.pool), kVlContribution);
    }
    end(now, actions);
}

void TreeMember::end(Time now, Actions& actions) {
    if (!finished_ && std::ranges::all_of(trees_, [](const Tree& tree) { return tree.open == 0; })) {
        finished_ = now;
        if (const auto call = std::exchange(on_done, nullptr)) call();
    }
    answer_deadline(actions);
}

void TreeMember::answer_deadline(Actions& actions) {
    while (!due_.empty() && !is_due(due_.top())) due_.pop();
    actions.deadline.reset();
    if (!due_.empty() && !failed_) actions.deadline = std::get<0>(due_.top());
}

void TreeMember::send(Tree& tree, std::uint32_t frame, Time now, Actions& actions) {
    Sent& slot = tree.slots[frame % tree.step];
    ASSERT(slot.frame == kNone);
    slot = {frame, now, now + rto(), 0};
    due_.emplace(slot.deadline, tree.port.tree, frame);
    ++stats_.sent;
    actions.add(contribution(tree, frame, actions.pool), kVlContribution);
}

FrameHandle TreeMember::contribution(const Tree& tree, std::uint32_t frame, FramePool& pool) const {
    const bool numbers = frame >= tree.lead;
    const TreeBlock& block = tree.blocks->all[numbers ? frame - tree.lead : 0];
    const bool filled = numbers && (block.source < 0 || block.source == static_cast<std::int32_t>(rank_));
    const bool asks = parameters_.scaled && frame < tree.blocks->all.size();
    const std::uint16_t scale = asks ? scale_of(tree.blocks->all[frame]) : 0;
    const std::uint16_t owner =
        block.owner < 0 ? kEveryLeaf : tree.port.leaves[static_cast<std::size_t>(block.owner)];
    FrameHandle out = tree.writer.frame(pool, tree.port.first_block + frame, owner, scale, filled);
    if (!filled) return out;
    std::uint8_t* const values = ContributionWriter::values(*out);
    const std::size_t bytes = (block.stop - block.start) * parameters_.item_bytes;
    const std::uint8_t* const own = data_.data() + block.start * parameters_.item_bytes;
    std::memset(values + bytes, 0, kValueBytes - bytes);
    if (!parameters_.scaled) {
        std::memcpy(values, own, bytes);
        return out;
    }
    const std::uint16_t agreed = tree.scales[frame - tree.lead];
    const bool none = agreed == 0 || agreed == kNoScale;
    for (std::size_t at = 0; at < bytes; at += sizeof(float)) {
        float number = 0;
        std::memcpy(&number, own + at, sizeof number);
        const double scaled =
            none ? 0 : std::nearbyint(std::ldexp(double{number}, bits_ - agreed + kScaleZero));
        put<4>(values, at, static_cast<std::uint32_t>(static_cast<std::int32_t>(scaled)));
    }
    return out;
}

// Return the scale field of a block: kScaleZero plus the exponent of the least power of two above all its
// magnitudes; 0 if all are zero, kNoScale if any is not finite.
std::uint16_t TreeMember::scale_of(const TreeBlock& block) const {
    float largest = 0;
    for (std::uint64_t at = block.start; at < block.stop; ++at) {
        float number = 0;
        std::memcpy(&number, data_.data() + at * sizeof number, sizeof number);
        if (!std::isfinite(number)) return kNoScale;
        largest = std::max(largest, std::abs(number));
    }
    int exponent = 0;
    std::frexp(largest, &exponent);
    return largest == 0 ? 0 : static_cast<std::uint16_t>(exponent + kScaleZero);
}

void TreeMember::take(Tree& tree, const TreeResult& result, Time now, Actions& actions) {
    const std::uint32_t frame = result.block - tree.port.first_block;
    Sent* const slot = sent(tree, frame);
    if (slot == nullptr) {
        ++stats_.duplicates;
        return;
    }
    if (tree.lacks(frame)) {
        const std::uint32_t number = frame - tree.lead;
        const TreeBlock& block = tree.blocks->all[number];
        if (block.owner < 0 || block.owner == static_cast<std::int32_t>(rank_)) {
            if (result.values == nullptr) {
                ++stats_.junk["values"];
                return;
            }
            store(tree, number, result.values);
        }
        wrapped_blocks_ += static_cast<std::uint64_t>(result.wrapped);
        tree.lacking[number] = false;
        --tree.open;
    }
    if (parameters_.scaled && frame < tree.scales.size()) tree.scales[frame] = result.scale;
    ++stats_.received;
    measure(*slot, now);
    slot->frame = kNone;
    // A slot of a switch has two versions, used in turn: after a result, the member may send the frame that
    // comes `step` frames later.
    if (frame + tree.step < tree.frames) send(tree, frame + tree.step, now, actions);
}

void TreeMember::store(const Tree& tree, std::uint32_t number, const std::uint8_t* values) {
    const TreeBlock& block = tree.blocks->all[number];
    const std::size_t bytes = (block.stop - block.start) * parameters_.item_bytes;
    std::uint8_t* const place = result_->data() + block.start * parameters_.item_bytes;
    if (!parameters_.scaled) {
        std::memcpy(place, values, bytes);
        return;
    }
    const std::uint16_t scale = tree.scales[number];
    for (std::size_t at = 0; at < bytes; at += sizeof(float)) {
        const auto sum = static_cast<std::int32_t>(get<std::uint32_t>(values, at));
        float number_of = 0;
        if (scale == kNoScale) number_of = std::numeric_limits<float>::quiet_NaN();
        else if (scale != 0)
            number_of = static_cast<float>(std::ldexp(double{1} * sum, scale - kScaleZero - bits_));
        std::memcpy(place + at, &number_of, sizeof number_of);
    }
}

// Add a round trip to the RFC 6298 estimate, unless the frame was retransmitted. Shifts round towards minus
// infinity, as in the specification.
void TreeMember::measure(const Sent& sent, Time now) {
    if (sent.retries > 0) return;
    const Time taken = now - sent.first;
    if (rtt_ == Time()) {
        rtt_ = taken;
        rtt_var_ = taken / 2;
        return;
    }
    rtt_var_ += (abs(taken - rtt_) - rtt_var_) >> 2;
    rtt_ += (taken - rtt_) >> 3;
}

AgentStats TreeMember::stats() const {
    AgentStats out = stats_;
    out.rtt = rtt_;
    return out;
}

}  // namespace railyard::hosts

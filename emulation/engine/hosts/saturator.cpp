// SPDX-License-Identifier: Apache-2.0
#include "hosts/saturator.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace railyard::hosts {

namespace {

constexpr Vl kVlData{0};

}  // namespace

Saturator::Saturator(std::vector<std::string> frames, std::uint64_t at_first, PythonRandom random,
                     std::shared_ptr<SaturationBudget> budget)
    : frames_(std::move(frames)),
      at_first_(at_first),
      random_(std::move(random)),
      budget_(std::move(budget)) {
    if (frames_.empty()) throw std::invalid_argument("there are no frames to send");
}

void Saturator::start(Time /*now*/, Actions& actions) {
    const std::uint64_t count = std::min(at_first_, budget_->left);
    for (std::uint64_t i = 0; i < count; ++i) send(actions);
    actions.deadline.reset();
}

void Saturator::on_frame(FrameHandle /*frame*/, Time /*now*/, Actions& actions) {
    ++budget_->received;
    if (budget_->left > 0) send(actions);
    actions.deadline.reset();
}

void Saturator::on_timer(Time /*now*/, Actions& actions) { actions.deadline.reset(); }

void Saturator::send(Actions& actions) {
    --budget_->left;
    const auto place = static_cast<std::size_t>(random_.uniform() * static_cast<double>(frames_.size()));
    const std::string& frame = frames_[place];
    actions.add(actions.pool.acquire(frame.data(), frame.size()), kVlData);
}

}  // namespace railyard::hosts

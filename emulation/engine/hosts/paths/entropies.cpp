// SPDX-License-Identifier: Apache-2.0
#include "hosts/paths/entropies.h"

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <optional>
#include <stdexcept>

namespace railyard::hosts {

namespace {

constexpr std::uint32_t kLbValues = 256;                     // values of lb
constexpr std::array<std::uint8_t, 4> kPoints{0, 1, 4, 15};  // penalty by PathNews
constexpr std::uint8_t kMostPoints = 15;
constexpr std::size_t kRepsKept = 8;             // entropies that REPS keeps
constexpr int kRepsExplored = 16;                // random entropies after REPS has thawed
constexpr Time kRepsFrozen = 10 * kMillisecond;  // time for which REPS stays frozen
constexpr std::size_t kMostRecycled = 64;        // entropies that `mixed` keeps

// Gives all values once a round, in ascending order XORed with a random number of the round.
class Turns {
   public:
    Turns(std::uint32_t count, std::uint64_t seed)
        : draws_(seed),
          mask_(count - 1),
          upper_(draws_.draw() & (kLbValues - 1) & ~mask_),
          turned_(draws_.draw() & mask_) {}
    std::uint8_t take() {
        const std::uint32_t value = (place_ ^ turned_) & mask_;
        if (place_++ == mask_) {
            place_ = 0;
            turned_ = draws_.draw() & mask_;
        }
        return static_cast<std::uint8_t>(value | upper_);
    }
    std::uint8_t random() { return static_cast<std::uint8_t>((draws_.draw() & mask_) | upper_); }
    std::uint32_t count() const { return mask_ + 1; }

   private:
    Draws draws_;
    std::uint32_t mask_, upper_, turned_, place_ = 0;
};

class Oblivious final : public Entropies {
   public:
    Oblivious(std::uint32_t count, std::uint64_t seed) : turns_(count, seed) {}
    std::uint8_t next() override { return turns_.take(); }
    void note(std::uint8_t, PathNews, Time) override {}

   private:
    Turns turns_;
};

class Bitmap final : public Entropies {
   public:
    Bitmap(std::uint32_t count, std::uint64_t seed) : turns_(count, seed) {}
    std::uint8_t next() override {
        std::uint8_t lb = turns_.take();
        if (points_[lb] == 0) return lb;
        --points_[lb];
        for (std::uint32_t tries = 0; tries < turns_.count(); ++tries) {
            lb = turns_.take();
            if (points_[lb] == 0) break;
        }
        return lb;
    }
    void note(std::uint8_t lb, PathNews news, Time) override {
        const int points = points_[lb] + kPoints[static_cast<std::size_t>(news)];
        points_[lb] = static_cast<std::uint8_t>(std::min<int>(points, kMostPoints));
    }

   private:
    Turns turns_;
    std::array<std::uint8_t, kLbValues> points_{};
};

class Reps final : public Entropies {
   public:
    Reps(std::uint32_t count, std::uint64_t seed) : turns_(count, seed) {}
    std::uint8_t next() override {
        if (exploring_ > 0) {
            --exploring_;
            return turns_.random();
        }
        if (!frozen_) return recycle();
        if (held_ == 0) return turns_.random();
        const std::size_t at = reuse_;
        reuse_ = (reuse_ + 1) % held_;
        kept_[at].fresh = false;
        return kept_[at].lb;
    }
    void note(std::uint8_t lb, PathNews news, Time now) override {
        if (news == PathNews::Silent && !frozen_ && exploring_ == 0) {
            frozen_ = true;
            thaws_at_ = now + kRepsFrozen;
        }
        if (frozen_ && now > thaws_at_) {
            frozen_ = false;
            kept_ = {};
            head_ = held_ = reuse_ = 0;
            exploring_ = kRepsExplored;
        }
        if (news != PathNews::Good) return;
        kept_[head_] = {lb, true};
        head_ = (head_ + 1) % kRepsKept;
        held_ = std::min(held_ + 1, kRepsKept);
    }

   private:
    // Return the oldest kept entropy that has not been reused, else a random one.
    std::uint8_t recycle() {
        for (std::size_t place = 0; place < kRepsKept; ++place) {
            Kept& kept = kept_[(head_ + place) % kRepsKept];
            if (!kept.fresh) continue;
            kept.fresh = false;
            return kept.lb;
        }
        return turns_.random();
    }

    struct Kept {
        std::uint8_t lb = 0;
        bool fresh = false;
    };
    Turns turns_;
    std::array<Kept, kRepsKept> kept_{};
    std::size_t head_ = 0, held_ = 0, reuse_ = 0;
    bool frozen_ = false;
    Time thaws_at_{};
    int exploring_ = 0;
};

class Mixed final : public Entropies {
   public:
    Mixed(std::uint32_t count, std::uint64_t seed) : bitmap_(count, seed) {}
    std::uint8_t next() override {
        if (recycled_.empty()) return bitmap_.next();
        const std::uint8_t lb = recycled_.front();
        recycled_.pop_front();
        return lb;
    }
    void note(std::uint8_t lb, PathNews news, Time now) override {
        bitmap_.note(lb, news, now);
        if (news != PathNews::Good) return;
        if (recycled_.size() == kMostRecycled) recycled_.pop_front();
        recycled_.push_back(lb);
    }

   private:
    Bitmap bitmap_;
    std::deque<std::uint8_t> recycled_;
};

}  // namespace

std::uint32_t Draws::draw() {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t bits = state_;
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB;
    return static_cast<std::uint32_t>((bits ^ bits >> 31) >> 32);
}

std::unique_ptr<Entropies> make_entropies(const std::string& name, std::uint32_t count, std::uint64_t seed) {
    if (count > kLbValues || !std::has_single_bit(count))
        throw std::invalid_argument("spraying over " + std::to_string(count) +
                                    " values of lb: use a power of two up to 256");
    if (name == "oblivious") return std::make_unique<Oblivious>(count, seed);
    if (name == "bitmap") return std::make_unique<Bitmap>(count, seed);
    if (name == "reps") return std::make_unique<Reps>(count, seed);
    if (name == "mixed") return std::make_unique<Mixed>(count, seed);
    throw std::invalid_argument("spraying algorithm " + name + " does not exist");
}

}  // namespace railyard::hosts

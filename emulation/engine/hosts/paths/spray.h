// SPDX-License-Identifier: Apache-2.0
// Choice of a path for each frame of a connection, and the health of paths. tests/oracle/paths/spray.py is
// the specification.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "frames/frame.h"
#include "hosts/paths/entropies.h"

namespace railyard::hosts {

// A bucket is a value of the low 4 bits of the header field lb (load balancing); each has a source route.
constexpr std::size_t kBuckets = 16;
using BucketSet = std::uint16_t;  // a bit for each bucket
// Step of lb between retries after timeouts. Odd, so that sixteen timeouts try all sixteen buckets; not 1,
// since neighbouring buckets often share a path.
constexpr std::uint8_t kBucketStride = 5;

// Round trip on an idle path in ps: of a frame without payload and its acknowledgement, the time that each
// KiB of payload adds, and the time of a KiB on the slowest link.
struct PathTiming {
    Time headers{}, kib{}, narrowest_kib{};
};

// Paths from a source to a destination: path number and weight of each bucket. Without weights, frames take
// all buckets in turn. `timings` is by path, empty if the links of the paths are not known.
struct PathShares {
    std::array<std::uint32_t, kBuckets> paths{};
    std::vector<double> weights;
    std::vector<PathTiming> timings;
};

// Round trips measured by an agent over all its connections; 0 before the first.
struct RoundTrips {
    Time peak{};  // recent maximum, which decays by 1/1024 a sample
    // Number and sum of the smoothed round trips of all paths that PathDelays measures.
    std::int64_t paths = 0;
    Time total{};
    void add(Time rtt) { peak = std::max(rtt, peak - peak / 1024); }
    [[nodiscard]] Time typical() const { return total / std::max<std::int64_t>(paths, 1); }
};

// A value for each path, with a default for new paths: PathHealth::split adds paths.
template <typename T>
class ByPath {
   public:
    explicit ByPath(T initial) : initial_(initial) {}
    [[nodiscard]] std::size_t size() const { return values_.size(); }
    T operator[](std::uint32_t path) const { return path < values_.size() ? values_[path] : initial_; }
    T& of(std::uint32_t path) {
        if (path >= values_.size()) values_.resize(path + 1, initial_);
        return values_[path];
    }

   private:
    T initial_;
    std::vector<T> values_;
};

// Health of the paths to a peer, shared by data and acknowledgements. A path that loses several frames in a
// row is avoided; data frames try it again after a time that doubles with each failed trial.
class PathHealth {
   public:
    explicit PathHealth(const std::array<std::uint32_t, kBuckets>& paths);

    [[nodiscard]] std::uint32_t path_of(std::uint8_t lb) const { return paths_[lb % kBuckets]; }
    [[nodiscard]] bool whole() const { return avoided_ == 0; }
    [[nodiscard]] bool works(std::uint32_t path) const { return until_[path] < Time(); }
    // Return the buckets whose paths have lost several frames in a row, avoided or not.
    [[nodiscard]] BucketSet suspects() const;
    // Return true if a frame may take a path now: the path works, or its next trial is due and begins.
    bool may_try(std::uint32_t path, Time now);
    // Give each of these buckets a new path number, since its route has changed.
    void split(BucketSet buckets);
    void acknowledged(std::uint32_t path) {
        if (losses_[path] != 0) losses_.of(path) = 0;
        if (avoided_ > 0 && !works(path)) use_again(path);
    }
    void lost(std::uint32_t path, Time now, int count = 1);
    void suspect(std::uint32_t path, Time now);

   private:
    void use_again(std::uint32_t path);

    std::array<std::uint32_t, kBuckets> paths_;
    std::uint32_t count_ = 0;  // paths
    std::uint32_t avoided_ = 0;
    ByPath<int> losses_{0};
    ByPath<Time> avoid_;
    ByPath<Time> until_{kUnset};  // time of the next trial; kUnset: not avoided
};

// Chooses the bucket of each frame by the weights of the working paths; `lb` is the value of the first frame.
class Spray {
   public:
    Spray(const PathShares& shares, std::uint8_t lb, std::shared_ptr<PathHealth> health);

    PathHealth& health() { return *health_; }
    [[nodiscard]] const PathHealth& health() const { return *health_; }
    [[nodiscard]] std::uint32_t path_of(std::uint8_t lb) const { return health_->path_of(lb); }
    std::uint8_t next_lb(Time now);
    // Return the first value from `entropies` whose path works. Buckets of weight 0 are standby: not used
    // until a path is avoided.
    std::uint8_t next_of(Entropies& entropies, Time now);
    // Return a load-balance value of another path for a lost frame: of a working path if possible, standby
    // paths last. Paths with a time >= 0 in `silent` count as not working. Return `lb` if there is no other
    // path.
    std::uint8_t other_lb(std::uint8_t lb, const ByPath<Time>* silent = nullptr);

   private:
    struct Due {
        double due, step;
        std::uint8_t bucket;
        bool operator<(const Due& other) const {
            return due != other.due ? due < other.due : bucket < other.bucket;
        }
    };
    std::uint8_t draw();

    std::shared_ptr<PathHealth> health_;  // shared by all connections of a pair
    std::uint8_t next_;
    BucketSet standby_ = 0;
    // Fair queueing: the bucket with the earliest `due` is next. A ring in this order, whose first place is
    // `first_`.
    std::vector<Due> fair_;
    std::size_t first_ = 0;
    std::array<std::uint8_t, kBuckets> order_{};  // buckets in the order in which lost frames try them
};

}  // namespace railyard::hosts

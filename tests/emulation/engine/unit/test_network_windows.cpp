// SPDX-License-Identifier: Apache-2.0
// Networks in partitions: windows of threads agree with a single queue.
#include <tuple>

#include "network.h"

namespace railyard::network {
namespace {

using unit::Fabric;
using unit::frame;
using unit::link_config;
using unit::Sink;
using unit::Wired;

// A ring of switches with one host each. Applications answer frames until a budget is spent. The results of
// partitions, threads and a single queue must be equal to the picosecond.
struct Windows : testing::TestWithParam<std::tuple<std::uint32_t, std::size_t>> {
    struct Outcome {
        std::vector<std::vector<std::pair<Time, std::string>>> seen;
        std::uint64_t hops = 0, windows = 0;
        std::vector<Bytes> bins;
        Time now{};
        bool operator==(const Outcome& other) const {
            return std::tie(seen, hops, bins, now) == std::tie(other.seen, other.hops, other.bins, other.now);
        }
    };
    static Outcome run(std::uint32_t partitions, std::size_t threads, bool exactly, Bytes credits) {
        constexpr std::uint32_t kSwitches = 8;
        Wired fabric;
        Network& net = fabric.net;
        net.windows().set_threads(threads);
        net.hosts().set_bin(Time(10'000), kVls);
        std::vector<Index<Switch>> ring;
        for (std::uint32_t i = 0; i < kSwitches; ++i) ring.push_back(fabric.add(i * partitions / kSwitches));
        const LinkConfig config = link_config(Time(2000), credits);
        for (std::uint32_t i = 0; i < kSwitches; ++i) {
            static_cast<void>(net.connect({ring[i], Port(2)}, {ring[(i + 1) % kSwitches], Port(1)}, config));
            fabric.steer(ring[i], 4, 2, 5);  // over three links of the ring
            fabric.steer(ring[i], 5, 2, 6);
            fabric.steer(ring[i], 6, 2, 3);
            fabric.steer(ring[i], 7, 2, 3);  // over one link of the ring
        }
        std::vector<std::shared_ptr<Sink>> sinks;
        std::vector<Index<Host>> hosts;
        for (std::uint32_t i = 0; i < kSwitches; ++i) {
            const auto budget = std::make_shared<int>(150);
            hosts.push_back(net.attach_host({ring[i], Port(3)}, link_config(Time(300), Bytes(4000))));
            sinks.push_back(
                fabric.sink(hosts.back(), [budget, i](FrameHandle got, Time now, Actions& actions) {
                    if (--*budget < 0) return;
                    std::string bytes = frame(now.value() % 3 == 0 ? 7 : 4,
                                              60 + static_cast<std::size_t>(now.value() % 97) + i);
                    bytes[1] = static_cast<char>(got->data()[1] + 1);
                    actions.add(actions.pool.acquire(bytes.data(), bytes.size()), Vl(0));
                }));
        }
        for (std::uint32_t i = 0; i < kSwitches; ++i)
            for (int n = 0; n < 12; ++n)
                net.send(hosts[i], frame(n % 2 == 0 ? 4 : 7, 100 + 7 * static_cast<std::size_t>(n)), Vl(0));
        EXPECT_EQ(net.run(kForever, ~0ULL, exactly), RunEnd::Idle);
        Outcome outcome;
        for (const auto& sink : sinks) outcome.seen.push_back(sink->seen);
        outcome.hops = net.frame_counts().hops;
        outcome.bins = net.delivered_bins();
        outcome.now = net.now();
        outcome.windows = net.windows().report().windows;
        return outcome;
    }
};

TEST_P(Windows, AgreeWithASingleQueue) {
    const auto& [partitions, threads] = GetParam();
    const Outcome alone = run(1, 1, true, Bytes(6000));
    EXPECT_GT(alone.hops, 1000U);
    const Outcome windows = run(partitions, threads, false, Bytes(6000));
    EXPECT_GT(windows.windows, 10U);
    EXPECT_TRUE(windows == alone);
}

TEST_P(Windows, AgreeWithASingleQueueWithoutCredits) {
    const auto& [partitions, threads] = GetParam();
    EXPECT_TRUE(run(partitions, threads, false, Bytes(0)) == run(1, 1, true, Bytes(0)));
}

TEST_P(Windows, PartitionsStepByStepAgreeToo) {
    const auto& [partitions, threads] = GetParam();
    const Outcome steps = run(partitions, threads, true, Bytes(6000));
    EXPECT_EQ(steps.windows, 0U);
    EXPECT_TRUE(steps == run(1, 1, true, Bytes(6000)));
}

INSTANTIATE_TEST_SUITE_P(Partitions, Windows,
                         testing::Values(std::tuple(2, 1), std::tuple(2, 2), std::tuple(4, 2),
                                         std::tuple(8, 3)),
                         [](const auto& instance) {
                             return std::to_string(std::get<0>(instance.param)) + "of" +
                                    std::to_string(std::get<1>(instance.param)) + "threads";
                         });

TEST_F(Fabric, ANewPartitionIsRefusedAfterTheFirstEvent) {
    const Chain row = chain(1, link_config());
    net.send(row.source, frame(2, 10), Vl(0));
    EXPECT_THROW(add(1), std::invalid_argument);
    EXPECT_THROW(add(5000), std::invalid_argument);
}

}  // namespace
}  // namespace railyard::network

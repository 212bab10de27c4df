// SPDX-License-Identifier: Apache-2.0
// The calendar queue against a sorted model, and the pool of threads.
#include <atomic>
#include <set>

#include "common.h"
#include "network/events/events.h"
#include "network/events/thread_pool.h"
#include "network/events/tournament.h"

namespace railyard::network {
namespace {

// Times of a simulation: many equal, most soon, some far ahead.
struct Pattern {
    const char* name;
    Time near, far;
    unsigned percent_far, percent_now;
};

void PrintTo(const Pattern& pattern, std::ostream* out) { *out << pattern.name; }

class Calendar : public testing::TestWithParam<Pattern> {};

TEST_P(Calendar, ReturnsEventsByTimeAndNumber) {
    const Pattern& pattern = GetParam();
    EventQueue queue;
    std::set<std::tuple<Time, std::uint64_t, std::size_t>> model;
    unit::Random random(7);
    Time now{};
    std::uint64_t number = 1;
    for (int i = 0; i < 40000; ++i) {
        const bool filling = i % 10000 < 5500;
        if (model.empty() || random.chance(filling ? 70 : 30)) {
            const Time span = random.chance(pattern.percent_far) ? pattern.far : pattern.near;
            const Time time = now + (random.chance(pattern.percent_now)
                                         ? Time()
                                         : Time(random.below(static_cast<std::uint64_t>(span.value()) + 1)));
            const std::size_t index = random.below(1 << 20);
            queue.push(time, number, EventKind::Arrive, index);
            model.emplace(time, number++, index);
        } else {
            ASSERT_EQ(queue.next_time(), std::get<0>(*model.begin()));
            const Event event = queue.pop();
            ASSERT_EQ(std::tuple(event.time, event.number, event.index), *model.begin());
            ASSERT_GE(event.time, now);
            now = event.time;
            model.erase(model.begin());
        }
        ASSERT_EQ(queue.size(), model.size());
    }
}

TEST(Tournament, FindsTheLeastAndTheSecondKeyAfterEachChange) {
    unit::Random random(3);
    for (const std::size_t players : {1U, 2U, 3U, 8U, 13U}) {
        std::vector<Tournament::Key> keys;
        for (std::size_t i = 0; i < players; ++i) keys.push_back(random.below(1000) * 100 + i);
        Tournament order(keys);
        for (int round = 0; round < 300; ++round) {
            const auto least = std::min_element(keys.begin(), keys.end());
            Tournament::Key second = Tournament::kNone;
            for (auto at = keys.begin(); at != keys.end(); ++at)
                if (at != least) second = std::min(second, *at);
            if (*least != Tournament::kNone) {
                ASSERT_EQ(order.first(), static_cast<std::size_t>(least - keys.begin()));
            }
            ASSERT_TRUE(order.key(order.first()) == *least && order.second() == second);
            const std::size_t player = random.below(players);
            keys[player] = random.chance(5) ? Tournament::kNone : random.below(1000) * 100 + player;
            order.set(player, keys[player]);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Patterns, Calendar,
                         testing::Values(Pattern{"dense", Time(1000), Time(1000), 0, 10},
                                         Pattern{"all_at_once", Time(1), Time(1), 0, 90},
                                         Pattern{"sparse", Time(1'000'000'000), Time(1'000'000'000), 0, 0},
                                         Pattern{"timers_far_ahead", Time(5'000), Time(4'000'000'000'000), 20,
                                                 5},
                                         Pattern{"years", Time(1000), Time{1} << 50, 5, 5}),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(EventQueue, KeepsTheKindAndIndexOfAnEvent) {
    EventQueue queue;
    queue.push(Time(5), 1, EventKind::Age, (1 << 21) - 1);
    queue.push(Time(5), 2, EventKind::Wake, 0);
    const Event first = queue.pop(), second = queue.pop();
    EXPECT_EQ(first.kind, EventKind::Age);
    EXPECT_EQ(first.index, (1U << 21) - 1);
    EXPECT_EQ(second.kind, EventKind::Wake);
    EXPECT_EQ(second.number, 2U);
}

TEST(EventQueue, RefusesAnIndexThatDoesNotFitItsCell) {
    EventQueue queue;
    EXPECT_THROW(queue.push(Time(0), 1, EventKind::Wake, 1 << 21), std::length_error);
    EXPECT_EQ(queue.size(), 0U);
}

TEST(EventQueue, InsertsIntoADayThatHasBegun) {
    EventQueue queue;
    for (std::uint64_t number = 1; number <= 20; ++number)
        queue.push(static_cast<Time>(10 * number), number, EventKind::Timer, number);
    EXPECT_EQ(queue.pop().time, Time(10));  // begins a day that has later events, too
    queue.push(Time(15), 21, EventKind::Timer, 21);
    queue.push(Time(20), 22, EventKind::Timer, 22);
    EXPECT_EQ(queue.pop().number, 21U);
    EXPECT_EQ(queue.pop().number, 2U);  // before the later number of the same time
    EXPECT_EQ(queue.pop().number, 22U);
}

TEST(EventQueue, LooksAheadInOrderWithoutChangingAnything) {
    EventQueue queue;
    for (std::uint64_t number = 1; number <= 40; ++number)
        queue.push(static_cast<Time>(number * 100'000), number, EventKind::Wake, number);
    EXPECT_EQ(queue.pop().index, 1U);
    const EventQueue::Cell* const coming = queue.coming();
    ASSERT_NE(coming, nullptr);
    for (std::size_t place = 0; place < EventQueue::kAhead; ++place) {
        EXPECT_EQ(EventQueue::kind_of(coming[place]), EventKind::Wake);
        EXPECT_EQ(EventQueue::index_of(coming[place]), place + 2);
    }
    EXPECT_EQ(queue.size(), 39U);
    EXPECT_EQ(queue.pop().index, 2U);
}

TEST(EventQueue, LooksAheadOnlyIfThereAreEnoughEvents) {
    EventQueue queue;
    EXPECT_EQ(queue.coming(), nullptr);
    for (std::uint64_t number = 1; number <= EventQueue::kAhead + 1; ++number)
        queue.push(static_cast<Time>(number * 100'000), number, EventKind::Wake, number);
    static_cast<void>(queue.pop());
    EXPECT_NE(queue.coming(), nullptr);
    static_cast<void>(queue.pop());
    EXPECT_EQ(queue.coming(), nullptr);
}

TEST(EventQueue, TakeAllEmptiesTodayCalendarAndHeap) {
    EventQueue queue;
    std::set<std::uint64_t> numbers;
    for (std::uint64_t number = 1; number <= 300; ++number) {
        queue.push(static_cast<Time>(number * number * 50'000), number, EventKind::Wake, 1);
        numbers.insert(number);
    }
    numbers.erase(queue.pop().number);
    std::set<std::uint64_t> taken;
    for (const EventQueue::Cell cell : queue.take_all())
        taken.insert(static_cast<std::uint64_t>(cell) >> EventQueue::kNumberShift);
    EXPECT_EQ(taken, numbers);
    EXPECT_EQ(queue.size(), 0U);
    queue.push(Time(1), 1, EventKind::Alarm, 4);  // goes on, at an earlier time
    EXPECT_EQ(queue.pop().index, 4U);
}

TEST(EventQueue, ANewNumberChangesTheOrderAmongEqualTimesOnly) {
    EventQueue queue;
    queue.push(Time(9), 100, EventKind::Wake, 1);
    queue.push(Time(9), 200, EventKind::Timer, 2);
    queue.push(Time(8), 300, EventKind::Alarm, 3);
    for (const EventQueue::Cell cell : queue.take_all()) {
        const std::uint64_t number = static_cast<std::uint64_t>(cell) >> EventQueue::kNumberShift;
        queue.put(EventQueue::numbered(cell, 1000 - number));
    }
    const Event first = queue.pop(), second = queue.pop(), third = queue.pop();
    EXPECT_EQ(std::tuple(first.time, first.number, first.index), std::tuple(Time(8), 700U, 3U));
    EXPECT_EQ(std::tuple(second.number, second.index, second.kind), std::tuple(800U, 2U, EventKind::Timer));
    EXPECT_EQ(third.number, 900U);
}

TEST(EventQueue, TheLargestNumberLeavesTheTimeAlone) {
    EventQueue queue;
    queue.push(Time(3), EventQueue::kNumbers - 1, EventKind::Wake, 5);
    const Event event = queue.pop();
    EXPECT_EQ(event.time, Time(3));
    EXPECT_EQ(event.number, EventQueue::kNumbers - 1);
    EXPECT_EQ(event.index, 5U);
}

TEST(ThreadPool, EachMemberWorksOnceARound) {
    std::array<std::atomic<int>, 4> rounds{};
    ThreadPool pool(rounds.size(), [&](std::size_t member) { ++rounds[member]; });
    for (int round = 1; round <= 200; ++round) {
        pool.run();
        for (const auto& count : rounds) ASSERT_EQ(count, round);
    }
}

TEST(ThreadPool, OneMemberIsTheCaller) {
    std::thread::id worker;
    ThreadPool pool(1, [&](std::size_t) { worker = std::this_thread::get_id(); });
    pool.run();
    EXPECT_EQ(worker, std::this_thread::get_id());
}

TEST(ThreadPool, TheCallerSeesWhatMembersWrote) {
    std::vector<std::uint64_t> parts(3);
    ThreadPool pool(parts.size(), [&](std::size_t member) { parts[member] += member + 1; });
    for (std::uint64_t round = 1; round <= 50; ++round) {
        pool.run();
        ASSERT_EQ(parts, (std::vector<std::uint64_t>{round, 2 * round, 3 * round}));
    }
}

}  // namespace
}  // namespace railyard::network

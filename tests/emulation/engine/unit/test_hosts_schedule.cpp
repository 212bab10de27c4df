// SPDX-License-Identifier: Apache-2.0
// Schedules of collectives: slices, plans of ranks, barriers between steps, graphs of tasks.
#include <map>

#include "common.h"
#include "hosts/application.h"
#include "hosts/messages/codec.h"
#include "hosts/schedule/schedule.h"
#include "hosts/schedule/tasks.h"

namespace railyard::hosts {
namespace {

TEST(SliceTable, FindsSlicesAtTheirOffsetsOnly) {
    const SliceTable dense({0, 100, 200}, {100, 100, 50}, {0, 0, 1}, {0, 1, 2}, 2);
    EXPECT_EQ(dense.find(100), 1U);
    EXPECT_EQ(dense.find(150), kNone);
    EXPECT_EQ(dense.find(300), kNone);
    EXPECT_EQ(dense.count, (std::vector<std::uint32_t>{2, 1}));
    const SliceTable sparse({0, 7, 1'000'000'007}, {1, 1, 1}, {0, 0, 0}, {0, 1, 2}, 1);
    EXPECT_EQ(sparse.find(1'000'000'007), 2U);
    EXPECT_EQ(sparse.find(8), kNone);
}

TEST(SliceTable, FindsSlicesWhateverTheUnitOfTheirOffsets) {
    for (const std::uint64_t unit : {1, 3, 4, 36, 100, 4096, 12288}) {
        const SliceTable table({0, 2 * unit, 3 * unit}, {1, 1, 1}, {0, 0, 0}, {0, 1, 2}, 1);
        for (std::uint64_t offset = 0; offset < 5 * unit; ++offset) {
            const bool first = offset == 0, second = offset == 2 * unit, third = offset == 3 * unit;
            const std::uint32_t slice = first ? 0 : second ? 1 : third ? 2 : kNone;
            EXPECT_EQ(table.find(offset), slice) << "offset " << offset << " with unit " << unit;
        }
        EXPECT_EQ(table.find(0 - unit), kNone);
        EXPECT_EQ(table.find(~std::uint64_t{0}), kNone);
    }
}

TEST(Phase, FindsItsSources) {
    const Phase all_but_two{1, kReduce, {0, 1, 3, 4}, kNone}, some{1, kReduce, {2, 5, 9}, kNone}, none{};
    const auto places = [](const Phase& phase) {
        std::vector<std::uint32_t> places;
        for (std::uint32_t rank = 0; rank < 11; ++rank) places.push_back(phase.source_of(rank));
        return places;
    };
    EXPECT_EQ(places(all_but_two),
              (std::vector<std::uint32_t>{0, 1, kNone, 2, 3, kNone, kNone, kNone, kNone, kNone, kNone}));
    EXPECT_EQ(places(some),
              (std::vector<std::uint32_t>{kNone, kNone, 0, kNone, kNone, 1, kNone, kNone, kNone, 2, kNone}));
    EXPECT_EQ(places(none), std::vector<std::uint32_t>(11, kNone));
}

TEST(CellPlan, FindsThePhaseOfAStepWhateverTheGuess) {
    const CellPlan plan{{{2, kReduce, {0}, kNone}, {3, kReduce, {0}, kNone}, {7, kCopy, {0}, kNone}}, {}};
    for (const std::uint32_t guess : {0U, 1U, 2U, 3U, kNone}) {
        std::vector<std::uint32_t> places;
        for (std::uint16_t step = 1; step < 9; ++step) places.push_back(plan.phase_at(step, guess));
        EXPECT_EQ(places, (std::vector<std::uint32_t>{kNone, 0, 1, kNone, kNone, kNone, 2, kNone}));
    }
}

TEST(SliceTable, RefusesListsThatDoNotFit) {
    EXPECT_THROW(SliceTable({0, 1}, {1}, {0, 0}, {0, 1}, 1), std::invalid_argument);
    EXPECT_THROW(SliceTable({0}, {1}, {1}, {0}, 1), std::invalid_argument);
    EXPECT_THROW(SliceTable({0}, {1}, {0}, {1}, 1), std::invalid_argument);
}

TEST(RankPlan, CountsWhatArrivesAndLeaves) {
    const SliceTable table({0, 4, 8}, {4, 4, 4}, {0, 0, 1}, {0, 1, 2}, 2);
    const CellPlan reduce{{{1, kReduce, {0}, kNone}}, {{0}, {1}}}, quiet{{}, {{1}}};
    const RankPlan plan(table, 1, {{0, 0, kReduce, 0, kNone}, {1, 0, kCopy, 0, kNone}}, {reduce, quiet},
                        {0, 1});
    EXPECT_EQ(plan.phases, 2U);
    EXPECT_EQ(plan.due, (std::map<std::uint16_t, std::size_t>{{1, 2}}));
    EXPECT_EQ(plan.leaving, (std::vector<std::uint32_t>{2, 3}));
}

TEST(RankPlan, RefusesNumbersThatNameNothing) {
    const SliceTable table({0}, {4}, {0}, {0}, 1);
    EXPECT_THROW(RankPlan(table, 1, {{0, 1, kCopy, 0, kNone}}, {{{}, {{0}}}}, {0}),
                 std::invalid_argument);                                                // peer
    EXPECT_THROW(RankPlan(table, 1, {}, {{{}, {{0}}}}, {0}), std::invalid_argument);    // send
    EXPECT_THROW(RankPlan(table, 1, {}, {{{}, {{}}}}, {1}), std::invalid_argument);     // plan
    EXPECT_THROW(RankPlan(table, 1, {}, {{{}, {}}}, {0}), std::invalid_argument);       // releases
    EXPECT_THROW(RankPlan(table, 1, {}, {{{}, {{}}}}, {0, 0}), std::invalid_argument);  // cells
}

TEST(StepBarrier, HoldsSendsUntilEarlierStepsHaveArrived) {
    StepBarrier gate({{1, 2}, {2, 1}});
    EXPECT_FALSE(gate.hold(1, {10, 0}));
    EXPECT_TRUE(gate.hold(2, {20, 0}));
    EXPECT_TRUE(gate.hold(3, {30, 0}));
    EXPECT_TRUE(gate.arrived(1).empty());
    EXPECT_EQ(gate.arrived(1), (std::vector<StepBarrier::Item>{{20, 0}}));
    EXPECT_EQ(gate.arrived(2), (std::vector<StepBarrier::Item>{{30, 0}}));
    EXPECT_FALSE(gate.hold(9, {90, 0}));
}

TEST(StepBarrier, ALaterStepThatArrivesFirstFreesNothing) {
    StepBarrier gate({{1, 1}, {2, 1}});
    EXPECT_TRUE(gate.hold(2, {20, 0}));
    EXPECT_TRUE(gate.hold(3, {30, 0}));
    EXPECT_TRUE(gate.arrived(2).empty());
    EXPECT_EQ(gate.arrived(1), (std::vector<StepBarrier::Item>{{20, 0}, {30, 0}}));
}

// Task 0 computes; task 1 sends two slices after task 0; task 2 computes after task 1, on the same unit as
// task 0; task 3 sends a slice and depends on nothing.
struct Graph : testing::Test {
    std::vector<Task> tasks = std::vector<Task>(4);
    Graph() {
        tasks[0] = {.needs = 0,
                    .at = Time(10),
                    .delay = Time(0),
                    .duration = Time(100),
                    .unit = 0,
                    .slices = 0,
                    .free = false,
                    .followers = {1}};
        tasks[1] = {.needs = 1,
                    .at = Time(0),
                    .delay = Time(5),
                    .duration = kUnset,
                    .unit = 0,
                    .slices = 2,
                    .free = false,
                    .followers = {2}};
        tasks[2] = {.needs = 1,
                    .at = Time(0),
                    .delay = Time(0),
                    .duration = Time(50),
                    .unit = 0,
                    .slices = 0,
                    .free = false,
                    .followers = {}};
        tasks[3] = {.needs = 0,
                    .at = Time(0),
                    .delay = Time(0),
                    .duration = kUnset,
                    .unit = 0,
                    .slices = 1,
                    .free = true,
                    .followers = {}};
    }
};

TEST_F(Graph, TasksOpenAfterWhatTheyNeed) {
    Progress progress(tasks);
    progress.start(Time(1000));
    EXPECT_EQ(progress.deadline(), Time(1010));
    EXPECT_EQ(progress.next_due(Time(1010)), std::nullopt);
    EXPECT_EQ(progress.deadline(), Time(1110));
    EXPECT_TRUE(progress.computing());
    EXPECT_EQ(progress.next_due(Time(1110)), std::nullopt);
    EXPECT_EQ(progress.next_due(Time(1115)), 1U);
    EXPECT_TRUE(progress.open(1));
    progress.slice_done(1, Time(1200));
    EXPECT_EQ(progress.deadline(), kNever);
    progress.slice_done(1, Time(1300));
    EXPECT_EQ(progress.next_due(Time(1300)), std::nullopt);
    EXPECT_EQ(progress.deadline(), Time(1350));
    EXPECT_EQ(progress.next_due(Time(1350)), std::nullopt);
    EXPECT_FALSE(progress.computing());
    EXPECT_EQ(progress.times()[2].opened, Time(1300));
    EXPECT_EQ(progress.times()[2].ended, Time(1350));
    EXPECT_EQ(progress.times()[1].opened, Time(1115));
}

TEST_F(Graph, ComputationsOfAUnitFollowEachOther) {
    tasks[2].needs = 0;
    tasks[1].followers.clear();
    Progress progress(tasks);
    progress.start(Time(0));
    EXPECT_EQ(progress.next_due(Time(0)), std::nullopt);
    EXPECT_EQ(progress.next_due(Time(10)), std::nullopt);
    const auto spans = progress.times();
    EXPECT_EQ(spans[2].opened, Time(0));
    EXPECT_EQ(spans[0].opened, Time(50));  // after task 2, which was due earlier
}

TEST_F(Graph, SlicesHeldForATaskAreReleasedOnce) {
    Progress progress(tasks);
    progress.hold(1, 7);
    progress.hold(1, 8);
    EXPECT_EQ(progress.release(1), (std::vector<std::uint32_t>{7, 8}));
    EXPECT_TRUE(progress.release(1).empty());
    EXPECT_TRUE(progress.open(3));  // a free task is open before the start
}

}  // namespace
}  // namespace railyard::hosts

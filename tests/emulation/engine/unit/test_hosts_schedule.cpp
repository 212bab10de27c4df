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

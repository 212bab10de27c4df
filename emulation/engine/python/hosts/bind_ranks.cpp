// SPDX-License-Identifier: Apache-2.0
// Bindings of a rank's part of a schedule: slices of its array, peers, sends, plans of cells and tasks.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hosts/agent.h"
#include "python/bind.h"
#include "python/hosts/bind_hosts.h"

namespace railyard::python {

namespace {

using PeerTuple =
    std::tuple<std::uint32_t, std::uint16_t, std::vector<std::uint8_t>, std::vector<std::uint8_t>,
               std::optional<std::vector<std::uint32_t>>, std::vector<double>,
               std::vector<std::tuple<Time, Time, Time>>, std::optional<nb::bytes>>;
using SendTuple = std::tuple<std::uint16_t, std::int64_t, std::uint8_t, std::int64_t, std::int64_t>;
using PhaseTuple = std::tuple<std::uint16_t, std::uint8_t, std::vector<std::uint32_t>, std::int64_t>;
using TaskTuple = std::tuple<std::uint32_t, Time, Time, Time, std::uint32_t, std::uint32_t, bool,
                             std::vector<std::uint32_t>>;
using PlanTuple = std::pair<std::vector<PhaseTuple>, std::vector<std::vector<std::uint32_t>>>;

hosts::PeerSpec peer_of(const PeerTuple& given) {
    hosts::PeerSpec peer;
    const auto& [rank, address, lbs, ack_lbs, paths, weights, timings, seed] = given;
    peer.rank = rank;
    peer.address = address;
    peer.lbs = lbs;
    peer.ack_lbs = ack_lbs;
    if (lbs.empty())
        throw std::invalid_argument("peer " + std::to_string(rank) +
                                    " has no connection; give at least one load-balance value of data");
    if (paths) {
        if (paths->size() != hosts::kBuckets || (!weights.empty() && weights.size() != hosts::kBuckets))
            throw std::invalid_argument(
                "peer " + std::to_string(rank) + " has " + std::to_string(paths->size()) + " paths and " +
                std::to_string(weights.size()) + " weights; give " + std::to_string(hosts::kBuckets) +
                " paths, and as many weights or none");
        peer.shares.emplace();
        std::copy(paths->begin(), paths->end(), peer.shares->paths.begin());
        peer.shares->weights = weights;
        for (const auto& [headers, kib, narrowest_kib] : timings)
            peer.shares->timings.push_back({headers, kib, narrowest_kib});
    }
    if (seed) peer.seed.emplace(view(*seed));
    return peer;
}

std::uint32_t number_or_none(std::int64_t number, std::size_t below, const char* what) {
    if (number < 0) return hosts::kNone;
    if (static_cast<std::uint64_t>(number) >= below)
        throw std::invalid_argument(std::string(what) + " " + std::to_string(number) + " is not below " +
                                    std::to_string(below));
    return static_cast<std::uint32_t>(number);
}

hosts::CellPlan plan_of(const PlanTuple& given, std::size_t tasks) {
    hosts::CellPlan plan;
    for (const auto& [step, op, sources, task] : given.first)
        plan.phases.push_back({step, op, sources, number_or_none(task, tasks, "task")});
    plan.releases = given.second;
    return plan;
}

std::shared_ptr<const hosts::Rank> make_rank(
    std::shared_ptr<const hosts::SliceTable> table, std::uint32_t number, std::uint32_t ranks,
    std::uint16_t address, std::uint8_t dtype, bool overlap, const std::vector<PeerTuple>& peers,
    const std::vector<SendTuple>& sends, const std::vector<PlanTuple>& plans,
    std::vector<std::uint32_t> of_cell, const std::vector<TaskTuple>& tasks) {
    auto rank = std::make_shared<hosts::Rank>();
    rank->rank = number;
    rank->ranks = ranks;
    rank->address = address;
    rank->dtype = dtype;
    rank->overlap = overlap;
    for (const PeerTuple& peer : peers) rank->peers.push_back(peer_of(peer));
    std::vector<hosts::Send> all_sends;
    all_sends.reserve(sends.size());
    for (const auto& [step, peer, op, shift, task] : sends)
        all_sends.push_back({step, number_or_none(peer, peers.size(), "peer"), op, shift,
                             number_or_none(task, tasks.size(), "task")});
    std::vector<hosts::CellPlan> distinct;
    distinct.reserve(plans.size());
    for (const PlanTuple& plan : plans) distinct.push_back(plan_of(plan, tasks.size()));
    rank->plan.emplace(*table, peers.size(), std::move(all_sends), std::move(distinct), std::move(of_cell));
    rank->table = std::move(table);
    rank->tasks.reserve(tasks.size());
    for (const auto& [needs, at, delay, duration, unit, slices, free, followers] : tasks) {
        for (const std::uint32_t follower : followers) number_or_none(follower, tasks.size(), "task");
        rank->tasks.push_back({needs, at, delay, duration, unit, slices, free, followers});
    }
    return rank;
}

}  // namespace

void bind_ranks(nb::module_& m) {
    nb::class_<hosts::SliceTable>(
        m, "Slices",
        "Slices of a rank's array, each the payload of a frame.\n"
        "\n"
        "Args:\n"
        "    offsets: Offset of each slice in the array, in bytes.\n"
        "    sizes: Size of each slice in bytes.\n"
        "    cells: Cell of each slice.\n"
        "    order: Slices in the order of their first release.\n"
        "    count: Number of cells.\n"
        "\n"
        "ValueError if the lists differ in length, or a cell or slice number is out of range.")
        .def(nb::init<std::vector<std::uint64_t>, std::vector<std::uint32_t>, std::vector<std::uint32_t>,
                      std::vector<std::uint32_t>, std::size_t>(),
             nb::arg("offsets"), nb::arg("sizes"), nb::arg("cells"), nb::arg("order"), nb::arg("count"));
    const nb::class_<hosts::Rank> rank(
        m, "Rank", "Part of a rank in a schedule; agents of all its iterations share it.");
    m.def("rank", make_rank, nb::arg("slices"), nb::arg("rank"), nb::arg("ranks"), nb::arg("address"),
          nb::arg("dtype"), nb::arg("overlap"), nb::arg("peers"), nb::arg("sends"), nb::arg("plans"),
          nb::arg("of_cell"), nb::arg("tasks"),
          nb::sig("def rank(slices: Slices, rank: int, ranks: int, address: int, dtype: int, overlap: bool, "
                  "peers: collections.abc.Sequence[tuple[typing.Any, ...]], sends: "
                  "collections.abc.Sequence[tuple[int, int, int, int, int]], plans: "
                  "collections.abc.Sequence[tuple[collections.abc.Sequence[tuple[int, int, list[int], int]], "
                  "collections.abc.Sequence[list[int]]]], of_cell: collections.abc.Sequence[int], tasks: "
                  "collections.abc.Sequence[tuple[int, int, int, int, int, int, bool, list[int]]]) -> Rank"),
          "Return a rank's part of a schedule.\n"
          "\n"
          "Args:\n"
          "    slices: Slices of the rank's array.\n"
          "    rank: Number of the rank.\n"
          "    ranks: Number of ranks.\n"
          "    address: CNA of the rank.\n"
          "    dtype: Element type of the array.\n"
          "    overlap: False if the sends of a step wait for all arrivals of earlier steps.\n"
          "    peers: Other ranks that send to the rank or receive from it. A peer is (rank, CNA,\n"
          "        load-balance values of data by connection, load-balance values of acknowledgements\n"
          "        by connection, path of each bucket or None, weight of each bucket or an empty list,\n"
          "        fields of PathTiming for each path or an empty list, seed of the random choice of\n"
          "        connections or None).\n"
          "    sends: Transfers from the rank. A send is (step, index of the peer or -1 for the rank\n"
          "        itself, operation, shift in bytes, task or -1). The shift is the offset at the\n"
          "        receiver minus the offset at this rank.\n"
          "    plans: Distinct plans of cells. A plan is (phases, releases). A phase is (step,\n"
          "        operation, source ranks, task or -1). releases[i] has the indices of the sends that\n"
          "        may leave after i phases.\n"
          "    of_cell: Index of each cell's plan in `plans`.\n"
          "    tasks: Fields of emulation.traffic.schedule.tasks.Task for each task.\n"
          "\n"
          "ValueError if an index is out of range, or if a peer has no connection, or not a path and a\n"
          "weight for each bucket.");
}

}  // namespace railyard::python

// SPDX-License-Identifier: Apache-2.0
// Bindings of the agents of NPUs. A network runs an agent, or Python calls the agent for each event.
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <string>
#include <tuple>

#include "hosts/agent.h"
#include "hosts/concurrent.h"
#include "hosts/repeating_agent.h"
#include "hosts/saturator.h"
#include "network/events/partition.h"
#include "python/bind.h"
#include "python/bind_arrays.h"
#include "python/bind_congestion.h"

namespace railyard::python {

void to_answer(const nb::object& output, Actions& actions) {
    const nb::tuple pair = nb::cast<nb::tuple>(output);
    for (const nb::handle item : nb::cast<nb::list>(pair[0])) {
        const nb::tuple frame_and_vl = nb::cast<nb::tuple>(item);
        const std::string_view bytes = view(nb::cast<nb::bytes>(frame_and_vl[0]));
        actions.add(actions.pool.acquire(bytes.data(), bytes.size()), nb::cast<Vl>(frame_and_vl[1]));
    }
    actions.deadline.reset();
    if (!pair[1].is_none()) actions.deadline = nb::cast<Time>(pair[1]);
}

nb::object from_answer(const Actions& actions) {
    nb::list frames;
    for (const Actions::Departure& departure : actions.departures)
        frames.append(nb::make_tuple(to_bytes(departure.frame->view()), departure.vl));
    return nb::make_tuple(frames, actions.deadline ? nb::cast(*actions.deadline) : nb::none());
}

FramePool& loose_frames() {
    static auto* const pool = new FramePool;
    return *pool;
}

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

template <std::size_t kBytes>
std::array<std::uint8_t, kBytes> header(const nb::bytes& bytes) {
    if (bytes.size() != kBytes)
        throw std::invalid_argument("a header template has " + std::to_string(bytes.size()) +
                                    " bytes; give " + std::to_string(kBytes) + " bytes");
    std::array<std::uint8_t, kBytes> out{};
    std::copy_n(reinterpret_cast<const std::uint8_t*>(bytes.c_str()), kBytes, out.begin());
    return out;
}

PeerSpec peer_of(const PeerTuple& given) {
    PeerSpec peer;
    const auto& [rank, address, lbs, ack_lbs, paths, weights, timings, seed] = given;
    peer.rank = rank;
    peer.address = address;
    peer.lbs = lbs;
    peer.ack_lbs = ack_lbs;
    if (lbs.empty())
        throw std::invalid_argument("peer " + std::to_string(rank) +
                                    " has no connection; give at least one load-balance value of data");
    if (paths) {
        if (paths->size() != kBuckets || (!weights.empty() && weights.size() != kBuckets))
            throw std::invalid_argument("peer " + std::to_string(rank) + " has " +
                                        std::to_string(paths->size()) + " paths and " +
                                        std::to_string(weights.size()) + " weights; give " +
                                        std::to_string(kBuckets) + " paths, and as many weights or none");
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
    if (number < 0) return kNone;
    if (static_cast<std::uint64_t>(number) >= below)
        throw std::invalid_argument(std::string(what) + " " + std::to_string(number) + " is not below " +
                                    std::to_string(below));
    return static_cast<std::uint32_t>(number);
}

CellPlan plan_of(const PlanTuple& given, std::size_t tasks) {
    CellPlan plan;
    for (const auto& [step, op, sources, task] : given.first)
        plan.phases.push_back({step, op, sources, number_or_none(task, tasks, "task")});
    plan.releases = given.second;
    return plan;
}

std::shared_ptr<const Rank> make_rank(std::shared_ptr<const SliceTable> table, std::uint32_t number,
                                      std::uint32_t ranks, std::uint16_t address, std::uint8_t dtype,
                                      bool overlap, const std::vector<PeerTuple>& peers,
                                      const std::vector<SendTuple>& sends,
                                      const std::vector<PlanTuple>& plans, std::vector<std::uint32_t> of_cell,
                                      const std::vector<TaskTuple>& tasks) {
    auto rank = std::make_shared<Rank>();
    rank->rank = number;
    rank->ranks = ranks;
    rank->address = address;
    rank->dtype = dtype;
    rank->overlap = overlap;
    for (const PeerTuple& peer : peers) rank->peers.push_back(peer_of(peer));
    std::vector<Send> all_sends;
    all_sends.reserve(sends.size());
    for (const auto& [step, peer, op, shift, task] : sends)
        all_sends.push_back({step, number_or_none(peer, peers.size(), "peer"), op, shift,
                             number_or_none(task, tasks.size(), "task")});
    std::vector<CellPlan> distinct;
    distinct.reserve(plans.size());
    for (const PlanTuple& plan : plans) distinct.push_back(plan_of(plan, tasks.size()));
    rank->plan = std::make_shared<RankPlan>(*table, peers.size(), std::move(all_sends), std::move(distinct),
                                            std::move(of_cell));
    rank->table = std::move(table);
    std::vector<Task> own;
    own.reserve(tasks.size());
    for (const auto& [needs, at, delay, duration, unit, slices, free, followers] : tasks) {
        for (const std::uint32_t follower : followers) number_or_none(follower, tasks.size(), "task");
        own.push_back({needs, at, delay, duration, unit, slices, free, followers});
    }
    rank->tasks = std::make_shared<const std::vector<Task>>(std::move(own));
    return rank;
}

// Bytes of an array, which the agent copies.
using Data = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// invalid_argument if an array is shorter than a rank's slices.
void check_size(const Rank& rank, std::size_t bytes) {
    const SliceTable& table = *rank.table;
    for (std::size_t index = 0; index < table.offset.size(); ++index)
        if (table.offset[index] + table.size[index] > bytes)
            throw std::invalid_argument("the array has " + std::to_string(bytes) + " bytes, but slice " +
                                        std::to_string(index) + " ends at byte " +
                                        std::to_string(table.offset[index] + table.size[index]) +
                                        "; give a longer array");
}

Bytes to_data(const Rank& rank, const Data& data) {
    check_size(rank, data.size());
    return {data.data(), data.data() + data.size()};
}

template <typename Event>
nb::object actions_of(const Event& event) {
    Actions actions(loose_frames());
    event(actions);
    return from_answer(actions);
}

nb::object failure_of(const Participant& agent) {
    const auto failure = agent.failed();
    return failure ? nb::make_tuple(failure->peer, failure->psn, failure->at) : nb::object(nb::none());
}

nb::object stats_of(const Participant& agent) {
    const AgentStats s = agent.stats();
    nb::dict junk;
    for (const auto& [word, count] : s.junk) junk[word.c_str()] = count;
    return nb::make_tuple(s.sent, s.retransmitted, s.received, s.duplicates, s.acks_sent, s.acks_received,
                          s.rtt, junk, s.marked, s.trimmed);
}

nb::object reduction_of(const Participant& agent) {
    const auto s = agent.reduction();
    if (!s) return nb::none();
    return nb::make_tuple(s->read, s->written, s->busy, s->core, s->sram_peak, s->spilled);
}

// True for the CCU; rate in bit/s; SRAM in bytes; percentage of busy cores. No value: no limit.
using ReductionTuple =
    std::tuple<bool, std::optional<std::uint64_t>, std::optional<std::uint64_t>, std::uint32_t>;

std::optional<Reduction> reduction_from(const std::optional<ReductionTuple>& given) {
    if (!given) return std::nullopt;
    const auto& [ccu, rate, sram, percent] = *given;
    if (rate == 0)
        throw std::invalid_argument(
            "the reduction has a rate of 0 bit/s; give a positive rate, or None for no limit");
    return Reduction{ccu, rate, sram, percent};
}

void make_agent(Agent* self, std::shared_ptr<const Rank> rank, std::shared_ptr<Bytes> array,
                std::uint16_t job, const TransportParameters& parameters,
                const std::optional<ReductionTuple>& reduction) {
    const auto chosen = reduction_from(reduction);
    auto unit = chosen ? std::make_shared<ReductionUnit>(*chosen) : nullptr;
    new (self) Agent(std::move(rank), std::move(array), job, parameters, std::move(unit));
}

// Return the array's bytes, not a copy: the agent changes them until it has finished.
nb::object array_of(const Participant& agent) {
    auto* const shared = new std::shared_ptr<Bytes>(agent.result());
    const nb::capsule owner(shared, [](void* p) noexcept { delete static_cast<std::shared_ptr<Bytes>*>(p); });
    return nb::cast(
        nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>((*shared)->data(), {(*shared)->size()}, owner));
}

void bind_participant(nb::module_& m) {
    const nb::class_<Application> application(
        m, "Application",
        "Program on a host, in C++.\n"
        "\n"
        "While an application is the handler of a Network's host, only the network calls it.");
    nb::class_<Participant, Application>(
        m, "Participant",
        "Agent of an NPU in a collective; see emulation.traffic.host.agents.\n"
        "\n"
        "`start`, `on_frame` and `on_timer` take an event at time `now` in ps, and return the frames to\n"
        "send and the next deadline. A host without a network calls them.")
        .def(
            "start",
            [](Participant& p, Time now) { return actions_of([&](Actions& a) { p.start(now, a); }); },
            nb::arg("now"), nb::sig("def start(self, now: int) -> Output"))
        .def(
            "on_frame",
            [](Participant& p, const nb::bytes& frame, Time now) {
                return actions_of(
                    [&](Actions& a) { p.on_frame(a.pool.acquire(frame.c_str(), frame.size()), now, a); });
            },
            nb::arg("frame"), nb::arg("now"), nb::sig("def on_frame(self, frame: bytes, now: int) -> Output"))
        .def(
            "on_timer",
            [](Participant& p, Time now) { return actions_of([&](Actions& a) { p.on_timer(now, a); }); },
            nb::arg("now"), nb::sig("def on_timer(self, now: int) -> Output"))
        .def(
            "reroute",
            [](Participant& p, const Routes& routes, Time now) {
                return actions_of([&](Actions& a) { p.on_reroute(routes, now, a); });
            },
            nb::sig("def reroute(self, routes: list[tuple[int, int]], now: int, /) -> Output"),
            "Retransmit the frames in flight whose routes have changed.\n"
            "\n"
            "`routes` are pairs: the CNA of a destination, and a bit for each of its re-routed buckets.")
        .def(
            "call_when_done",
            [](Participant& p, nb::object call) { p.on_done = [call = std::move(call)] { call(); }; },
            nb::sig("def call_when_done(self, call: collections.abc.Callable[[], None], /) -> None"),
            "Set the function that is called when the collective or all iterations have ended.")
        .def(
            "call_at_silence",
            [](Participant& p, nb::object call) {
                // Shared, so that threads without the interpreter lock can copy it.
                const auto shared = std::make_shared<nb::object>(std::move(call));
                p.on_repath = [shared](std::uint16_t address, BucketSet buckets) {
                    if (!Partition::defer([=] { (*shared)(address, buckets); })) (*shared)(address, buckets);
                };
            },
            nb::sig("def call_at_silence(self, call: collections.abc.Callable[[int, int], None], /) -> None"),
            "Set the function that is called to ask for other paths to a peer.\n"
            "\n"
            "Its arguments are the peer's CNA, and a bit for each bucket whose path has fallen silent.")
        .def_prop_ro("done", [](const Participant& p) { return p.done(); })
        .def_prop_ro("finished_ps", [](const Participant& p) { return p.finished(); })
        .def("failure", failure_of, nb::sig("def failure(self) -> tuple[int, int, int] | None"),
             "Return (peer, PSN, time in ps) of a connection that the agent gave up; None if there is none.\n"
             "\n"
             "The peer is a rank, the PSN that of the oldest unacknowledged frame. A TreeMember returns\n"
             "(tree, block, time in ps) of a block whose result did not come.")
        .def_prop_ro(
            "received", [](const Participant& p) { return p.received(); },
            "Number of data frames that the agent has received so far.")
        .def(
            "delivered", [](const Participant& p) { return p.delivered(); },
            "Return (rank of the peer, bytes of payload that the peer has acknowledged) for each peer.")
        .def(
            "counts", stats_of,
            nb::sig("def counts(self) -> tuple[int, int, int, int, int, int, int, dict[str, int], int, int]"),
            "Return the values of AgentStats in the order of its fields, without `reduction`.")
        .def("reduction_counts", reduction_of,
             nb::sig("def reduction_counts(self) -> tuple[int, ...] | None"),
             "Return the values of ReductionStats in the order of its fields.\n"
             "\n"
             "None if the agent has no model of the NPU's reducer.")
        .def("array", array_of, nb::sig("def array(self) -> typing.Any"),
             "Return the bytes of the agent's array, without a copy.\n"
             "\n"
             "The agent changes them until it has finished.");
}

void bind_saturator(nb::module_& m) {
    nb::class_<SaturationBudget>(
        m, "Budget", "Counts that several Saturators share: frames left to send, and frames received.")
        .def(
            "__init__",
            [](SaturationBudget* self, std::uint64_t frames) { new (self) SaturationBudget{frames, 0}; },
            nb::sig("def __init__(self, frames: int, /) -> None"))
        .def_ro("left", &SaturationBudget::left)
        .def_ro("received", &SaturationBudget::received);
    nb::class_<Saturator, Application>(
        m, "Saturator",
        "Load generator that keeps a lossless fabric full; see emulation.traffic.host.saturate.\n"
        "\n"
        "It sends `at_first` frames at the start, then a frame for each received frame, while `budget`\n"
        "has frames left. Each frame is a random one of `frames`. `seed` is the integer that seeds a\n"
        "random.Random, as bytes, the most significant first. ValueError if `frames` is empty.")
        .def(
            "__init__",
            [](Saturator* self, const std::vector<nb::bytes>& frames, std::uint64_t at_first,
               const nb::bytes& seed, std::shared_ptr<SaturationBudget> budget) {
                std::vector<std::string> copies;
                copies.reserve(frames.size());
                for (const nb::bytes& frame : frames) copies.emplace_back(view(frame));
                new (self)
                    Saturator(std::move(copies), at_first, PythonRandom(view(seed)), std::move(budget));
            },
            nb::arg("frames"), nb::arg("at_first"), nb::arg("seed"), nb::arg("budget"));
}

}  // namespace

void bind_hosts(nb::module_& m) {
    nb::class_<SliceTable>(
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
    const nb::class_<Rank> rank(m, "Rank",
                                "Part of a rank in a schedule; agents of all its iterations share it.");
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
    nb::class_<TransportParameters>(
        m, "Transport",
        "Parameters of an agent's connections, as emulation.traffic.host.transport defines them.\n"
        "\n"
        "Parameters that TransportParameters does not have, or has in another form:\n"
        "    data: Template of the headers of data frames.\n"
        "    ack: Template of an acknowledgement.\n"
        "    congestion: Argument of congestion_control(); None for no congestion control.\n"
        "    credits: First credit in bytes and rate of all grants in bit/s, if receivers grant\n"
        "        credits; None if they do not.\n"
        "    spray: Name of the spraying algorithm; empty for none.\n"
        "    entropies: Number of load-balance values among which `spray` chooses.\n"
        "    seed: Seed of the spraying algorithm.\n"
        "\n"
        "ValueError for a window out of range, a template of a wrong length, an unknown algorithm,\n"
        "credits that are not positive, or `go_back` without `congestion`.")
        .def(
            "__init__",
            [](TransportParameters* self, std::uint32_t window, std::uint32_t ack_every, Time ack_delay,
               Time initial_rto, Time min_rto, Time path_rto, Time max_rto, int max_retries, int lb_mode,
               std::uint32_t first_psn, std::uint16_t first_queue, int level, bool adaptive,
               const nb::bytes& data, const nb::bytes& ack, const nb::object& congestion, bool lossy,
               const std::string& spray, std::uint32_t entropies, std::uint64_t seed,
               const std::optional<std::pair<std::int64_t, std::int64_t>>& credits, bool go_back) {
                if (window < 1 || window > kMaxWindow)
                    throw std::invalid_argument("the window is " + std::to_string(window) +
                                                " frames; give 1 to " + std::to_string(kMaxWindow));
                if (ack_every < 1 || ack_every > kMapFrames)
                    throw std::invalid_argument("an acknowledgement for " + std::to_string(ack_every) +
                                                " frames; give 1 to " + std::to_string(kMapFrames));
                new (self) TransportParameters{
                    window,      ack_every,
                    ack_delay,   initial_rto,
                    min_rto,     path_rto,
                    max_rto,     max_retries,
                    lb_mode,     first_psn,
                    first_queue, level,
                    adaptive,    {header<kDataHeaderBytes>(data), header<kAckBytes>(ack)}};
                self->lossy = lossy;
                if (go_back && congestion.is_none())
                    throw std::invalid_argument("go-back-N needs congestion control; give `congestion`");
                self->go_back = go_back;
                if (!spray.empty()) make_entropies(spray, entropies, seed);  // invalid_argument before a run
                self->spray = spray;
                self->entropies = entropies;
                self->seed = seed;
                if (congestion.is_none()) return;
                const ChosenCongestion chosen = chosen_congestion(congestion);
                self->congestion = chosen.make;
                self->frame_bytes = chosen.facts.frame_bytes;
                if (!credits) return;
                if (credits->first < 1 || credits->second < 1)
                    throw std::invalid_argument("the first credit is " + std::to_string(credits->first) +
                                                " bytes and the rate of credits " +
                                                std::to_string(credits->second) +
                                                " bit/s; give positive values");
                self->credits = CreditParameters{credits->first, credits->second};
            },
            nb::kw_only(), nb::arg("window"), nb::arg("ack_every"), nb::arg("ack_delay_ps"),
            nb::arg("initial_rto_ps"), nb::arg("min_rto_ps"), nb::arg("path_rto_ps"), nb::arg("max_rto_ps"),
            nb::arg("max_retries"), nb::arg("lb_mode"), nb::arg("first_psn"), nb::arg("first_queue"),
            nb::arg("level"), nb::arg("adaptive"), nb::arg("data"), nb::arg("ack"),
            nb::arg("congestion") = nb::none(), nb::arg("lossy") = false, nb::arg("spray") = "",
            nb::arg("entropies") = 256, nb::arg("seed") = 0, nb::arg("credits") = nb::none(),
            nb::arg("go_back") = false);
    bind_congestion(m);
    bind_entropies(m);
    bind_participant(m);
    bind_saturator(m);
    nb::class_<Agent, Participant>(
        m, "Agent",
        "Agent of a rank in a collective or a traffic graph.\n"
        "\n"
        "`data` is the rank's array: bytes, which the agent copies, or an AgentArray, which it takes\n"
        "over. ValueError if the array is too short for the rank's slices.")
        .def(
            "__init__",
            [](Agent* self, std::shared_ptr<const Rank> rank, const Data& data, std::uint16_t job,
               const TransportParameters& parameters, const std::optional<ReductionTuple>& reduction) {
                auto array = std::make_shared<Bytes>(to_data(*rank, data));
                make_agent(self, std::move(rank), std::move(array), job, parameters, reduction);
            },
            nb::arg("rank"), nb::arg("data"), nb::arg("job"), nb::arg("parameters"),
            nb::arg("reduction") = nb::none(),
            "Create an agent.\n"
            "\n"
            "`reduction` is (True for the CCU, rate in bit/s or None, SRAM in bytes or None, percentage of\n"
            "busy cores); None: reductions take no time. See emulation.traffic.host.reduction.")
        .def(
            "__init__",
            [](Agent* self, std::shared_ptr<const Rank> rank, AgentArray& data, std::uint16_t job,
               const TransportParameters& parameters, const std::optional<ReductionTuple>& reduction) {
                check_size(*rank, data.elements * sizeof(std::uint32_t));
                make_agent(self, std::move(rank), data.take(), job, parameters, reduction);
            },
            nb::arg("rank"), nb::arg("data"), nb::arg("job"), nb::arg("parameters"),
            nb::arg("reduction") = nb::none(),
            "Create an agent.\n"
            "\n"
            "`reduction` is (True for the CCU, rate in bit/s or None, SRAM in bytes or None, percentage of\n"
            "busy cores); None: reductions take no time. See emulation.traffic.host.reduction.")
        .def_prop_ro("longest", &Agent::longest,
                     "Largest number of frames that are still to be sent to one peer.")
        .def_prop_ro(
            "spans",
            [](const Agent& agent) {
                nb::list spans;
                for (const Progress::Span& span : agent.times())
                    spans.append(nb::make_tuple(span.opened, span.ended));
                return spans;
            },
            nb::for_getter(nb::sig("def spans(self, /) -> list[tuple[int, int]]")),
            "Opening time and end time of each task, in ps.\n"
            "\n"
            "-1 is a time still to come. The list is empty if the rank has no tasks.");
    nb::class_<Concurrent, Participant>(
        m, "Concurrent",
        "Agents of an NPU in collectives that begin and end independently.\n"
        "\n"
        "Each agent has a range of queue numbers; the queue number of a frame selects the agent. See\n"
        "emulation.traffic.host.concurrent.")
        .def(nb::init<>())
        .def("add", &Concurrent::add, nb::arg("agent"), nb::arg("first_queue"), nb::arg("queues"),
             "Add an agent; the next start() starts the agent.\n"
             "\n"
             "The agent gets the queue numbers `first_queue` to `first_queue` + `queues` - 1. ValueError if\n"
             "another agent has any of these numbers, or they exceed 16 bits.")
        .def("remove", &Concurrent::remove, nb::arg("first_queue"),
             "Remove the agent whose first queue number is `first_queue`; its later frames count as junk.")
        .def(
            "call_at_end",
            [](Concurrent& c, nb::object call) {
                c.on_end = [call = std::move(call)](std::uint16_t first) { call(first); };
            },
            nb::sig("def call_at_end(self, call: collections.abc.Callable[[int], None], /) -> None"),
            "Set the function that is called with the first queue number of each agent that ends.\n"
            "\n"
            "An agent ends when its result is final, or when it gives up. An agent that receives nothing\n"
            "ends when all its frames are acknowledged.");
    nb::class_<RepeatingAgent, Participant>(
        m, "RepeatingAgent",
        "Agent of a rank in a training job, which alternates computation and a collective.\n"
        "\n"
        "See emulation.traffic.host.iterations for `iterations`, `compute_ps` and `overlap_ps`.")
        .def(
            "__init__",
            [](RepeatingAgent* self, std::shared_ptr<const Rank> rank, const Data& data,
               std::uint32_t iterations, Time compute, Time overlap, const TransportParameters& parameters,
               const std::optional<ReductionTuple>& reduction) {
                Bytes bytes = to_data(*rank, data);
                new (self) RepeatingAgent(std::move(rank), std::move(bytes), {iterations, compute, overlap},
                                          parameters, reduction_from(reduction));
            },
            nb::arg("rank"), nb::arg("data"), nb::arg("iterations"), nb::arg("compute_ps"),
            nb::arg("overlap_ps"), nb::arg("parameters"), nb::arg("reduction") = nb::none())
        .def_prop_ro("longest", &RepeatingAgent::longest,
                     "Largest number of frames of an iteration that are still to be sent to one peer.")
        .def(
            "call_at_iteration",
            [](RepeatingAgent& i, nb::object call) {
                i.on_iteration = [call = std::move(call)](std::uint32_t number) { call(number); };
            },
            nb::sig("def call_at_iteration(self, call: collections.abc.Callable[[int], None], /) -> None"),
            "Set the function that is called with the number of each iteration that ends.")
        .def(
            "use_level",
            [](RepeatingAgent& i, int level, const nb::bytes& data, const nb::bytes& ack) {
                i.set_level(level, {header<kDataHeaderBytes>(data), header<kAckBytes>(ack)});
            },
            nb::sig("def use_level(self, level: int, data: bytes, ack: bytes, /) -> None"),
            "Set the service level of data and the frame templates.\n"
            "\n"
            "They apply to iterations that have neither begun nor received a frame.")
        .def(
            "reports",
            [](const RepeatingAgent& i) {
                nb::list out;
                for (const IterationReport& r : i.log())
                    out.append(nb::make_tuple(r.begun, r.send, r.sent, r.end, r.checksum));
                return out;
            },
            nb::sig("def reports(self) -> list[tuple[int, int, int, int, int]]"),
            "Return the fields of IterationReport for each iteration that has ended.");
}

}  // namespace railyard::python

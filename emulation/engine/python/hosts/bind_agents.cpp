// SPDX-License-Identifier: Apache-2.0
// Bindings of the agents of ranks, and of the parameters of their connections.
#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "hosts/agent.h"
#include "hosts/concurrent.h"
#include "hosts/repeating_agent.h"
#include "python/bind.h"
#include "python/hosts/bind_arrays.h"
#include "python/hosts/bind_congestion.h"
#include "python/hosts/bind_hosts.h"

namespace railyard::python {

namespace {

template <std::size_t kBytes>
std::array<std::uint8_t, kBytes> header(const nb::bytes& bytes) {
    if (bytes.size() != kBytes)
        throw std::invalid_argument("a header template has " + std::to_string(bytes.size()) +
                                    " bytes; give " + std::to_string(kBytes) + " bytes");
    std::array<std::uint8_t, kBytes> out{};
    std::copy_n(reinterpret_cast<const std::uint8_t*>(bytes.c_str()), kBytes, out.begin());
    return out;
}

// First credit in bytes and rate of all grants in bit/s.
hosts::CreditParameters credits_of(const std::pair<Bytes, Rate>& given) {
    const auto& [first, rate] = given;
    if (first < Bytes(1) || rate < Rate(1))
        throw std::invalid_argument("the first credit is " + to_string(first) +
                                    " bytes and the rate of credits " + to_string(rate) +
                                    " bit/s; give positive values");
    return {first, rate};
}

// Bytes of an array, which the agent copies.
using Data = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// invalid_argument if an array is shorter than a rank's slices.
void check_size(const hosts::Rank& rank, std::size_t bytes) {
    const hosts::SliceTable& table = *rank.table;
    for (std::size_t index = 0; index < table.offset.size(); ++index)
        if (table.offset[index] + table.size[index] > bytes)
            throw std::invalid_argument("the array has " + std::to_string(bytes) + " bytes, but slice " +
                                        std::to_string(index) + " ends at byte " +
                                        std::to_string(table.offset[index] + table.size[index]) +
                                        "; give a longer array");
}

hosts::ByteArray to_data(const hosts::Rank& rank, const Data& data) {
    check_size(rank, data.size());
    return {data.data(), data.data() + data.size()};
}

// True for the CCU; rate in bit/s; SRAM in bytes; percentage of busy cores. No value: no limit.
using ReductionTuple = std::tuple<bool, std::optional<Rate>, std::optional<std::uint64_t>, std::uint32_t>;

std::optional<hosts::Reduction> reduction_from(const std::optional<ReductionTuple>& given) {
    if (!given) return std::nullopt;
    const auto& [ccu, rate, sram, percent] = *given;
    if (rate && *rate < Rate(1))
        throw std::invalid_argument("the reduction has a rate of " + to_string(*rate) +
                                    " bit/s; give a positive rate, or None for no limit");
    hosts::Reduction out{.ccu = ccu, .core_percent = percent};
    if (rate) out.rate = *rate;
    if (sram) out.sram_bytes = Bytes(*sram);
    return out;
}

void make_agent(hosts::Agent* self, std::shared_ptr<const hosts::Rank> rank,
                std::shared_ptr<hosts::ByteArray> array, std::uint16_t job,
                const hosts::TransportParameters& parameters,
                const std::optional<ReductionTuple>& reduction) {
    const auto chosen = reduction_from(reduction);
    auto unit = chosen ? std::make_shared<hosts::ReductionUnit>(*chosen) : nullptr;
    new (self) hosts::Agent(std::move(rank), std::move(array), job, parameters, std::move(unit));
}

}  // namespace

void bind_transport(nb::module_& m) {
    nb::class_<hosts::TransportParameters>(
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
            [](hosts::TransportParameters* self, std::uint32_t window, std::uint32_t ack_every,
               Time ack_delay, Time initial_rto, Time min_rto, Time path_rto, Time max_rto, int max_retries,
               int lb_mode, std::uint32_t first_psn, std::uint16_t first_queue, int level, bool adaptive,
               const nb::bytes& data, const nb::bytes& ack, const nb::object& congestion, bool lossy,
               const std::string& spray, std::uint32_t entropies, std::uint64_t seed,
               const std::optional<std::pair<Bytes, Rate>>& credits, bool go_back) {
                if (window < 1 || window > hosts::kMaxWindow)
                    throw std::invalid_argument("the window is " + std::to_string(window) +
                                                " frames; give 1 to " + std::to_string(hosts::kMaxWindow));
                if (ack_every < 1 || ack_every > hosts::kMapFrames)
                    throw std::invalid_argument("an acknowledgement for " + std::to_string(ack_every) +
                                                " frames; give 1 to " + std::to_string(hosts::kMapFrames));
                if (go_back && congestion.is_none())
                    throw std::invalid_argument("go-back-N needs congestion control; give `congestion`");
                if (!spray.empty())
                    hosts::make_entropies(spray, entropies, seed);  // invalid_argument before a run
                hosts::TransportParameters parameters;
                parameters.window = window;
                parameters.ack_every = ack_every;
                parameters.ack_delay = ack_delay;
                parameters.initial_rto = initial_rto;
                parameters.min_rto = min_rto;
                parameters.path_rto = path_rto;
                parameters.max_rto = max_rto;
                parameters.max_retries = max_retries;
                parameters.lb_mode = lb_mode;
                parameters.first_psn = first_psn;
                parameters.first_queue = first_queue;
                parameters.level = level;
                parameters.adaptive = adaptive;
                parameters.templates = {header<hosts::kDataHeaderBytes>(data), header<hosts::kAckBytes>(ack)};
                parameters.lossy = lossy;
                parameters.go_back = go_back;
                parameters.spray = spray;
                parameters.entropies = entropies;
                parameters.seed = seed;
                if (!congestion.is_none()) {
                    const ChosenCongestion chosen = chosen_congestion(congestion);
                    parameters.congestion = chosen.make;
                    parameters.frame_bytes = chosen.facts.frame_bytes;
                    if (credits) parameters.credits = credits_of(*credits);
                }
                new (self) hosts::TransportParameters(std::move(parameters));
            },
            nb::kw_only(), nb::arg("window"), nb::arg("ack_every"), nb::arg("ack_delay_ps"),
            nb::arg("initial_rto_ps"), nb::arg("min_rto_ps"), nb::arg("path_rto_ps"), nb::arg("max_rto_ps"),
            nb::arg("max_retries"), nb::arg("lb_mode"), nb::arg("first_psn"), nb::arg("first_queue"),
            nb::arg("level"), nb::arg("adaptive"), nb::arg("data"), nb::arg("ack"),
            nb::arg("congestion") = nb::none(), nb::arg("lossy") = false, nb::arg("spray") = "",
            nb::arg("entropies") = 256, nb::arg("seed") = 0, nb::arg("credits") = nb::none(),
            nb::arg("go_back") = false);
}

void bind_agents(nb::module_& m) {
    nb::class_<hosts::Agent, hosts::Participant>(
        m, "Agent",
        "Agent of a rank in a collective or a traffic graph.\n"
        "\n"
        "`data` is the rank's array: bytes, which the agent copies, or an AgentArray, which it takes\n"
        "over. ValueError if the array is too short for the rank's slices.")
        .def(
            "__init__",
            [](hosts::Agent* self, std::shared_ptr<const hosts::Rank> rank, const Data& data,
               std::uint16_t job, const hosts::TransportParameters& parameters,
               const std::optional<ReductionTuple>& reduction) {
                auto array = std::make_shared<hosts::ByteArray>(to_data(*rank, data));
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
            [](hosts::Agent* self, std::shared_ptr<const hosts::Rank> rank, AgentArray& data,
               std::uint16_t job, const hosts::TransportParameters& parameters,
               const std::optional<ReductionTuple>& reduction) {
                check_size(*rank, data.elements * sizeof(std::uint32_t));
                make_agent(self, std::move(rank), data.take(), job, parameters, reduction);
            },
            nb::arg("rank"), nb::arg("data"), nb::arg("job"), nb::arg("parameters"),
            nb::arg("reduction") = nb::none(),
            "Create an agent.\n"
            "\n"
            "`reduction` is (True for the CCU, rate in bit/s or None, SRAM in bytes or None, percentage of\n"
            "busy cores); None: reductions take no time. See emulation.traffic.host.reduction.")
        .def_prop_ro("longest", &hosts::Agent::longest,
                     "Largest number of frames that are still to be sent to one peer.")
        .def_prop_ro(
            "spans",
            [](const hosts::Agent& agent) {
                nb::list spans;
                for (const hosts::Progress::Span& span : agent.times())
                    spans.append(nb::make_tuple(span.opened, span.ended));
                return spans;
            },
            nb::for_getter(nb::sig("def spans(self, /) -> list[tuple[int, int]]")),
            "Opening time and end time of each task, in ps.\n"
            "\n"
            "-1 is a time still to come. The list is empty if the rank has no tasks.");
    nb::class_<hosts::Concurrent, hosts::Participant>(
        m, "Concurrent",
        "Agents of an NPU in collectives that begin and end independently.\n"
        "\n"
        "Each agent has a range of queue numbers; the queue number of a frame selects the agent. See\n"
        "emulation.traffic.host.concurrent.")
        .def(nb::init<>())
        .def("add", &hosts::Concurrent::add, nb::arg("agent"), nb::arg("first_queue"), nb::arg("queues"),
             "Add an agent; the next start() starts the agent.\n"
             "\n"
             "The agent gets the queue numbers `first_queue` to `first_queue` + `queues` - 1. ValueError if\n"
             "another agent has any of these numbers, or they exceed 16 bits.")
        .def("remove", &hosts::Concurrent::remove, nb::arg("first_queue"),
             "Remove the agent whose first queue number is `first_queue`; its later frames count as junk.")
        .def(
            "call_at_end",
            [](hosts::Concurrent& c, nb::object call) {
                c.on_end = [call = std::move(call)](std::uint16_t first) { call(first); };
            },
            nb::sig("def call_at_end(self, call: collections.abc.Callable[[int], None], /) -> None"),
            "Set the function that is called with the first queue number of each agent that ends.\n"
            "\n"
            "An agent ends when its result is final, or when it gives up. An agent that receives nothing\n"
            "ends when all its frames are acknowledged.");
    nb::class_<hosts::RepeatingAgent, hosts::Participant>(
        m, "RepeatingAgent",
        "Agent of a rank in a training job, which alternates computation and a collective.\n"
        "\n"
        "See emulation.traffic.host.iterations for `iterations`, `compute_ps` and `overlap_ps`.")
        .def(
            "__init__",
            [](hosts::RepeatingAgent* self, std::shared_ptr<const hosts::Rank> rank, const Data& data,
               std::uint32_t iterations, Time compute, Time overlap,
               const hosts::TransportParameters& parameters, const std::optional<ReductionTuple>& reduction) {
                hosts::ByteArray bytes = to_data(*rank, data);
                new (self)
                    hosts::RepeatingAgent(std::move(rank), std::move(bytes), {iterations, compute, overlap},
                                          parameters, reduction_from(reduction));
            },
            nb::arg("rank"), nb::arg("data"), nb::arg("iterations"), nb::arg("compute_ps"),
            nb::arg("overlap_ps"), nb::arg("parameters"), nb::arg("reduction") = nb::none())
        .def_prop_ro("longest", &hosts::RepeatingAgent::longest,
                     "Largest number of frames of an iteration that are still to be sent to one peer.")
        .def(
            "call_at_iteration",
            [](hosts::RepeatingAgent& i, nb::object call) {
                i.on_iteration = [call = std::move(call)](std::uint32_t number) { call(number); };
            },
            nb::sig("def call_at_iteration(self, call: collections.abc.Callable[[int], None], /) -> None"),
            "Set the function that is called with the number of each iteration that ends.")
        .def(
            "use_level",
            [](hosts::RepeatingAgent& i, int level, const nb::bytes& data, const nb::bytes& ack) {
                i.set_level(level, {header<hosts::kDataHeaderBytes>(data), header<hosts::kAckBytes>(ack)});
            },
            nb::sig("def use_level(self, level: int, data: bytes, ack: bytes, /) -> None"),
            "Set the service level of data and the frame templates.\n"
            "\n"
            "They apply to iterations that have neither begun nor received a frame.")
        .def(
            "reports",
            [](const hosts::RepeatingAgent& i) {
                nb::list out;
                for (const hosts::IterationReport& r : i.log())
                    out.append(nb::make_tuple(r.begun, r.send, r.sent, r.end, r.checksum));
                return out;
            },
            nb::sig("def reports(self) -> list[tuple[int, int, int, int, int]]"),
            "Return the fields of IterationReport for each iteration that has ended.");
}

}  // namespace railyard::python

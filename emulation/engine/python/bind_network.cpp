// SPDX-License-Identifier: Apache-2.0
// The network in virtual time, and stations in Python.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "frames/cna24.h"
#include "network/network.h"
#include "python/bind.h"
#include "switch/passes.h"

namespace railyard {

namespace {

// A handler in Python: on_frame(bytes, now) and on_timer(now) return ([(frame, vl), ...], deadline or None).
class PythonStation : public Station {
   public:
    explicit PythonStation(nb::object handler) : handler_(std::move(handler)) {}

    void start(Time now, Answer& answer) override { to_answer(handler_.attr("start")(now), answer); }
    void on_frame(FrameHandle frame, Time now, Answer& answer) override {
        const nb::bytes bytes = to_bytes(frame->view());
        frame.reset();
        to_answer(handler_.attr("on_frame")(bytes, now), answer);
    }
    void on_timer(Time now, Answer& answer) override { to_answer(handler_.attr("on_timer")(now), answer); }

   private:
    nb::object handler_;
};

// A conversion of a frame's headers, for the control plane.
nb::bytes converted(const nb::bytes& bytes, void (*convert)(Frame&)) {
    FramePool pool;
    const FrameHandle frame = pool.acquire(bytes.c_str(), bytes.size());
    convert(*frame);
    return to_bytes(frame->view());
}

}  // namespace

std::shared_ptr<Station> station_of(const nb::object& handler) {
    if (handler.is_none()) return nullptr;
    if (nb::isinstance<Station>(handler)) return nb::cast<std::shared_ptr<Station>>(handler);
    return std::make_shared<PythonStation>(handler);
}

namespace {

LinkConfig link_config(std::int64_t rate, Time delay, std::int64_t credit, std::int64_t queue,
                       const std::string& scheduler, const std::optional<std::vector<std::int64_t>>& quanta) {
    static const char* const kNames[] = {"strict", "round-robin", "deficit"};
    LinkConfig config{rate, delay, credit, queue};
    const auto* name = std::find(std::begin(kNames), std::end(kNames), scheduler);
    if (name == std::end(kNames))
        throw std::invalid_argument("scheduler " + scheduler + " is none of strict, round-robin, deficit");
    config.scheduler = static_cast<Scheduler>(name - std::begin(kNames));
    config.quanta.fill(4096);
    if (quanta && quanta->size() != kPriorities)
        throw std::invalid_argument(std::to_string(quanta->size()) +
                                    " quanta; there must be one for each of the " +
                                    std::to_string(kPriorities) + " VLs");
    if (quanta) std::copy(quanta->begin(), quanta->end(), config.quanta.begin());
    return config;
}

nb::dict stats_of(const Channel& c, const std::vector<int>& vls) {
    std::vector<std::uint64_t> by_vl(vls.size());
    for (std::size_t lane = 0; lane < vls.size(); ++lane)
        by_vl[static_cast<std::size_t>(vls[lane])] = c.lanes[lane].sent;
    nb::dict d;
    d["frames"] = std::accumulate(by_vl.begin(), by_vl.end(), std::uint64_t{0});
    d["bytes"] = c.load.bytes;
    d["busy_ps"] = c.load.busy;
    d["lost"] = c.losses.lost;
    d["impaired"] = c.losses.impaired;
    d["refused_down"] = c.losses.refused_down;
    d["refused_full"] = c.losses.refused_full;
    d["max_queued_bytes"] = c.load.max_queued_bytes;
    d["frames_by_vl"] = by_vl;
    return d;
}

void bind_time(nb::class_<Network, SwitchSet>& c) {
    c.def(
         "add_switch",
         [](Network& n, const std::string& name, std::uint32_t cpu_port, std::uint32_t partition) {
             const SetLock lock(n);
             return n.add_switch(name, cpu_port, partition);
         },
         nb::arg("name"), nb::arg("cpu_port") = 510, nb::kw_only(), nb::arg("partition") = 0)
        .def(
            "set_threads",
            [](Network& n, std::size_t threads) {
                const SetLock lock(n);
                n.set_threads(threads);
            },
            nb::arg("threads"))
        .def("window_report",
             [](const Network& n) {
                 const WindowReport report = n.window_report();
                 nb::list threads;
                 for (const ThreadWork& work : report.threads)
                     threads.append(nb::make_tuple(work.events, work.seconds, work.waiting_seconds));
                 nb::dict d;
                 d["threads"] = threads;
                 d["windows"] = report.windows;
                 d["events_outside"] = report.events;
                 d["frames_crossed"] = report.frames;
                 d["merge_seconds"] = report.merge_seconds;
                 d["slowest_seconds"] = report.slowest_seconds;
                 d["delay_ps"] = report.delay;
                 return d;
             })
        .def_prop_ro("hops", [](Network& n) { return n.hops(); })
        .def_prop_ro("frames_without_link", [](Network& n) { return n.frames_without_link(); })
        .def(
            "connect",
            [](Network& n, Index<Switch> a, int pa, Index<Switch> b, int pb, std::int64_t rate, Time delay,
               std::int64_t credit, std::int64_t queue, const std::string& scheduler,
               const std::optional<std::vector<std::int64_t>>& quanta, bool plugged) {
                return n.connect(a, pa, b, pb, link_config(rate, delay, credit, queue, scheduler, quanta),
                                 plugged);
            },
            nb::arg("sw_a"), nb::arg("port_a"), nb::arg("sw_b"), nb::arg("port_b"), nb::arg("rate_bps"),
            nb::arg("delay_ps"), nb::arg("credit_bytes"), nb::arg("queue_bytes") = 1 << 20, nb::kw_only(),
            nb::arg("scheduler") = "strict", nb::arg("quanta") = nb::none(), nb::arg("plugged") = true)
        .def(
            "attach_host",
            [](Network& n, Index<Switch> sw, int port, std::int64_t rate, Time delay, std::int64_t credit,
               std::int64_t queue, const std::string& scheduler,
               const std::optional<std::vector<std::int64_t>>& quanta) {
                return n.attach_host(sw, port, link_config(rate, delay, credit, queue, scheduler, quanta));
            },
            nb::arg("switch"), nb::arg("port"), nb::arg("rate_bps"), nb::arg("delay_ps"),
            nb::arg("credit_bytes"), nb::arg("queue_bytes") = 1 << 20, nb::kw_only(),
            nb::arg("scheduler") = "strict", nb::arg("quanta") = nb::none())
        .def(
            "set_lanes",
            [](Network& n, std::uint32_t bit, const std::vector<int>& vls) { n.links().lanes.set(bit, vls); },
            nb::arg("bit"), nb::arg("vls"))
        .def("set_cna24", [](Network& n) { n.hosts().set_cna24(); })
        .def(
            "set_handler",
            [](Network& n, Index<Host> host, const nb::object& handler) {
                n.set_station(host, station_of(handler));
            },
            nb::arg("host"), nb::arg("handler").none())
        .def("start", [](Network& n, Index<Host> host) { n.start(host); })
        .def("act",
             [](Network& n, Index<Host> host, const nb::object& output) {
                 Answer answer(n.pool_of(host));
                 to_answer(output, answer);
                 n.act(host, answer);
             })
        .def("send", [](Network& n, Index<Host> host, const nb::bytes& frame,
                        int vl) { n.send(host, view(frame), vl); })
        .def("alarm", [](Network& n, Time time, std::int64_t token) { n.alarm(time, token); })
        .def("set_link", [](Network& n, Index<Link> link, bool up) { n.set_link(link, up); })
        .def("set_host_link", [](Network& n, Index<Host> host, bool up) { n.set_host_link(host, up); })
        .def("plug", [](Network& n, Index<Link> link) { n.links().plug(link); })
        .def(
            "impair",
            [](Network& n, Index<Link> link, int direction, bool blocked, double loss,
               std::optional<std::int64_t> rate, Time delay) {
                n.links().impair(link, direction,
                                 {.blocked = blocked, .loss = loss, .rate_bps = rate, .extra_delay = delay});
            },
            nb::arg("link"), nb::arg("direction"), nb::kw_only(), nb::arg("blocked") = false,
            nb::arg("loss") = 0.0, nb::arg("rate_bps") = nb::none(), nb::arg("extra_delay_ps") = 0)
        .def("set_seed", [](Network& n, std::uint64_t seed) { n.links().set_seed(seed); })
        .def(
            "record",
            [](Network& n, Index<Link> link, const std::string& path, std::optional<int> direction) {
                n.links().record(link, direction, path);
            },
            nb::arg("link"), nb::arg("path"), nb::arg("direction") = nb::none())
        .def("end_recordings", [](Network& n) { n.links().end_recordings(); })
        .def("keep_recent",
             [](Network& n, Index<Link> link, std::size_t most) { n.links().keep_recent(link, most); })
        .def("recent",
             [](Network& n, Index<Link> link) {
                 nb::list out;
                 for (const RecentFrames::Item& item : n.links().recent(link))
                     out.append(nb::make_tuple(item.number, item.time, item.direction, to_bytes(item.bytes)));
                 return out;
             })
        .def(
            "run",
            [](Network& n, std::optional<Time> until, std::uint64_t events) {
                // Signal handlers of Python run between slices.
                constexpr std::uint64_t kSlice = 1 << 16;
                for (std::uint64_t left = events;;) {
                    const std::uint64_t slice = std::min(left, kSlice);
                    const RunEnd end = n.run(until.value_or(kForever), slice, events != ~0ULL);
                    left -= slice;
                    if (end != RunEnd::Paused || left == 0) return static_cast<int>(end);
                    if (PyErr_CheckSignals() != 0) throw nb::python_error();
                }
            },
            nb::arg("until_ps") = nb::none(), nb::arg("events") = ~0ULL)
        .def("set_tolerant", [](Network& n, bool tolerant) { n.set_tolerant(tolerant); })
        .def_prop_ro("frames_failed", [](Network& n) { return n.frames_failed(); })
        .def("link_stats",
             [](Network& n, Index<Link> link, int direction) {
                 return stats_of(n.links().channel(link, direction), n.links().lanes.vls());
             })
        .def("host_stats",
             [](Network& n, Index<Host> host, int direction) {
                 return stats_of(n.host_channel(host, direction), n.links().lanes.vls());
             })
        .def("sample",
             [](Network& n) {
                 const LinkSample seen = n.sample();
                 return nb::make_tuple(to_bytes(seen.load), to_bytes(seen.queue), to_bytes(seen.state));
             })
        .def("queued_by_vl", [](Network& n, Index<Link> link,
                                int direction) { return n.links().queued_by_vl(link, direction); })
        .def("deadlock",
             [](Network& n) {
                 nb::list out;
                 for (const auto& w : n.deadlock())
                     out.append(w.link ? nb::make_tuple(w.link, w.direction, w.vl)
                                       : nb::make_tuple(w.link, w.host, w.vl));
                 return out;
             })
        .def(
            "set_bin", [](Network& n, Time width, std::size_t vls) { n.hosts().set_bin(width, vls); },
            nb::arg("width_ps"), nb::arg("vls") = kVls)
        .def("delivered_bins", [](Network& n) { return n.delivered_bins(); })
        .def("delivered_bytes",
             [](Network& n) {
                 const auto& bins = n.delivered_bins();
                 return std::accumulate(bins.begin(), bins.end(), std::uint64_t{0});
             })
        .def("process",
             [](Network& n, Index<Switch> sw, std::uint32_t port, const nb::bytes& frame) {
                 nb::list out;
                 for (const auto& [egress, bytes] : process(n, sw, port, view(frame)))
                     out.append(nb::make_tuple(egress, to_bytes(bytes)));
                 return out;
             })
        .def("trace",
             [](Network& n, Index<Switch> sw, std::uint32_t port, const nb::bytes& frame) {
                 const LockedSwitch s(n, sw);
                 if (!s.program().traced)
                     throw std::invalid_argument("switch " + s->name() + " runs a program without notes");
                 std::vector<TraceStep> steps;
                 nb::list sent;
                 for (const auto& [egress, bytes] : trace(n, sw, port, view(frame), steps))
                     sent.append(nb::make_tuple(egress, to_bytes(bytes)));
                 return nb::make_tuple(sent, from_trace(s.program(), steps));
             })
        .def(
            "bench",
            [](Network& n, Index<Switch> sw, std::uint32_t port, const nb::bytes& frame, std::uint64_t count,
               bool copy_only) { return bench(n, sw, port, view(frame), count, copy_only); },
            nb::arg("switch"), nb::arg("port"), nb::arg("frame"), nb::arg("count"),
            nb::arg("copy_only") = false);
}

}  // namespace

void bind_network(nb::module_& m) {
    const nb::exception<PartitionError> partition_error(m, "PartitionError", PyExc_RuntimeError);
    nb::class_<Network, SwitchSet> network(m, "Network", "Switches, hosts and links. One thread at a time.");
    network.def(nb::init<>());
    bind_time(network);
    m.def("to_cna24", [](const nb::bytes& frame) { return converted(frame, to_cna24); });
    m.def("from_cna24", [](const nb::bytes& frame) { return converted(frame, from_cna24); });
}

}  // namespace railyard

// SPDX-License-Identifier: Apache-2.0
// Bindings of Network, and the wrapper of Python handlers as applications.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "frames/cna24.h"
#include "network/network.h"
#include "python/bind.h"
#include "switch/passes.h"

namespace railyard::python {

namespace {

// Wrapper of a Python handler as an application. The handler's start(now), on_frame(bytes, now) and
// on_timer(now) return ([(frame, vl), ...], deadline or None).
class PythonStation : public Application {
   public:
    explicit PythonStation(nb::object handler) : handler_(std::move(handler)) {}

    void start(Time now, Actions& actions) override { to_answer(handler_.attr("start")(now), actions); }
    void on_frame(FrameHandle frame, Time now, Actions& actions) override {
        const nb::bytes bytes = to_bytes(frame->view());
        frame.reset();
        to_answer(handler_.attr("on_frame")(bytes, now), actions);
    }
    void on_timer(Time now, Actions& actions) override { to_answer(handler_.attr("on_timer")(now), actions); }

   private:
    nb::object handler_;
};

// Return a copy of a frame whose headers `convert` has converted.
nb::bytes converted(const nb::bytes& bytes, void (*convert)(Frame&)) {
    FramePool pool;
    const FrameHandle frame = pool.acquire(bytes.c_str(), bytes.size());
    convert(*frame);
    return to_bytes(frame->view());
}

}  // namespace

std::shared_ptr<Application> application_of(const nb::object& handler) {
    if (handler.is_none()) return nullptr;
    if (nb::isinstance<Application>(handler)) return nb::cast<std::shared_ptr<Application>>(handler);
    return std::make_shared<PythonStation>(handler);
}

namespace {

LinkConfig link_config(std::int64_t rate, Time delay, std::int64_t credit, std::int64_t queue,
                       const std::string& scheduler, const std::optional<std::vector<std::int64_t>>& quanta,
                       std::shared_ptr<const QueuePolicy> policy = nullptr) {
    static const char* const kNames[] = {"strict", "round-robin", "deficit"};
    LinkConfig config{rate, delay, credit, queue};
    const auto* name = std::find(std::begin(kNames), std::end(kNames), scheduler);
    if (name == std::end(kNames))
        throw std::invalid_argument("scheduler " + scheduler +
                                    " is unknown; use strict, round-robin or deficit");
    config.policy = std::move(policy);
    config.scheduler = static_cast<Scheduler>(name - std::begin(kNames));
    config.quanta.fill(4096);
    if (quanta && quanta->size() != kPriorities)
        throw std::invalid_argument("there are " + std::to_string(quanta->size()) +
                                    " quanta; give one for each of the " + std::to_string(kPriorities) +
                                    " VLs");
    if (quanta) std::copy(quanta->begin(), quanta->end(), config.quanta.begin());
    return config;
}

// Return a direction of a link, 0 or 1. Error: exception for other numbers.
template <typename Error>
Direction direction_of(const Network& n, Index<Link> link, int number) {
    if (number == 0 || number == 1) return static_cast<Direction>(number);
    throw Error("link " + n.links().channel(link, Direction::Forward).name + " has no direction " +
                std::to_string(number) + "; give 0 or 1");
}

// Return a port. Links shows numbers beyond the ports of a switch, negative ones among them.
Port port_of(int number) { return Port(static_cast<std::uint32_t>(number)); }

nb::dict stats_of(const Channel& c, const std::vector<Vl>& vls) {
    std::vector<std::uint64_t> by_vl(vls.size());
    for (std::size_t lane = 0; lane < vls.size(); ++lane)
        by_vl[static_cast<std::size_t>(vls[lane].value())] = c.lanes[lane].sent;
    nb::dict d;
    d["frames"] = std::accumulate(by_vl.begin(), by_vl.end(), std::uint64_t{0});
    d["bytes"] = c.load.bytes;
    d["busy_ps"] = c.load.busy;
    d["lost"] = c.losses.lost;
    d["impaired"] = c.losses.impaired;
    d["refused_down"] = c.losses.refused_down;
    d["refused_full"] = c.losses.refused_full;
    d["trimmed"] = c.losses.trimmed;
    d["pauses_sent"] = c.pauses ? c.pauses->sent : 0;
    d["overruns"] = c.pauses ? c.pauses->overruns : 0;
    d["watchdog"] = c.pauses ? c.pauses->expired : 0;
    d["watchdog_dropped"] = c.pauses ? c.pauses->dropped : 0;
    d["max_queued_bytes"] = c.load.max_queued_bytes;
    d["frames_by_vl"] = by_vl;
    return d;
}

void bind_time(nb::class_<Network, SwitchSet>& c) {
    c.def(
         "add_switch",
         [](Network& n, const std::string& name, Port cpu_port, std::uint32_t partition) {
             const SetLock lock(n);
             return n.add_switch(name, cpu_port, partition);
         },
         nb::arg("name"), nb::arg("cpu_port") = 510, nb::kw_only(), nb::arg("partition") = 0,
         "Add a switch to a partition of the network, and return the number of the switch.\n"
         "\n"
         "Partitions are numbered from 0. Threads run them in parallel, where the results stay the same.\n"
         "ValueError for a new partition after the first event.")
        .def(
            "set_threads",
            [](Network& n, std::size_t threads) {
                const SetLock lock(n);
                n.windows().set_threads(threads);
            },
            nb::arg("threads"),
            "Set the number of threads that run the partitions, by default one for each partition.\n"
            "\n"
            "Call it before the first event.")
        .def(
            "window_report",
            [](Network& n) {
                const WindowReport report = n.windows().report();
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
            },
            nb::sig("def window_report(self) -> dict[str, typing.Any]"),
            "Return the work and the waiting time of the threads (docs/testbeds/performance.md).\n"
            "\n"
            "threads: (events, seconds of processor time, seconds of waiting) of each thread.\n"
            "windows: number of spans of virtual time that the partitions ran in parallel.\n"
            "events_outside: number of events outside windows.\n"
            "frames_crossed: number of frames between partitions.\n"
            "merge_seconds: processor time of the merges after windows.\n"
            "slowest_seconds: processor time of the slowest thread, summed over the windows.\n"
            "delay_ps: least delay of a link between partitions.")
        .def_prop_ro(
            "hops", [](Network& n) { return n.frame_counts().hops; },
            "Number of frames that switches have received from links.")
        .def_prop_ro(
            "frames_without_link", [](Network& n) { return n.frame_counts().without_link; },
            "Number of frames that left a switch by a port without a link.")
        .def(
            "connect",
            [](Network& n, Index<Switch> a, int pa, Index<Switch> b, int pb, std::int64_t rate, Time delay,
               std::int64_t credit, std::int64_t queue, const std::string& scheduler,
               const std::optional<std::vector<std::int64_t>>& quanta, bool plugged,
               std::shared_ptr<const QueuePolicy> policy, std::shared_ptr<const QueuePolicy> back) {
                const LinkConfig config =
                    link_config(rate, delay, credit, queue, scheduler, quanta, std::move(policy));
                LinkConfig other = config;
                if (back) other.policy = std::move(back);
                return n.connect({a, port_of(pa)}, {b, port_of(pb)}, config, plugged, other);
            },
            nb::arg("sw_a"), nb::arg("port_a"), nb::arg("sw_b"), nb::arg("port_b"), nb::arg("rate_bps"),
            nb::arg("delay_ps"), nb::arg("credit_bytes"), nb::arg("queue_bytes") = 1 << 20, nb::kw_only(),
            nb::arg("scheduler") = "strict", nb::arg("quanta") = nb::none(), nb::arg("plugged") = true,
            nb::arg("policy").none() = nb::none(), nb::arg("policy_back").none() = nb::none(),
            nb::sig("def connect(self, sw_a: int, port_a: int, sw_b: int, port_b: int, rate_bps: int, "
                    "delay_ps: int, credit_bytes: int, queue_bytes: int=..., *, scheduler: "
                    "typing.Literal['strict', 'round-robin', 'deficit']='strict', quanta: "
                    "collections.abc.Sequence[int] | None=None, plugged: bool=True, "
                    "policy: QueuePolicy | None=None, policy_back: QueuePolicy | None=None) -> int"),
            "Connect two ports and return the number of the link (docs/reference/links.md).\n"
            "\n"
            "`credit_bytes` is the receive buffer of a VL; 0: the link has no credits, and full queues drop\n"
            "frames. `queue_bytes` limits the queue of a VL without credits; `policy` replaces this limit, "
            "and\n"
            "`policy_back` replaces `policy` from the second port to the first.\n"
            "`quanta` are the bytes of each VL in a round of the scheduler \"deficit\", by default 4096. A\n"
            "link that is not `plugged` is down, and its ports keep the link they have.")
        .def(
            "attach_host",
            [](Network& n, Index<Switch> sw, int port, std::int64_t rate, Time delay, std::int64_t credit,
               std::int64_t queue, const std::string& scheduler,
               const std::optional<std::vector<std::int64_t>>& quanta,
               std::shared_ptr<const QueuePolicy> policy) {
                return n.attach_host({sw, port_of(port)}, link_config(rate, delay, credit, queue, scheduler,
                                                                      quanta, std::move(policy)));
            },
            nb::arg("switch"), nb::arg("port"), nb::arg("rate_bps"), nb::arg("delay_ps"),
            nb::arg("credit_bytes"), nb::arg("queue_bytes") = 1 << 20, nb::kw_only(),
            nb::arg("scheduler") = "strict", nb::arg("quanta") = nb::none(),
            nb::arg("policy").none() = nb::none(),
            nb::sig(
                "def attach_host(self, switch: int, port: int, rate_bps: int, delay_ps: int, credit_bytes: "
                "int, queue_bytes: int=..., *, scheduler: typing.Literal['strict', 'round-robin', "
                "'deficit']='strict', quanta: collections.abc.Sequence[int] | None=None, "
                "policy: QueuePolicy | None=None) -> int"),
            "Connect a host to a port and return the number of the host.\n"
            "\n"
            "The other arguments are those of connect().")
        .def(
            "set_lanes",
            [](Network& n, std::uint32_t bit, const std::vector<Vl>& vls) { n.links().lanes.set(bit, vls); },
            nb::arg("bit"), nb::arg("vls"),
            "Give every priority two lanes, each with a queue and credits of its own.\n"
            "\n"
            "Bit `bit` of a frame selects the lane; bit 0 is the most significant bit of the first byte.\n"
            "vls[2 * priority + lane] is the VL. Without this call a priority has one lane, and the number\n"
            "of its VL is the priority.")
        .def(
            "set_cna24", [](Network& n) { n.hosts().set_cna24(); },
            "Convert frames of hosts with to_cna24() on entry into the network, and back on delivery.")
        .def(
            "set_handler",
            [](Network& n, Index<Host> host, const nb::object& handler) {
                n.set_application(host, application_of(handler));
            },
            nb::arg("host"), nb::arg("handler").none(),
            nb::sig("def set_handler(self, host: int, handler: typing.Any) -> None"),
            "Replace the handler of a host.\n"
            "\n"
            "A handler is an Application, or a Python object with the methods start(now),\n"
            "on_frame(frame, now) and on_timer(now), which return Output; None for no handler.")
        .def(
            "start", [](Network& n, Index<Host> host) { n.start(host); },
            nb::sig("def start(self, host: int, /) -> None"),
            "Call `start` of the host's handler, and carry out the actions that it returns.")
        .def(
            "act",
            [](Network& n, Index<Host> host, const nb::object& output) {
                Actions actions(n.pool_of(host));
                to_answer(output, actions);
                n.act(host, actions);
            },
            nb::sig(
                "def act(self, host: int, actions: tuple[list[tuple[bytes, int]], int | None], /) -> None"),
            "Carry out actions for a host: send the frames, and set the next deadline.")
        .def(
            "send",
            [](Network& n, Index<Host> host, const nb::bytes& frame, Vl vl) {
                n.send(host, view(frame), vl);
            },
            nb::sig("def send(self, host: int, frame: bytes, vl: int, /) -> None"),
            "Send a frame from a host on a VL.")
        .def(
            "alarm", [](Network& n, Time time, std::int64_t token) { n.alarm(time, token); },
            nb::sig("def alarm(self, time_ps: int, token: int, /) -> None"),
            "Put an \"alarm\" with this token into take_control() at a time.")
        .def(
            "set_link", [](Network& n, Index<Link> link, bool up) { n.set_link(link, up); },
            nb::sig("def set_link(self, link: int, up: bool, /) -> None"),
            "Set a link up or down. ValueError if a link that is not plugged is set up.")
        .def(
            "send_pause",
            [](Network& n, Index<Link> link, int direction, bool stop) {
                n.send_pause(link, direction_of<std::out_of_range>(n, link, direction), stop);
            },
            nb::sig("def send_pause(self, link: int, direction: int, stop: bool, /) -> None"),
            "Send a pause frame (IEEE 802.1Qbb) on a direction.\n"
            "\n"
            "`stop`: the frame pauses all classes; otherwise it resumes them. ValueError if the link has no\n"
            "priority flow control.")
        .def(
            "set_host_link", [](Network& n, Index<Host> host, bool up) { n.set_host_link(host, up); },
            nb::sig("def set_host_link(self, host: int, up: bool, /) -> None"))
        .def(
            "plug", [](Network& n, Index<Link> link) { n.links().plug(link); },
            nb::sig("def plug(self, link: int, /) -> None"),
            "Connect the ports of a link to the link, instead of the links they had.\n"
            "\n"
            "ValueError if a port has another link that is up.")
        .def(
            "impair",
            [](Network& n, Index<Link> link, int direction, bool blocked, double loss,
               std::optional<std::int64_t> rate, Time delay) {
                n.links().impair(link, direction_of<std::out_of_range>(n, link, direction),
                                 {.blocked = blocked, .loss = loss, .rate_bps = rate, .extra_delay = delay});
            },
            nb::arg("link"), nb::arg("direction"), nb::kw_only(), nb::arg("blocked") = false,
            nb::arg("loss") = 0.0, nb::arg("rate_bps") = nb::none(), nb::arg("extra_delay_ps") = 0,
            "Impair a direction of a link for frames sent from now on (docs/reference/links.md).\n"
            "\n"
            "`blocked`: all frames are lost. `loss` is the probability that a frame is lost. `rate_bps`\n"
            "replaces the link's rate. The default values end an impairment.")
        .def(
            "set_seed", [](Network& n, std::uint64_t seed) { n.links().set_seed(seed); },
            nb::sig("def set_seed(self, seed: int, /) -> None"),
            "Set the seed of all links; each direction has its own random number generator.")
        .def(
            "record",
            [](Network& n, Index<Link> link, const std::string& path, std::optional<int> direction) {
                std::optional<Direction> one;
                if (direction) one = direction_of<std::invalid_argument>(n, link, *direction);
                n.links().record(link, one, path);
            },
            nb::arg("link"), nb::arg("path"), nb::arg("direction") = nb::none(),
            "Record the frames of a link in a PCAP file, each at the beginning of its transmission.\n"
            "\n"
            "`direction` None: both directions. OSError if the file cannot be written.")
        .def("end_recordings", [](Network& n) { n.links().end_recordings(); })
        .def(
            "keep_recent",
            [](Network& n, Index<Link> link, std::size_t most) { n.links().keep_recent(link, most); },
            nb::sig("def keep_recent(self, link: int, most: int, /) -> None"),
            "Keep copies of the latest `most` frames of a link, both directions together; 0: stop.")
        .def(
            "recent",
            [](const Network& n, Index<Link> link) {
                nb::list out;
                for (const RecentFrames::Item& item : n.links().recent(link))
                    out.append(nb::make_tuple(item.number, item.time, static_cast<int>(item.direction),
                                              to_bytes(item.bytes)));
                return out;
            },
            nb::sig("def recent(self, link: int, /) -> list[tuple[int, int, int, bytes]]"),
            "Return the frames kept by keep_recent(), the oldest first.\n"
            "\n"
            "A frame is (number, time in ps, direction, bytes).")
        .def(
            "run",
            [](Network& n, std::optional<Time> until, std::uint64_t events) {
                // Run in slices, between which Python's signal handlers run.
                constexpr std::uint64_t kSlice = 1 << 16;
                for (std::uint64_t left = events;;) {
                    const std::uint64_t slice = std::min(left, kSlice);
                    const RunEnd end = n.run(until.value_or(kForever), slice, events != ~0ULL);
                    left -= slice;
                    if (end != RunEnd::Paused || left == 0) return static_cast<int>(end);
                    if (PyErr_CheckSignals() != 0) throw nb::python_error();
                }
            },
            nb::arg("until_ps") = nb::none(), nb::arg("events") = ~0ULL,
            nb::sig("def run(self, until_ps: int | None=None, events: int=...) -> int"),
            "Run events up to the time `until_ps`, at most `events` of them, and return why the run ended.\n"
            "\n"
            "0: no event is left.\n"
            "1: the time is `until_ps`.\n"
            "2: take_control() has a notification.\n"
            "3: queues wait for each other; deadlock() names them.\n"
            "4: `events` events have run, and more are left.\n"
            "\n"
            "Python's signal handlers run meanwhile. PartitionError if an event needs several partitions at\n"
            "its own time: run the scenario in one partition.")
        .def(
            "set_tolerant", [](Network& n, bool tolerant) { n.set_tolerant(tolerant); },
            nb::sig("def set_tolerant(self, tolerant: bool, /) -> None"),
            "Set whether the run continues when a program fails on a frame.\n"
            "\n"
            "If `tolerant`, the frame is dropped, and take_control() has an item \"log\". Otherwise run() "
            "and\n"
            "packet_out() raise RuntimeError. A program fails by a failed `assert`, or when a frame exceeds\n"
            "its budget of passes, copies and rounds (docs/reference/engine.md).")
        .def_prop_ro(
            "frames_failed", [](Network& n) { return n.frame_counts().failed; },
            "Number of frames dropped because their program failed; see set_tolerant().")
        .def(
            "link_stats",
            [](const Network& n, Index<Link> link, int direction) {
                return stats_of(n.links().channel(link, direction_of<std::out_of_range>(n, link, direction)),
                                n.links().lanes.vls());
            },
            nb::sig("def link_stats(self, link: int, direction: int, /) -> dict[str, typing.Any]"),
            "Return the counts of a direction of a link.")
        .def(
            "host_stats",
            [](const Network& n, Index<Host> host, int direction) {
                const Direction way = direction == 0 ? Direction::Forward : Direction::Backward;
                return stats_of(n.host_channel(host, way), n.links().lanes.vls());
            },
            nb::sig("def host_stats(self, host: int, direction: int, /) -> dict[str, typing.Any]"),
            "Return the counts of a direction of a host's link; 0: from the host, 1: to the host.")
        .def(
            "sample",
            [](Network& n) {
                const LinkSample seen = n.sample();
                return nb::make_tuple(to_bytes(seen.load), to_bytes(seen.queue), to_bytes(seen.state));
            },
            nb::sig("def sample(self) -> tuple[bytes, bytes, bytes]"),
            "Return (load, queue, state) of all links, for display; sampling never changes results.\n"
            "\n"
            "load: a byte for each direction of each link: share of the time since the last sample in which\n"
            "    it sent; 255: all of the time.\n"
            "queue: a byte for each direction of each link: waiting bytes as a share of a VL's receive\n"
            "    buffer if the link has credits, otherwise of the queue's limit; 255: full.\n"
            "state: a byte for each link, with bits: 1 up; 2 and 4 first and second direction impaired; 8\n"
            "    and 16 first and second direction paused.")
        .def(
            "queue_depths",
            [](const Network& n) {
                const std::vector<QueueDepth> depths = n.queue_depths();
                std::vector<std::int64_t> bytes;
                std::vector<std::uint8_t> paused;
                for (const QueueDepth& depth : depths) {
                    bytes.push_back(depth.bytes);
                    paused.push_back(depth.paused ? 1 : 0);
                }
                return nb::make_tuple(nb::bytes(bytes.data(), bytes.size() * sizeof(std::int64_t)),
                                      nb::bytes(paused.data(), paused.size()));
            },
            nb::sig("def queue_depths(self) -> tuple[bytes, bytes]"),
            "Return the bytes that wait to be sent in each direction, and whether it is paused.\n"
            "\n"
            "The first result has an int64, the second a byte (1: paused) for each direction. The order is\n"
            "both directions of each link, then the direction to each host.")
        .def(
            "queued_by_vl",
            [](const Network& n, Index<Link> link, int direction) {
                return n.links().queued_by_vl(link, direction_of<std::out_of_range>(n, link, direction));
            },
            nb::sig("def queued_by_vl(self, link: int, direction: int, /) -> list[int]"),
            "Return the bytes that wait to be sent on a direction, by VL.")
        .def(
            "deadlock",
            [](const Network& n) {
                nb::list out;
                for (const auto& w : n.links().deadlock())
                    out.append(w.link ? nb::make_tuple(w.link, static_cast<int>(w.direction), w.vl)
                                      : nb::make_tuple(w.link, w.host, w.vl));
                return out;
            },
            nb::sig("def deadlock(self) -> list[tuple[int, int, int]]"),
            "Return the queues that wait for each other in a cycle, after run() has returned 3.\n"
            "\n"
            "A queue is (link, direction, VL), or (-1, host, VL) on a host's link.")
        .def(
            "set_bin", [](Network& n, Time width, std::size_t vls) { n.hosts().set_bin(width, vls); },
            nb::arg("width_ps"), nb::arg("vls") = kVls,
            "Count the bytes that reach hosts, in bins of `width_ps`; see delivered_bins().\n"
            "\n"
            "Only frames on the `vls` lanes of lowest priority count.")
        .def(
            "delivered_bins", [](Network& n) { return n.delivered_bins(); },
            "Return the bytes that have reached hosts in each bin of set_bin().")
        .def(
            "delivered_bytes",
            [](Network& n) {
                const auto& bins = n.delivered_bins();
                return std::accumulate(bins.begin(), bins.end(), std::uint64_t{0});
            },
            "Return the sum of delivered_bins().")
        .def(
            "process",
            [](Network& n, Index<Switch> sw, Port port, const nb::bytes& frame) {
                nb::list out;
                for (const auto& [egress, bytes] : process(n, sw, port, view(frame)))
                    out.append(nb::make_tuple(egress, to_bytes(bytes)));
                return out;
            },
            nb::sig("def process(self, switch: int, port: int, frame: bytes, /) -> list[tuple[int, bytes]]"),
            "Return (egress port, frame) of each frame that a switch sends for a frame on an ingress port.")
        .def(
            "trace",
            [](Network& n, Index<Switch> sw, Port port, const nb::bytes& frame) {
                const LockedSwitch s(n, sw);
                if (!s.program().traced)
                    throw std::invalid_argument(
                        "switch " + s->name() +
                        " runs a program that is not traced; load the program with traced=True");
                std::vector<TraceStep> steps;
                nb::list sent;
                for (const auto& [egress, bytes] : trace(n, sw, port, view(frame), steps))
                    sent.append(nb::make_tuple(egress, to_bytes(bytes)));
                return nb::make_tuple(sent, from_trace(s.program(), steps));
            },
            nb::sig("def trace(self, switch: int, port: int, frame: bytes, /) -> tuple[list[tuple[int, "
                    "bytes]], list[dict[str, typing.Any]]]"),
            "Return the result of process(), and the steps of the program on the frame.\n"
            "\n"
            "A step is a parser state, table, condition or statement; harness.frames.steps explains its\n"
            "values. ValueError if the switch's program is not traced.")
        .def(
            "bench",
            [](Network& n, Index<Switch> sw, Port port, const nb::bytes& frame, std::uint64_t count,
               bool copy_only) { return bench(n, sw, port, view(frame), count, copy_only); },
            nb::arg("switch"), nb::arg("port"), nb::arg("frame"), nb::arg("count"),
            nb::arg("copy_only") = false,
            "Return the processor seconds of processing a frame `count` times.\n"
            "\n"
            "`copy_only`: only copy the frame, as a baseline.");
}

}  // namespace

void bind_network(nb::module_& m) {
    nb::class_<QueuePolicy>(
        m, "QueuePolicy",
        "Limits of the queues of a link without credits.\n"
        "\n"
        "Args:\n"
        "    queues: Limits of each lane's queue, as (bytes, frames, trims). 0 bytes or frames: no\n"
        "        limit. `trims`: a data frame that finds the queue full is trimmed, not dropped.\n"
        "    trimmed: Lane of trimmed frames that came from a first lane, and from a second lane.\n"
        "    pauses: Priority flow control, as (XOFF, XON, headroom, watchdog, restore, lanes); None for\n"
        "        none. XOFF, XON and headroom are bytes of a class in the receive buffer. `watchdog` is\n"
        "        the longest pause in ps, 0 for no limit, and `restore` the time after it in ps without\n"
        "        pauses. `lanes` has a bit for each lane that may be paused.")
        .def(
            "__init__",
            [](QueuePolicy* self, const std::vector<std::tuple<std::int64_t, std::int64_t, bool>>& queues,
               const std::vector<std::uint8_t>& trimmed,
               const std::optional<
                   std::tuple<std::int64_t, std::int64_t, std::int64_t, Time, Time, std::uint32_t>>& pauses) {
                if (queues.size() != kVls || trimmed.size() != 2 || std::max(trimmed[0], trimmed[1]) >= kVls)
                    throw std::invalid_argument("a queue policy needs " + std::to_string(kVls) +
                                                " queues and, for trimmed frames, 2 lanes below " +
                                                std::to_string(kVls) + "; got " +
                                                std::to_string(queues.size()) + " queues and " +
                                                std::to_string(trimmed.size()) + " lanes");
                new (self) QueuePolicy;
                for (std::size_t lane = 0; lane < kVls; ++lane) {
                    const auto& [bytes, frames, trims] = queues[lane];
                    self->queues[lane] = {bytes, frames, trims};
                }
                self->trimmed = {Lane(trimmed[0]), Lane(trimmed[1])};
                if (!pauses) return;
                const auto& [xoff, xon, headroom, watchdog, restore, lanes] = *pauses;
                if (xon < 0 || xon > xoff || headroom < 0 || watchdog < 0 || restore < 0)
                    throw std::invalid_argument(
                        "priority flow control has negative bytes or times, or XON above XOFF; give values "
                        "of at least 0, and XON up to XOFF");
                self->pauses = PausePolicy{xoff, xon, headroom, watchdog, restore, lanes};
            },
            nb::arg("queues"), nb::arg("trimmed"), nb::arg("pauses") = nb::none());
    const nb::exception<PartitionError> partition_error(m, "PartitionError", PyExc_RuntimeError);
    nb::class_<Network, SwitchSet> network(
        m, "Network",
        "Switches, hosts and links in virtual time.\n"
        "\n"
        "Only one Python thread at a time may use a network. The direction of a link is 0 from switch\n"
        "`sw_a` to `sw_b`, and 1 back.");
    network.def(nb::init<>());
    bind_time(network);
    m.def(
        "to_cna24", [](const nb::bytes& frame) { return converted(frame, to_cna24); },
        nb::sig("def to_cna24(frame: bytes, /) -> bytes"),
        "Return a frame with its CNA16 header converted to CNA24 and reliable transport headers.\n"
        "\n"
        "A frame with other headers is returned unchanged (docs/reference/wire-format.md).");
    m.def(
        "from_cna24", [](const nb::bytes& frame) { return converted(frame, from_cna24); },
        nb::sig("def from_cna24(frame: bytes, /) -> bytes"),
        "Undo to_cna24(); a frame with other headers is returned unchanged.");
}

}  // namespace railyard::python

// SPDX-License-Identifier: Apache-2.0
// Bindings of congestion control. Python can call a C++ algorithm for each event, and connections can use an
// algorithm written in Python.
#include "python/hosts/bind_congestion.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/unique_ptr.h>

#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "hosts/paths/entropies.h"

namespace railyard::python {

namespace {

using FactsTuple = std::tuple<Time, Rate, Bytes, bool>;

hosts::PathFacts facts_of(const FactsTuple& given) {
    const auto& [rtt, rate, frame, trims] = given;
    return {rtt, rate, frame, trims};
}

// Wrapper of a Python algorithm, which has the methods of Algorithm in emulation/traffic/host/congestion.py.
class InPython final : public hosts::CongestionControl {
   public:
    InPython(nb::object own, std::string name) : own_(std::move(own)), name_(std::move(name)) {}
    ~InPython() override {
        const nb::gil_scoped_acquire held;
        own_.reset();
    }

    hosts::SendLimits start() override { return ask("start"); }
    hosts::SendLimits on_ack(const hosts::Acknowledged& ack) override {
        return ask("on_ack", ack.now, ack.rtt, ack.bytes, ack.marked, ack.under_way);
    }
    hosts::SendLimits on_nack(const hosts::Lost& lost) override { return ask_lost("on_nack", lost); }
    hosts::SendLimits on_trim(const hosts::Lost& lost) override { return ask_lost("on_trim", lost); }
    hosts::SendLimits on_timeout(const hosts::Lost& lost) override { return ask_lost("on_timeout", lost); }
    hosts::SendLimits on_credit(Time now, Bytes bytes) override { return ask("on_credit", now, bytes); }

   private:
    hosts::SendLimits ask_lost(const char* method, const hosts::Lost& lost) {
        return ask(method, lost.now, lost.bytes, lost.under_way);
    }
    template <typename... Values>
    hosts::SendLimits ask(const char* method, const Values&... values) {
        const nb::gil_scoped_acquire held;
        const nb::object answer = own_.attr(method)(values...);
        std::pair<Bytes, Rate> limits;
        if (!nb::try_cast(answer, limits) || limits.first < Bytes() || limits.second < Rate())
            throw std::invalid_argument("congestion control " + name_ + ": " + method + " returned " +
                                        nb::cast<std::string>(nb::repr(answer)) +
                                        "; return (window in bytes, rate in bit/s), 0 for no limit");
        return {limits.first, limits.second};
    }

    nb::object own_;
    std::string name_;
};

nb::object pair_of(const hosts::SendLimits& limits) { return nb::make_tuple(limits.window, limits.rate); }

}  // namespace

ChosenCongestion chosen_congestion(const nb::object& given) {
    using Given = std::tuple<std::string, hosts::CongestionParameters::Values, FactsTuple, nb::object>;
    const auto [name, parameters, facts, maker] = nb::cast<Given>(given);
    const hosts::PathFacts known = facts_of(facts);
    if (maker.is_none()) {
        hosts::congestion_control(name, parameters, known);  // checks the arguments now
        return {[name = name, parameters = parameters, known] {
                    return hosts::congestion_control(name, parameters, known);
                },
                known};
    }
    // Shared, so that threads without the interpreter lock can copy it.
    const auto shared = std::make_shared<nb::object>(maker);
    return {[shared, name = name]() -> std::unique_ptr<hosts::CongestionControl> {
                const nb::gil_scoped_acquire held;
                return std::make_unique<InPython>((*shared)(), name);
            },
            known};
}

void bind_congestion(nb::module_& m) {
    nb::class_<hosts::CongestionControl>(
        m, "CongestionControl",
        "Congestion control of a connection.\n"
        "\n"
        "Each method takes an event at time `now` in ps and returns the new limits of the connection:\n"
        "(window in bytes, rate in bit/s), 0 for no limit. Amounts are bytes; `under_way` are the bytes\n"
        "that remain in flight. emulation.traffic.host.congestion has the algorithms.")
        .def("start", [](hosts::CongestionControl& c) { return pair_of(c.start()); })
        .def(
            "on_ack",
            [](hosts::CongestionControl& c, Time now, Time rtt, Bytes acked, Bytes marked, Bytes under_way) {
                return pair_of(c.on_ack({now, rtt, acked, marked, under_way}));
            },
            nb::arg("now"), nb::arg("rtt"), nb::arg("acked"), nb::arg("marked"), nb::arg("under_way"))
        .def(
            "on_nack",
            [](hosts::CongestionControl& c, Time now, Bytes lost, Bytes under_way) {
                return pair_of(c.on_nack({now, lost, under_way}));
            },
            nb::arg("now"), nb::arg("lost"), nb::arg("under_way"))
        .def(
            "on_trim",
            [](hosts::CongestionControl& c, Time now, Bytes lost, Bytes under_way) {
                return pair_of(c.on_trim({now, lost, under_way}));
            },
            nb::arg("now"), nb::arg("lost"), nb::arg("under_way"))
        .def(
            "on_timeout",
            [](hosts::CongestionControl& c, Time now, Bytes lost, Bytes under_way) {
                return pair_of(c.on_timeout({now, lost, under_way}));
            },
            nb::arg("now"), nb::arg("lost"), nb::arg("under_way"))
        .def(
            "on_credit",
            [](hosts::CongestionControl& c, Time now, Bytes granted) {
                return pair_of(c.on_credit(now, granted));
            },
            nb::arg("now"), nb::arg("granted"));
    m.def(
        "congestion_control", [](const nb::object& given) { return chosen_congestion(given).make(); },
        nb::arg("given"),
        "Return the congestion control of a new connection.\n"
        "\n"
        "`given` is (name, parameters, facts, maker). The facts are the round trip in ps, the rate in\n"
        "bit/s, the bytes of the largest frame, and whether full queues trim frames. The maker returns\n"
        "an algorithm in Python; None for a built-in algorithm.");
}

void bind_entropies(nb::module_& m) {
    nb::class_<hosts::Entropies>(
        m, "Entropies", "Packet spraying of a connection: it chooses the load-balance value of each frame.")
        .def("next", &hosts::Entropies::next, "Return the load-balance value of the next frame.")
        .def(
            "note",
            [](hosts::Entropies& entropies, std::uint8_t lb, int news, Time now) {
                if (news < 0 || news > 3)
                    throw std::invalid_argument(
                        "news is " + std::to_string(news) +
                        "; give 0 (acknowledged), 1 (marked), 2 (trimmed or lost) or 3 (timed out)");
                entropies.note(lb, static_cast<hosts::PathNews>(news), now);
            },
            nb::arg("lb"), nb::arg("news"), nb::arg("now"),
            "Report the fate of a frame with load-balance value `lb`.\n"
            "\n"
            "`news`: 0 acknowledged, 1 marked, 2 trimmed or lost, 3 timed out.");
    m.def("entropies", hosts::make_entropies, nb::arg("name"), nb::arg("count"), nb::arg("seed"),
          "Return the spraying algorithm `name` over `count` load-balance values.\n"
          "\n"
          "ValueError if there is no such algorithm, or `count` is not a power of two up to 256.");
}

}  // namespace railyard::python

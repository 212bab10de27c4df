// SPDX-License-Identifier: Apache-2.0
// Conversions between applications on hosts and Python: their actions, and Python handlers as applications.
#include <memory>
#include <string_view>
#include <utility>

#include "hosts/application.h"
#include "python/bind.h"

namespace railyard::python {

void to_answer(const nb::object& output, hosts::Actions& actions) {
    const nb::tuple pair = nb::cast<nb::tuple>(output);
    for (const nb::handle item : nb::cast<nb::list>(pair[0])) {
        const nb::tuple frame_and_vl = nb::cast<nb::tuple>(item);
        const std::string_view bytes = view(nb::cast<nb::bytes>(frame_and_vl[0]));
        actions.add(actions.pool.acquire(bytes.data(), bytes.size()), nb::cast<Vl>(frame_and_vl[1]));
    }
    actions.deadline.reset();
    if (!pair[1].is_none()) actions.deadline = nb::cast<Time>(pair[1]);
}

nb::object from_answer(const hosts::Actions& actions) {
    nb::list frames;
    for (const hosts::Actions::Departure& departure : actions.departures)
        frames.append(nb::make_tuple(to_bytes(departure.frame->view()), departure.vl));
    return nb::make_tuple(frames, actions.deadline ? nb::cast(*actions.deadline) : nb::none());
}

frames::FramePool& loose_frames() {
    static auto* const pool = new frames::FramePool;
    return *pool;
}

namespace {

// Wrapper of a Python handler as an application. The handler's start(now), on_frame(bytes, now) and
// on_timer(now) return ([(frame, vl), ...], deadline or None).
class PythonStation : public hosts::Application {
   public:
    explicit PythonStation(nb::object handler) : handler_(std::move(handler)) {}

    void start(Time now, hosts::Actions& actions) override {
        to_answer(handler_.attr("start")(now), actions);
    }
    void on_frame(frames::FrameHandle frame, Time now, hosts::Actions& actions) override {
        const nb::bytes bytes = to_bytes(frame->view());
        frame.reset();
        to_answer(handler_.attr("on_frame")(bytes, now), actions);
    }
    void on_timer(Time now, hosts::Actions& actions) override {
        to_answer(handler_.attr("on_timer")(now), actions);
    }

   private:
    nb::object handler_;
};

}  // namespace

std::shared_ptr<hosts::Application> application_of(const nb::object& handler) {
    if (handler.is_none()) return nullptr;
    if (nb::isinstance<hosts::Application>(handler))
        return nb::cast<std::shared_ptr<hosts::Application>>(handler);
    return std::make_shared<PythonStation>(handler);
}

}  // namespace railyard::python

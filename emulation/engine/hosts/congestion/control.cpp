// SPDX-License-Identifier: Apache-2.0
#include "hosts/congestion/control.h"

#include <stdexcept>

#include "hosts/congestion/dcqcn.h"
#include "hosts/congestion/nscc.h"
#include "hosts/congestion/nscc_rccc.h"
#include "hosts/congestion/rccc.h"
#include "hosts/congestion/swift.h"

namespace railyard::hosts {

namespace {

// No limit by congestion control: the transport's own window is the only limit.
class Fixed final : public CongestionControl {
   public:
    SendLimits start() override { return {}; }
    SendLimits on_ack(const Acknowledged&) override { return {}; }
    SendLimits on_nack(const Lost&) override { return {}; }
    SendLimits on_trim(const Lost&) override { return {}; }
    SendLimits on_timeout(const Lost&) override { return {}; }
    SendLimits on_credit(Time, Bytes) override { return {}; }
};

}  // namespace

double CongestionParameters::at(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end())
        throw std::invalid_argument("congestion control " + algorithm_ + " has no value of its parameter " +
                                    name +
                                    "; give all parameters that ALGORITHMS of "
                                    "emulation.traffic.host.congestion has for it");
    return found->second;
}

std::unique_ptr<CongestionControl> congestion_control(const std::string& name,
                                                      const CongestionParameters::Values& values,
                                                      const PathFacts& facts) {
    if (facts.base_rtt <= Time() || facts.rate <= Rate() || facts.frame_bytes <= Bytes())
        throw std::invalid_argument("congestion control " + name +
                                    ": round trip, rate and frame must be positive");
    const CongestionParameters parameters(name, values);
    if (name == "fixed") return std::make_unique<Fixed>();
    if (name == "nscc") return std::make_unique<Nscc>(parameters, facts);
    if (name == "rccc") return std::make_unique<Rccc>(parameters, facts);
    if (name == "nscc+rccc") return std::make_unique<NsccRccc>(parameters, facts);
    if (name == "swift") return std::make_unique<Swift>(parameters, facts);
    if (name == "dcqcn") return std::make_unique<Dcqcn>(parameters, facts);
    throw std::invalid_argument("congestion control " + name + " does not exist");
}

}  // namespace railyard::hosts

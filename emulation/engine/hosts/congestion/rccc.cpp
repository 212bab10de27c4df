// SPDX-License-Identifier: Apache-2.0
#include "hosts/congestion/rccc.h"

#include <cmath>

namespace railyard::hosts {

Rccc::Rccc(const CongestionParameters& parameters, const PathFacts& facts) {
    const auto frame = static_cast<double>(facts.frame_bytes);
    const double frames = parameters.at("start_frames");
    const double product = static_cast<double>(facts.base_rtt) * static_cast<double>(facts.rate) / kBitPs;
    window_ = static_cast<Bytes>(frames > 0 ? frames * frame : std::fmax(product, frame));
}

}  // namespace railyard::hosts

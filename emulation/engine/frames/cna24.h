// SPDX-License-Identifier: Apache-2.0
// Frames of agents and of the control plane, which have the CNA16 network header and this testbed's transport
// header, as frames with the CNA24 network header and UnifiedBus's reliable transport header, and back.
// docs/reference/wire-format.md has both layouts.
#pragma once

#include "frames/frame.h"

namespace railyard {

// Replace the headers in place, in the frame's headroom; a frame of other headers stays as it is.
void to_cna24(Frame& frame);
void from_cna24(Frame& frame);

}  // namespace railyard

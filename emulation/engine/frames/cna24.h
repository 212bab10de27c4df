// SPDX-License-Identifier: Apache-2.0
// Conversion of frames between the headers of agents and control plane (CNA16 network header and this
// testbed's transport header) and those of UnifiedBus (CNA24 network header and reliable transport header).
// docs/reference/wire-format.md has both layouts.
#pragma once

#include "frames/frame.h"

namespace railyard::frames {

// Convert the headers of a frame in place; a frame with other headers does not change.
void to_cna24(Frame& frame);
void from_cna24(Frame& frame);

}  // namespace railyard::frames

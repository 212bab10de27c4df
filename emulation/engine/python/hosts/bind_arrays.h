// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "hosts/messages/payloads.h"

namespace railyard::python {

// Array that one agent can take over, without a copy.
struct AgentArray {
    // Return the bytes for an agent; invalid_argument if an agent has taken them already.
    std::shared_ptr<hosts::ByteArray> take();

    std::shared_ptr<hosts::ByteArray> bytes;
    std::size_t elements = 0;
};

}  // namespace railyard::python

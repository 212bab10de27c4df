// SPDX-License-Identifier: Apache-2.0
// Memory of the arrays of NPUs. Arrays that are gone leave their memory to the next arrays of the same size:
// the agents of the next variant or run. The kernel takes longer to provide and clear fresh memory than an
// agent takes to copy its array.
#pragma once

#include <cstddef>

namespace railyard {

// Memory for an array, which begins at a page.
void* acquire_array(std::size_t bytes);
void release_array(void* block, std::size_t bytes);

}  // namespace railyard

// SPDX-License-Identifier: Apache-2.0
// Memory of NPU arrays. Freed memory is kept for the next arrays of the same size, such as the arrays of the
// next variant or run: the kernel takes longer to provide and clear fresh memory than an agent takes to copy
// its array.
#pragma once

#include <cstddef>

namespace railyard::hosts {

// Return page-aligned, uninitialised memory for an array.
void* acquire_array(std::size_t bytes);
void release_array(void* block, std::size_t bytes);

}  // namespace railyard::hosts

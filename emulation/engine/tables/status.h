// SPDX-License-Identifier: Apache-2.0
// How an operation of the control plane ended.
#pragma once

namespace railyard {

enum class Status : int { Ok, AlreadyExists, NotFound, Exhausted, Invalid, Constant };

}  // namespace railyard

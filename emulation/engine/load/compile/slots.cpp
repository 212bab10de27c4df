// SPDX-License-Identifier: Apache-2.0
#include "load/compile/slots.h"

#include <cstddef>

namespace railyard::load {

Slot Slots::allocate(unsigned count, std::uint64_t initial) {
    const std::size_t at = p_.image.size();
    if (at + count >= kNoSlot)
        throw ProgramError("program: it has more fields and constants than the engine holds");
    p_.image.resize(at + count, initial);
    return static_cast<Slot>(at);
}

Slot Slots::constant(std::uint64_t value) {
    const auto found = constants_.find(value);
    if (found != constants_.end()) return found->second;
    const Slot slot = allocate(1, value);
    p_.constants.resize(p_.image.size(), false);
    p_.constants[slot] = true;
    return constants_[value] = slot;
}

void Slots::reserve(unsigned parameter_limbs) {
    parameters_ = allocate(parameter_limbs);
    temporary_base_ = p_.first_temporary = allocate(kTemporaries);
}

Slot Slots::temporary(unsigned n) {
    if (temporaries_ + n > kTemporaries)
        throw ProgramError("program: an expression is larger than the engine computes at once");
    temporaries_ += n;
    return static_cast<Slot>(temporary_base_ + temporaries_ - n);
}

}  // namespace railyard::load

// SPDX-License-Identifier: Apache-2.0
// Allocation of a program's slots: of fields, constants, parameters of actions, and temporaries.
#pragma once

#include <cstdint>
#include <map>

#include "load/program/program.h"

namespace railyard::load {

class Slots {
   public:
    explicit Slots(Program& program) : p_(program) {}

    Slot allocate(unsigned count, std::uint64_t initial = 0);
    // Return the slot of a constant; equal constants share a slot.
    Slot constant(std::uint64_t value);
    // Reserve slots for the parameters of actions and for temporaries, before any code.
    void reserve(unsigned parameter_limbs);
    [[nodiscard]] Slot parameters() const { return parameters_; }
    [[nodiscard]] Slot first_temporary() const { return temporary_base_; }
    // Return `n` temporaries, free again after free_temporaries().
    Slot temporary(unsigned n = 1);
    void free_temporaries() { temporaries_ = 0; }

   private:
    Program& p_;
    std::map<std::uint64_t, Slot> constants_;
    Slot parameters_ = 0, temporary_base_ = 0;
    unsigned temporaries_ = 0;
};

}  // namespace railyard::load

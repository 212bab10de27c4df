// SPDX-License-Identifier: Apache-2.0
// Python bindings. A P4 value is a big-endian bytestring, of any length up to the width of its field.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "hosts/application.h"
#include "switch/switch_set.h"
#include "tables/number.h"

// Converts indices of switches, links and hosts to Python integers; -1 is no index.
template <typename T>
struct nanobind::detail::type_caster<railyard::Index<T>> {
    NB_TYPE_CASTER(railyard::Index<T>, const_name("int"))

    bool from_python(handle source, std::uint8_t flags, cleanup_list* cleanup) noexcept {
        make_caster<std::int64_t> number;
        if (!number.from_python(source, flags, cleanup)) return false;
        const bool some = number.value >= 0 && number.value < railyard::Index<T>::kNone;
        value = some ? railyard::Index<T>(static_cast<std::size_t>(number.value)) : railyard::Index<T>();
        return true;
    }
    static handle from_cpp(railyard::Index<T> index, rv_policy, cleanup_list*) noexcept {
        return PyLong_FromLongLong(index ? static_cast<long long>(index.at()) : -1);
    }
};

namespace railyard::python {

// True for the types of units.h, which wrap an integer.
template <typename T>
inline constexpr bool kWrapsInteger = false;
template <typename Kind, typename T>
inline constexpr bool kWrapsInteger<Number<Kind, T>> = true;
template <typename Kind, typename T>
inline constexpr bool kWrapsInteger<Amount<Kind, T>> = true;

}  // namespace railyard::python

// Converts numbers and amounts to Python integers: times to picoseconds.
template <typename Wrapped>
    requires railyard::python::kWrapsInteger<Wrapped>
struct nanobind::detail::type_caster<Wrapped> {
    using Integer = decltype(std::declval<Wrapped>().value());
    NB_TYPE_CASTER(Wrapped, const_name("int"))

    bool from_python(handle source, std::uint8_t flags, cleanup_list* cleanup) noexcept {
        make_caster<Integer> number;
        if (!number.from_python(source, flags, cleanup)) return false;
        value = Wrapped(number.value);
        return true;
    }
    static handle from_cpp(Wrapped wrapped, rv_policy policy, cleanup_list* cleanup) noexcept {
        return make_caster<Integer>::from_cpp(wrapped.value(), policy, cleanup);
    }
};

// Converts real time to nanoseconds as Python integers.
template <>
struct nanobind::detail::type_caster<std::chrono::nanoseconds> {
    NB_TYPE_CASTER(std::chrono::nanoseconds, const_name("int"))

    bool from_python(handle source, std::uint8_t flags, cleanup_list* cleanup) noexcept {
        make_caster<std::int64_t> number;
        if (!number.from_python(source, flags, cleanup)) return false;
        value = std::chrono::nanoseconds(number.value);
        return true;
    }
    static handle from_cpp(std::chrono::nanoseconds time, rv_policy policy, cleanup_list* cleanup) noexcept {
        return make_caster<std::int64_t>::from_cpp(time.count(), policy, cleanup);
    }
};

namespace railyard::python {

namespace nb = nanobind;
using load::Program;
using switching::Switch, switching::SwitchSet;

// Lock of a SwitchSet's mutex. It releases the interpreter lock while it waits: the thread that holds the
// mutex may need the interpreter.
class SetLock {
   public:
    explicit SetLock(SwitchSet& set) : mutex_(set.mutex()) {
        if (mutex_.try_lock()) return;
        const nb::gil_scoped_release free;
        mutex_.lock();
    }
    ~SetLock() { mutex_.unlock(); }
    SetLock(const SetLock&) = delete;

   private:
    switching::SharedMutex& mutex_;
};

// Access to a switch while its set's lock is held.
class LockedSwitch {
   public:
    LockedSwitch(SwitchSet& set, Index<Switch> index) : lock_(set), switch_(set.switch_at(index)) {}
    Switch* operator->() const { return &switch_; }
    Switch& operator*() const { return switch_; }
    const Program& program() const {
        if (switch_.program() == nullptr)
            throw std::invalid_argument("switch " + switch_.name() + " has no program; set a program first");
        return *switch_.program();
    }

   private:
    SetLock lock_;
    Switch& switch_;
};

nb::bytes from_limbs(const std::uint64_t* value, unsigned bits);
const char* kind_name(load::MatchKind kind);
// Convert the keys of a table entry; return false if their number or a width is wrong.
bool to_match(const load::TableSpec& spec, const nb::list& keys, std::vector<tables::MatchValue>& out);
// Convert the parameters of the action with this index; return false if their number or a width is wrong.
bool to_parameters(const Program& program, int action, const nb::list& values,
                   std::vector<std::uint64_t>& out);
nb::list match_of(const load::TableSpec& spec, const tables::EntrySpec& entry);

// Move a value to the heap; return its address, and the capsule that owns it.
template <typename T>
std::pair<T*, nb::capsule> owned(T value) {
    auto own = std::make_unique<T>(std::move(value));
    nb::capsule owner(own.get(), [](void* given) noexcept { delete static_cast<T*>(given); });
    return {own.release(), std::move(owner)};
}

inline std::string_view view(const nb::bytes& b) { return {b.c_str(), b.size()}; }
inline nb::bytes to_bytes(std::string_view v) { return nb::bytes(v.data(), v.size()); }

// Convert between Actions and a Python host's output: ([(frame, vl), ...], deadline or None).
void to_answer(const nb::object& output, hosts::Actions& actions);
nb::object from_answer(const hosts::Actions& actions);
// Return the pool for frames of hosts outside of a network; it is never destroyed.
frames::FramePool& loose_frames();
// Return a host's handler as an application: a C++ application itself, a Python handler wrapped; None: null.
std::shared_ptr<hosts::Application> application_of(const nb::object& handler);

// Convert the steps of a trace to dictionaries.
nb::list from_trace(const Program& program, const std::vector<switching::TraceStep>& steps);

void bind_program(nb::module_& m);
void bind_switches(nb::module_& m);
void bind_tables(nb::class_<SwitchSet>& c);
void bind_state(nb::class_<SwitchSet>& c);
void bind_updates(nb::module_& m, nb::class_<SwitchSet>& switches);
void bind_arrays(nb::module_& m);
void bind_hosts(nb::module_& m);
void bind_tree(nb::module_& m);
void bind_network(nb::module_& m);
void bind_wire(nb::module_& m);

}  // namespace railyard::python

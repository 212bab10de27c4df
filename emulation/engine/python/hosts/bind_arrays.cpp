// SPDX-License-Identifier: Apache-2.0
// Bindings of NPU arrays. Arrays are filled and compared without the interpreter lock, so that threads run in
// parallel.
#include "python/hosts/bind_arrays.h"

#include <nanobind/ndarray.h>

#include <cstring>
#include <stdexcept>
#include <string>

#include "hosts/random/random_elements.h"
#include "python/bind.h"

namespace railyard::python {

namespace {

using Elements = nb::ndarray<std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ReadBytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
// Upper and lower half of a 128-bit number.
using Halves = std::pair<std::uint64_t, std::uint64_t>;

hosts::RandomElements::Word word_of(const Halves& halves) {
    return hosts::RandomElements::Word{halves.first} << 64 | halves.second;
}

std::uint32_t* elements_of(const hosts::RandomElements& random, const Elements& array) {
    if (array.size() != random.count())
        throw std::invalid_argument("the array has " + std::to_string(array.size()) +
                                    " elements; give an array of " + std::to_string(random.count()));
    return array.data();
}

}  // namespace

std::shared_ptr<hosts::ByteArray> AgentArray::take() {
    if (bytes == nullptr)
        throw std::invalid_argument("another agent has this array; make a new array for each agent");
    return std::move(bytes);
}

void bind_arrays(nb::module_& m) {
    nb::class_<AgentArray>(m, "AgentArray", "Array of int32 that one agent can take over, without a copy.")
        .def_prop_ro(
            "shape", [](const AgentArray& array) { return nb::make_tuple(array.elements); },
            nb::for_getter(nb::sig("def shape(self, /) -> tuple[int]")));
    nb::class_<hosts::RandomElements>(
        m, "RandomElements",
        "Random int32 elements over the whole range, equal to those of numpy's generator.\n"
        "\n"
        "`state` and `increment` are values of numpy.random.PCG64.state, each as its (upper, lower)\n"
        "64 bits. Methods release the interpreter lock while they draw. ValueError if an array\n"
        "does not have `count` elements.")
        .def(
            "__init__",
            [](hosts::RandomElements* self, const Halves& state, const Halves& increment, std::size_t count) {
                new (self) hosts::RandomElements(word_of(state), word_of(increment), count);
            },
            nb::arg("state"), nb::arg("increment"), nb::arg("count"))
        .def_prop_ro("count", &hosts::RandomElements::count)
        .def(
            "fill",
            [](const hosts::RandomElements& random, const Elements& array) {
                std::uint32_t* const out = elements_of(random, array);
                const nb::gil_scoped_release free;
                random.fill(out);
            },
            nb::arg("array"), nb::sig("def fill(self, array: numpy.typing.NDArray[numpy.uint32]) -> None"))
        .def(
            "add_to",
            [](const hosts::RandomElements& random, const Elements& total) {
                std::uint32_t* const out = elements_of(random, total);
                const nb::gil_scoped_release free;
                random.add_to(out);
            },
            nb::arg("total"), nb::sig("def add_to(self, total: numpy.typing.NDArray[numpy.uint32]) -> None"),
            "Add the elements to those of an array; sums wrap.")
        .def("array", [](const hosts::RandomElements& random) {
            const nb::gil_scoped_release free;
            auto bytes = std::make_shared<hosts::ByteArray>(random.count() * sizeof(std::uint32_t));
            random.fill(reinterpret_cast<std::uint32_t*>(bytes->data()));
            return AgentArray{std::move(bytes), random.count()};
        });
    m.def(
        "same_bytes",
        [](const ReadBytes& one, const ReadBytes& other) {
            if (one.size() != other.size()) return false;
            const nb::gil_scoped_release free;
            return std::memcmp(one.data(), other.data(), one.size()) == 0;
        },
        nb::arg("one"), nb::arg("other"),
        nb::sig("def same_bytes(one: numpy.typing.NDArray[numpy.uint8], other: "
                "numpy.typing.NDArray[numpy.uint8]) -> bool"),
        "Return whether two arrays have equal bytes; release the interpreter lock to compare them.");
}

}  // namespace railyard::python

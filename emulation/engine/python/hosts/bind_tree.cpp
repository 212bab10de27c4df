// SPDX-License-Identifier: Apache-2.0
// Bindings of members of in-network reductions. A network runs a member, or Python calls the member for each
// event.
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <tuple>

#include "hosts/tree/tree_member.h"
#include "python/bind.h"

namespace railyard::python {

namespace {

// Fields of TreePort: tree number, port, CNA of the first switch, leaf of each rank, window, first block.
using PortTuple = std::tuple<std::uint16_t, std::uint8_t, std::uint16_t, std::vector<std::uint16_t>,
                             std::uint32_t, std::uint32_t>;
using Column = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Data = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

hosts::TreePort port_of(const PortTuple& given) {
    const auto& [tree, port, next, leaves, window, first_block] = given;
    if (window < 1)
        throw std::invalid_argument("tree " + std::to_string(tree) +
                                    " has a window of 0 frames; give at least 1");
    return {tree, Port(port), next, leaves, window, first_block};
}

void make_blocks(hosts::TreeBlocks* self, const Column& starts, const Column& stops, const Column& sources,
                 const Column& owners) {
    const std::size_t count = starts.size();
    if (stops.size() != count || sources.size() != count || owners.size() != count)
        throw std::invalid_argument(
            "the columns of blocks differ in length; give a start, stop, source and owner for each block");
    new (self) hosts::TreeBlocks;
    self->all.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
        self->all.push_back({static_cast<std::uint64_t>(starts(i)), static_cast<std::uint64_t>(stops(i)),
                             static_cast<std::int32_t>(sources(i)), static_cast<std::int32_t>(owners(i))});
}

}  // namespace

void bind_tree(nb::module_& m) {
    nb::class_<hosts::TreeBlocks>(
        m, "TreeBlocks",
        "Blocks of a reduction tree, in columns.\n"
        "\n"
        "Block i has the elements `starts[i]` up to, but not including, `stops[i]`. Rank `sources[i]`\n"
        "sends the values, and rank `owners[i]` gets the result; -1: all ranks. ValueError if the\n"
        "columns differ in length.")
        .def("__init__", make_blocks, nb::arg("starts"), nb::arg("stops"), nb::arg("sources"),
             nb::arg("owners"),
             nb::sig("def __init__(self, starts: numpy.typing.NDArray[numpy.int64], stops: "
                     "numpy.typing.NDArray[numpy.int64], sources: numpy.typing.NDArray[numpy.int64], owners: "
                     "numpy.typing.NDArray[numpy.int64]) -> None"));
    nb::class_<hosts::TreeMember, hosts::Participant>(
        m, "TreeMember",
        "Agent of an NPU in an in-network reduction; see emulation.traffic.tree.member.\n"
        "\n"
        "Args:\n"
        "    rank: Rank of the member.\n"
        "    address: CNA of the member.\n"
        "    data: Bytes of the array, in the byte order of frames; native float32 if `scaled`.\n"
        "    trees: Reduction trees, each as (port, blocks). A port is (number of the tree, egress port\n"
        "        of the member's own switch, CNA of the first switch, leaf number of each rank, window\n"
        "        in frames, block number of the first frame).\n"
        "    initial_rto_ps: Retransmission timeout before the first round trip is known.\n"
        "    min_rto_ps: Shortest retransmission timeout.\n"
        "    max_rto_ps: Longest retransmission timeout.\n"
        "    report_after: Retries of a frame after which call_when_lost() reports the tree.\n"
        "    max_retries: Retries of a frame after which the member gives up.\n"
        "    operation: Number of the reduction operation.\n"
        "    item_bytes: Bytes of an element.\n"
        "    scaled: True for float32 sums: members first agree on a scale, then send integers.\n"
        "\n"
        "ValueError if a block exceeds the array or a frame, or if a window is 0.")
        .def(
            "__init__",
            [](hosts::TreeMember* self, std::uint32_t rank, std::uint16_t address, const Data& data,
               const std::vector<std::pair<PortTuple, std::shared_ptr<hosts::TreeBlocks>>>& trees,
               Time initial_rto, Time min_rto, Time max_rto, int report_after, int max_retries,
               std::uint8_t operation, std::uint8_t item_bytes, bool scaled) {
                std::vector<std::pair<hosts::TreePort, hosts::SharedBlocks>> ports;
                ports.reserve(trees.size());
                for (const auto& [port, blocks] : trees) ports.emplace_back(port_of(port), blocks);
                new (self) hosts::TreeMember(rank, address,
                                             hosts::ByteArray(data.data(), data.data() + data.size()), ports,
                                             {initial_rto, min_rto, max_rto, report_after, max_retries,
                                              operation, item_bytes, scaled});
            },
            nb::kw_only(), nb::arg("rank"), nb::arg("address"), nb::arg("data"), nb::arg("trees"),
            nb::arg("initial_rto_ps"), nb::arg("min_rto_ps"), nb::arg("max_rto_ps"), nb::arg("report_after"),
            nb::arg("max_retries"), nb::arg("operation"), nb::arg("item_bytes"), nb::arg("scaled"),
            nb::sig("def __init__(self, *, rank: int, address: int, data: numpy.typing.NDArray[numpy.uint8], "
                    "trees: "
                    "collections.abc.Sequence[tuple[tuple[int, int, int, collections.abc.Sequence[int], int, "
                    "int], "
                    "TreeBlocks]], initial_rto_ps: int, min_rto_ps: int, max_rto_ps: int, report_after: int, "
                    "max_retries: int, operation: int, item_bytes: int, scaled: bool) -> None"))
        .def(
            "call_when_lost",
            [](hosts::TreeMember& t, nb::object call) {
                t.on_lost = [call = std::move(call)](std::uint16_t tree) { call(tree); };
            },
            nb::sig("def call_when_lost(self, call: collections.abc.Callable[[int], None], /) -> None"),
            "Set the function that is called with the number of a tree that gives no results.")
        .def("lacking_of", &hosts::TreeMember::lacking, nb::arg("tree"),
             "Return the indices of the blocks of a tree whose results have not arrived.")
        .def(
            "move_to",
            [](hosts::TreeMember& t, std::uint16_t tree, const PortTuple& port,
               std::shared_ptr<hosts::TreeBlocks> blocks, Time now) {
                hosts::Actions actions(loose_frames());
                t.move(tree, port_of(port), std::move(blocks), now, actions);
                return from_answer(actions);
            },
            nb::arg("tree"), nb::arg("port"), nb::arg("blocks"), nb::arg("now"),
            nb::sig("def move_to(self, tree: int, port: tuple[int, int, int, collections.abc.Sequence[int], "
                    "int, int], "
                    "blocks: TreeBlocks, now: int) -> Output"),
            "Leave `tree`, and send `blocks` up the tree of `port`, as in the constructor.\n"
            "\n"
            "`blocks` are the blocks of `tree` whose results some member lacks. ValueError if the member is\n"
            "not in `tree`.")
        .def_prop_ro("wrapped_blocks", &hosts::TreeMember::wrapped_blocks,
                     "Number of results whose sum left the range of its values.");
}

}  // namespace railyard::python

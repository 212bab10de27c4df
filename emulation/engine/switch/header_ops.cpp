// SPDX-License-Identifier: Apache-2.0
// Operations on whole headers, unions and stacks.
#include <algorithm>

#include "switch/switch.h"

namespace railyard {

void Traversal::add_header(std::uint64_t header) {
    if (header >= program_.headers.size()) return;
    const Header& h = program_.headers[header];
    std::uint64_t* v = slots_.data();
    if (v[h.valid] != 0) return;
    std::fill_n(v + h.first, h.slots, 0);
    if (h.header_union)
        for (const Index<Header> other : program_.unions[h.header_union].headers)
            v[program_.headers[other].valid] = 0;
    v[h.valid] = 1;
    v[h.base()] = 0;
    length_ += h.bytes;
}

void Traversal::remove_header(std::uint64_t header) {
    if (header >= program_.headers.size()) return;
    const Header& h = program_.headers[header];
    if (slots_[h.valid] != 0) length_ -= emitted_bytes(h);
    slots_[h.valid] = 0;
}

void Traversal::copy_header(std::uint64_t to, std::uint64_t from) {
    if (to >= program_.headers.size() || from >= program_.headers.size() || to == from) return;
    const Header &a = program_.headers[to], &b = program_.headers[from];
    std::uint64_t* v = slots_.data();
    if (!b.metadata) {  // metadata is always valid
        v[a.valid] = v[b.valid];
        v[a.base()] = 0;
        if (v[b.valid] == 0) return;
    }
    if (a.header_union)
        for (const Index<Header> other : program_.unions[a.header_union].headers)
            if (other.at() != to) v[program_.headers[other].valid] = 0;
    std::copy_n(v + b.first, b.slots, v + a.first);
}

bool Traversal::equal_headers(std::uint64_t a, std::uint64_t b) const {
    if (a >= program_.headers.size() || b >= program_.headers.size()) return false;
    const Header &x = program_.headers[a], &y = program_.headers[b];
    const std::uint64_t* v = slots_.data();
    const bool valid = x.metadata ? y.metadata : v[x.valid] != 0 && v[y.valid] != 0;
    return valid && x.slots == y.slots && std::equal(v + x.first, v + x.first + x.slots, v + y.first);
}

void Traversal::swap_headers(Index<Header> a, Index<Header> b) {
    const Header &x = program_.headers[a], &y = program_.headers[b];
    std::uint64_t* v = slots_.data();
    std::swap_ranges(v + x.first, v + x.first + x.slots, v + y.first);
    std::swap(v[x.valid], v[y.valid]);
    std::swap(v[x.base()], v[y.base()]);
}

void Traversal::shift_stack(const Stack& stack, std::uint64_t by, bool push) {
    const std::size_t size = stack.size(), n = std::min<std::uint64_t>(by, size);
    if (n == 0) return;
    const auto swap = [&](std::size_t a, std::size_t b) {
        if (!stack.of_unions()) return swap_headers(stack.headers[a], stack.headers[b]);
        const auto &x = program_.unions[stack.unions[a]].headers,
                   &y = program_.unions[stack.unions[b]].headers;
        for (std::size_t i = 0; i < x.size(); ++i) swap_headers(x[i], y[i]);
    };
    const auto clear = [&](std::size_t at) {
        if (!stack.of_unions()) {
            slots_[program_.headers[stack.headers[at]].valid] = 0;
            return;
        }
        for (const Index<Header> h : program_.unions[stack.unions[at]].headers)
            slots_[program_.headers[h].valid] = 0;
    };
    std::uint64_t& next = slots_[stack.next];
    ASSERT(next <= size);
    if (push) {
        next = std::min<std::uint64_t>(size, next + n);
        for (std::size_t i = size; i-- > n;) swap(i, i - n);
        for (std::size_t i = 0; i < n; ++i) clear(i);
    } else {
        next -= std::min<std::uint64_t>(next, n);
        for (std::size_t i = 0; i + n < size; ++i) swap(i, i + n);
        for (std::size_t i = size - n; i < size; ++i) clear(i);
    }
}

void Traversal::copy_stack(const Stack& to, const Stack& from) {
    ASSERT(to.size() == from.size());
    slots_[to.next] = slots_[from.next];
    const auto copy = [&](Index<Header> a, Index<Header> b) { copy_header(a.at(), b.at()); };
    for (std::size_t i = 0; i < to.size(); ++i) {
        if (!to.of_unions()) {
            copy(to.headers[i], from.headers[i]);
            continue;
        }
        const auto &a = program_.unions[to.unions[i]].headers, &b = program_.unions[from.unions[i]].headers;
        for (std::size_t k = 0; k < a.size(); ++k) copy(a[k], b[k]);
    }
}

}  // namespace railyard

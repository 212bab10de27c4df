// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "switch/stages/headers.h"

namespace railyard::switching {

void Headers::add(std::uint64_t header) {
    if (header >= state_.program.headers.size()) return;
    const Header& h = state_.program.headers[header];
    std::uint64_t* v = state_.slots.data();
    if (v[h.valid] != 0) return;
    std::fill_n(v + h.first, h.slots, 0);
    if (h.header_union)
        for (const Index<Header> other : state_.program.unions[h.header_union].headers)
            v[state_.program.headers[other].valid] = 0;
    v[h.valid] = 1;
    v[h.base()] = 0;
    state_.length += h.bytes;
}

void Headers::remove(std::uint64_t header) {
    if (header >= state_.program.headers.size()) return;
    const Header& h = state_.program.headers[header];
    if (state_.slots[h.valid] != 0) state_.length -= state_.bytes_of(h);
    state_.slots[h.valid] = 0;
}

void Headers::copy(std::uint64_t to, std::uint64_t from) {
    if (to >= state_.program.headers.size() || from >= state_.program.headers.size() || to == from) return;
    const Header &a = state_.program.headers[to], &b = state_.program.headers[from];
    std::uint64_t* v = state_.slots.data();
    if (!b.metadata) {  // metadata is always valid
        v[a.valid] = v[b.valid];
        v[a.base()] = 0;
        if (v[b.valid] == 0) return;
    }
    if (a.header_union)
        for (const Index<Header> other : state_.program.unions[a.header_union].headers)
            if (other.at() != to) v[state_.program.headers[other].valid] = 0;
    std::copy_n(v + b.first, b.slots, v + a.first);
}

bool Headers::equal(std::uint64_t a, std::uint64_t b) const {
    if (a >= state_.program.headers.size() || b >= state_.program.headers.size()) return false;
    const Header &x = state_.program.headers[a], &y = state_.program.headers[b];
    const std::uint64_t* v = state_.slots.data();
    const bool valid = x.metadata ? y.metadata : v[x.valid] != 0 && v[y.valid] != 0;
    return valid && x.slots == y.slots && std::equal(v + x.first, v + x.first + x.slots, v + y.first);
}

void Headers::swap(Index<Header> a, Index<Header> b) {
    const Header &x = state_.program.headers[a], &y = state_.program.headers[b];
    std::uint64_t* v = state_.slots.data();
    std::swap_ranges(v + x.first, v + x.first + x.slots, v + y.first);
    std::swap(v[x.valid], v[y.valid]);
    std::swap(v[x.base()], v[y.base()]);
}

void Headers::shift_stack(const Stack& stack, std::uint64_t by, bool push) {
    const std::size_t size = stack.size(), n = std::min<std::uint64_t>(by, size);
    if (n == 0) return;
    const auto exchange = [&](std::size_t a, std::size_t b) {
        if (!stack.of_unions()) return swap(stack.headers[a], stack.headers[b]);
        const auto &x = state_.program.unions[stack.unions[a]].headers,
                   &y = state_.program.unions[stack.unions[b]].headers;
        for (std::size_t i = 0; i < x.size(); ++i) swap(x[i], y[i]);
    };
    const auto clear = [&](std::size_t at) {
        if (!stack.of_unions()) {
            state_.slots[state_.program.headers[stack.headers[at]].valid] = 0;
            return;
        }
        for (const Index<Header> h : state_.program.unions[stack.unions[at]].headers)
            state_.slots[state_.program.headers[h].valid] = 0;
    };
    std::uint64_t& next = state_.slots[stack.next];
    ASSERT(next <= size);
    if (push) {
        next = std::min<std::uint64_t>(size, next + n);
        for (std::size_t i = size; i-- > n;) exchange(i, i - n);
        for (std::size_t i = 0; i < n; ++i) clear(i);
    } else {
        next -= std::min<std::uint64_t>(next, n);
        for (std::size_t i = 0; i + n < size; ++i) exchange(i, i + n);
        for (std::size_t i = size - n; i < size; ++i) clear(i);
    }
}

void Headers::copy_stack(const Stack& to, const Stack& from) {
    ASSERT(to.size() == from.size());
    state_.slots[to.next] = state_.slots[from.next];
    for (std::size_t i = 0; i < to.size(); ++i) {
        if (!to.of_unions()) {
            copy(to.headers[i].at(), from.headers[i].at());
            continue;
        }
        const auto &a = state_.program.unions[to.unions[i]].headers,
                   &b = state_.program.unions[from.unions[i]].headers;
        for (std::size_t k = 0; k < a.size(); ++k) copy(a[k].at(), b[k].at());
    }
}

}  // namespace railyard::switching

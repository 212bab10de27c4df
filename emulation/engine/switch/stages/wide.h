// SPDX-License-Identifier: Apache-2.0
// Arithmetic on two's complement integers of n 64-bit limbs, the least significant first.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace railyard::switching::wide {

using Limb = std::uint64_t;
constexpr unsigned kMost = 130;  // most limbs of an operand of multiply() and divide()

inline void extend(Limb* to, const Limb* from, unsigned n, unsigned have, bool sign) {
    const Limb fill = sign && have > 0 && (from[have - 1] >> 63) != 0 ? ~0ULL : 0;
    for (unsigned i = 0; i < n; ++i) to[i] = i < have ? from[i] : fill;
}

inline void add(Limb* to, const Limb* a, const Limb* b, unsigned n, bool subtract) {
    unsigned __int128 carry = subtract ? 1 : 0;
    for (unsigned i = 0; i < n; ++i) {
        carry += static_cast<unsigned __int128>(a[i]) + (subtract ? ~b[i] : b[i]);
        to[i] = static_cast<Limb>(carry);
        carry >>= 64;
    }
}

inline void multiply(Limb* to, const Limb* a, const Limb* b, unsigned n) {
    std::array<Limb, kMost> out{};
    for (unsigned i = 0; i < n; ++i) {
        unsigned __int128 carry = 0;
        for (unsigned j = 0; i + j < n; ++j) {
            carry += static_cast<unsigned __int128>(a[i]) * b[j] + out[i + j];
            out[i + j] = static_cast<Limb>(carry);
            carry >>= 64;
        }
    }
    std::memcpy(to, out.data(), n * sizeof(Limb));
}

inline void shift_left(Limb* to, const Limb* a, Limb by, unsigned n) {
    for (unsigned i = n; i-- > 0;) {
        const Limb words = by / 64, bits = by % 64;
        Limb v = i >= words ? a[i - words] << bits : 0;
        if (bits != 0 && i >= words + 1) v |= a[i - words - 1] >> (64 - bits);
        to[i] = v;
    }
}

inline void shift_right(Limb* to, const Limb* a, Limb by, unsigned n, bool sign) {
    const Limb fill = sign && (a[n - 1] >> 63) != 0 ? ~0ULL : 0;
    const Limb words = by / 64, bits = by % 64;
    for (unsigned i = 0; i < n; ++i) {
        const auto at = [&](Limb k) { return k < n ? a[k] : fill; };
        Limb v = words >= n ? fill : at(i + words) >> bits;
        if (bits != 0 && words < n) v |= at(i + words + 1) << (64 - bits);
        to[i] = v;
    }
}

inline int compare(const Limb* a, const Limb* b, unsigned n, bool sign) {
    if (sign && ((a[n - 1] ^ b[n - 1]) >> 63) != 0) return (a[n - 1] >> 63) != 0 ? -1 : 1;
    for (unsigned i = n; i-- > 0;)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

// Divide unsigned integers; quotient and rest are 0 if the divisor is 0. Either result may be null.
inline void divide(Limb* quotient, Limb* rest, const Limb* a, const Limb* b, unsigned n) {
    std::array<Limb, kMost> q{}, r{};
    bool zero = true;
    for (unsigned i = 0; i < n; ++i) zero = zero && b[i] == 0;
    for (unsigned bit = 64 * n; bit-- > 0 && !zero;) {
        shift_left(r.data(), r.data(), 1, n);
        r[0] |= (a[bit / 64] >> (bit % 64)) & 1;
        if (compare(r.data(), b, n, false) >= 0) {
            add(r.data(), r.data(), b, n, true);
            q[bit / 64] |= 1ULL << (bit % 64);
        }
    }
    if (quotient != nullptr) std::memcpy(quotient, q.data(), n * sizeof(Limb));
    if (rest != nullptr) std::memcpy(rest, r.data(), n * sizeof(Limb));
}

// Keep the lowest `bits` bits; sign: sign-extend them, else clear the bits above.
inline void keep(Limb* v, unsigned n, unsigned bits, bool sign) {
    if (bits == 0 || bits >= 64 * n) return;
    const bool negative = sign && ((v[(bits - 1) / 64] >> ((bits - 1) % 64)) & 1) != 0;
    const unsigned word = bits / 64;
    const Limb mask = bits % 64 == 0 ? 0 : (1ULL << (bits % 64)) - 1;
    v[word] = negative ? v[word] | ~mask : v[word] & mask;
    for (unsigned i = word + 1; i < n; ++i) v[i] = negative ? ~0ULL : 0;
}

// Clamp a signed value to the range of a signed (`sign`) or unsigned integer of `bits` bits.
inline void clamp(Limb* v, unsigned n, unsigned bits, bool sign) {
    const bool negative = (v[n - 1] >> 63) != 0;
    const unsigned free = sign ? bits - 1 : bits;  // bits of the magnitude
    bool over = false;                             // some bit above the magnitude differs from the sign
    for (unsigned bit = free; bit < 64 * n && !over; ++bit)
        over = (((v[bit / 64] >> (bit % 64)) & 1) != 0) != negative;
    if (!sign && negative) {
        for (unsigned i = 0; i < n; ++i) v[i] = 0;
    } else if (over) {
        for (unsigned bit = 0; bit < 64 * n; ++bit) {
            const bool set = (bit < free) != negative;
            if (set) v[bit / 64] |= 1ULL << (bit % 64);
            else v[bit / 64] &= ~(1ULL << (bit % 64));
        }
    }
}

}  // namespace railyard::switching::wide

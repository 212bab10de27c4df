// SPDX-License-Identifier: Apache-2.0
#include "p4runtime/entry_updates.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "tables/number.h"

namespace railyard::p4runtime {

namespace {

// Field numbers of p4/v1/p4runtime.proto.
namespace write_request {
constexpr std::uint32_t kUpdates = 4;
}
namespace update {
constexpr std::uint32_t kType = 1, kEntity = 2;
constexpr std::uint64_t kInsert = 1, kModify = 2, kDelete = 3;
}  // namespace update
namespace entity {
constexpr std::uint32_t kTableEntry = 2;
}
namespace table_entry {
constexpr std::uint32_t kTableId = 1, kMatch = 2, kAction = 3, kPriority = 4;
}
namespace field_match {
constexpr std::uint32_t kFieldId = 1, kExact = 2, kTernary = 3, kLpm = 4, kRange = 6, kOptional = 7;
// Fields of the nested messages: kValue is value or low; kExtra is mask, prefix_len or high.
constexpr std::uint32_t kValue = 1, kExtra = 2;
}  // namespace field_match
namespace table_action {
constexpr std::uint32_t kAction = 1;
}
namespace action {
constexpr std::uint32_t kActionId = 1, kParams = 4, kParamId = 2, kParamValue = 3;
}

// Get the bytes of the only field of a message, which must have the field number `number`; return false for
// other messages.
bool only_bytes(std::string_view message, std::uint32_t number, std::string_view& out) {
    WireReader reader(message);
    WireField field;
    if (!reader.next(field) || field.number != number || !field.is_bytes) return false;
    out = field.bytes;
    return !reader.next(field) && reader.regular();
}

// Get the number field and the bytes field of a message. If a field is absent, its output does not change.
// Return false if the message has other fields, or a field twice.
bool number_and_bytes(std::string_view message, std::uint32_t number, std::uint64_t& value,
                      std::uint32_t bytes_number, std::string_view& bytes) {
    WireReader reader(message);
    WireField field;
    bool has_number = false, has_bytes = false;
    while (reader.next(field)) {
        if (field.number == number && !field.is_bytes && !has_number) {
            value = field.value;
            has_number = true;
        } else if (field.number == bytes_number && field.is_bytes && !has_bytes) {
            bytes = field.bytes;
            has_bytes = true;
        } else {
            return false;
        }
    }
    return reader.regular();
}

// Get the two bytestrings of a ternary match or range: value and mask, or low and high end. Return false for
// other messages.
bool two_bytestrings(std::string_view message, std::string_view& value, std::string_view& extra) {
    WireReader reader(message);
    WireField field;
    bool has_value = false, has_extra = false;
    while (reader.next(field)) {
        if (!field.is_bytes) return false;
        if (field.number == field_match::kValue && !has_value) {
            value = field.bytes;
            has_value = true;
        } else if (field.number == field_match::kExtra && !has_extra) {
            extra = field.bytes;
            has_extra = true;
        } else {
            return false;
        }
    }
    return reader.regular();
}

bool is_uint32(std::uint64_t value) { return value <= std::numeric_limits<std::uint32_t>::max(); }

bool is_zero(const std::vector<std::uint64_t>& number) {
    return std::all_of(number.begin(), number.end(), [](std::uint64_t limb) { return limb == 0; });
}

bool is_within(const std::vector<std::uint64_t>& number, const std::vector<std::uint64_t>& mask) {
    for (std::size_t i = 0; i < number.size(); ++i)
        if ((number[i] & ~mask[i]) != 0) return false;
    return true;
}

// Set `out` to a mask of all bits of a field from bit `from` on.
void ones(unsigned bits, unsigned from, std::vector<std::uint64_t>& out) {
    out.assign(load::limbs(bits), 0);
    for (unsigned limb = from / 64; limb < load::limbs(bits); ++limb) {
        out[limb] = load::low_mask(std::min(64u, bits - 64 * limb));
        if (limb == from / 64) out[limb] &= ~load::low_mask(from % 64);
    }
}

// Convert a bytestring to limbs; return false if it is empty or needs more than `bits` bits.
bool to_number(std::string_view bytes, unsigned bits, std::vector<std::uint64_t>& out) {
    return !bytes.empty() && tables::to_limbs(bytes, bits, out);
}

bool decode_lpm(std::string_view message, unsigned bits, tables::MatchValue& out) {
    std::uint64_t prefix = 0;
    std::string_view value;
    if (!number_and_bytes(message, field_match::kExtra, prefix, field_match::kValue, value)) return false;
    if (prefix == 0 || prefix > bits || !to_number(value, bits, out.value)) return false;
    out.prefix = static_cast<int>(prefix);
    ones(bits, bits - static_cast<unsigned>(prefix), out.extra);
    const bool exact = is_within(out.value, out.extra);
    out.extra.clear();
    return exact;
}

bool decode_ternary(std::string_view message, unsigned bits, tables::MatchValue& out) {
    std::string_view value, mask;
    return two_bytestrings(message, value, mask) && to_number(value, bits, out.value) &&
           to_number(mask, bits, out.extra) && !is_zero(out.extra) && is_within(out.value, out.extra);
}

bool decode_range(std::string_view message, unsigned bits, tables::MatchValue& out) {
    std::string_view low, high;
    if (!two_bytestrings(message, low, high) || !to_number(low, bits, out.value) ||
        !to_number(high, bits, out.extra))
        return false;
    if (std::lexicographical_compare(out.extra.rbegin(), out.extra.rend(), out.value.rbegin(),
                                     out.value.rend()))
        return false;
    std::vector<std::uint64_t> top;
    ones(bits, 0, top);
    return !is_zero(out.value) || out.extra != top;
}

// Set the match of an omitted field, which matches everything.
void set_wildcard(const MatchFieldLayout& field, tables::MatchValue& out) {
    out.value.assign(load::limbs(field.bits), 0);
    out.prefix = 0;
    if (field.kind == load::MatchKind::Range) ones(field.bits, 0, out.extra);
    else out.extra.assign(load::limbs(field.bits), 0);
}

}  // namespace

const EntryLayout* EntryLayouts::find(std::uint32_t table_id) const {
    for (const EntryLayout& layout : layouts_)
        if (layout.id == table_id) return &layout;
    return nullptr;
}

EntryUpdates::EntryUpdates(std::string_view request) {
    request_.reserve(request.size() + UpdatePattern::kPadding);
    request_.append(request).append(UpdatePattern::kPadding, '\0');
    WireReader reader(std::string_view(request_).substr(0, request.size()));
    WireField field;
    std::string_view rest = reader.rest();
    while (reader.next(field)) {
        if (field.number == write_request::kUpdates && field.is_bytes) updates_.push_back(field.bytes);
        else head_ += rest.substr(0, rest.size() - reader.rest().size());
        rest = reader.rest();
    }
    if (!reader.regular()) throw std::invalid_argument("the bytes are no WriteRequest");
}

bool EntryUpdates::plain(const EntryLayouts& layouts) {
    return std::all_of(updates_.begin(), updates_.end(),
                       [&](std::string_view message) { return read(layouts, message); });
}

bool EntryUpdates::apply(switching::Switch& to, const EntryLayouts& layouts, std::size_t most) {
    for (; most > 0 && !ended(); --most, ++position_)
        if (!read(layouts, updates_[position_]) || !carry_out(to)) return false;
    return true;
}

bool EntryUpdates::carry_out(switching::Switch& to) {
    tables::Table& table = to.table(layout_->table);
    if (table.constant()) return false;
    switch (type_) {
        case update::kInsert: return table.insert(entry_) == tables::Status::Ok;
        case update::kModify: return table.modify(entry_) == tables::Status::Ok;
        default: return table.erase(entry_.match, entry_.priority) == tables::Status::Ok;
    }
}

bool EntryUpdates::read(const EntryLayouts& layouts, std::string_view message) {
    if (layouts_ != &layouts) {
        layouts_ = &layouts;
        known_.clear();
    }
    if (read_like_known(message)) return true;
    if (!decode_update(layouts, message)) return false;
    remember(message);
    return true;
}

bool EntryUpdates::read_like_known(std::string_view message) {
    if (message.size() >= known_.size()) return false;
    const auto& alike = known_[message.size()];
    return std::any_of(alike.begin(), alike.end(),
                       [&](const Known& known) { return read_like(known, message); });
}

bool EntryUpdates::read_like(const Known& known, std::string_view message) {
    layout_ = known.layout;
    const std::size_t fields = layout_->fields.size();
    entry_.match.resize(fields);
    entry_.parameters.resize(known.parameters);
    const bool like = known.pattern.read(message, [&](std::size_t at, std::uint64_t value) {
        if (at < fields) entry_.match[at].value.assign(1, value);
        else entry_.parameters[at - fields] = value;
    });
    if (!like) return false;
    for (tables::MatchValue& match : entry_.match) {
        match.extra.clear();
        match.prefix = 0;
    }
    type_ = known.type;
    has_action_ = known.has_action;
    entry_.priority = known.priority;
    entry_.target = tables::Target::Action;
    entry_.action = known.action;
    return true;
}

void EntryUpdates::remember(std::string_view message) {
    // numbers_ has only exact fields, and numbers that note() accepts. An update with another field gets no
    // pattern.
    const std::size_t parameters = has_action_ ? entry_.parameters.size() : 0;
    if (message.size() >= kLongestPattern || numbers_.size() != layout_->fields.size() + parameters) return;
    if (known_.empty()) known_.resize(kLongestPattern);
    Known known{UpdatePattern(message, numbers_),
                type_,
                layout_,
                entry_.action,
                entry_.priority,
                has_action_,
                parameters};
    auto& alike = known_[message.size()];
    if (alike.size() < kMostAlike) alike.push_back(std::move(known));
    else alike[replaced_++ % kMostAlike] = std::move(known);
}

// Add a number to numbers_ if it fits a pattern.
void EntryUpdates::note(std::string_view bytes, unsigned bits, std::size_t index) {
    if (bits <= 64 && bytes.size() <= UpdatePattern::kMostBytes) numbers_.push_back({bytes, bits, index});
}

bool EntryUpdates::decode_update(const EntryLayouts& layouts, std::string_view message) {
    type_ = 0;
    numbers_.clear();
    std::string_view entity, table_entry;
    return number_and_bytes(message, update::kType, type_, update::kEntity, entity) &&
           only_bytes(entity, entity::kTableEntry, table_entry) && decode(layouts, table_entry) &&
           (type_ == update::kDelete ||
            ((type_ == update::kInsert || type_ == update::kModify) && has_action_));
}

bool EntryUpdates::decode(const EntryLayouts& layouts, std::string_view message) {
    layout_ = nullptr;
    has_action_ = false;
    entry_.priority = {};
    bool has_priority = false;
    WireReader reader(message);
    WireField field;
    while (reader.next(field)) {
        // Other fields can be read only when the table is known. Canonical messages begin with the table's
        // id.
        if (layout_ == nullptr) {
            if (field.number != table_entry::kTableId || field.is_bytes || !is_uint32(field.value))
                return false;
            layout_ = layouts.find(static_cast<std::uint32_t>(field.value));
            if (layout_ == nullptr) return false;
            entry_.match.resize(layout_->fields.size());
            given_.assign(layout_->fields.size(), false);
        } else if (field.number == table_entry::kMatch && field.is_bytes) {
            if (!decode_match(field.bytes)) return false;
        } else if (field.number == table_entry::kAction && field.is_bytes && !has_action_) {
            if (!decode_action(field.bytes)) return false;
            has_action_ = true;
        } else if (field.number == table_entry::kPriority && !field.is_bytes && !has_priority) {
            if (field.value > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()))
                return false;
            entry_.priority = tables::EntryPriority(field.value);
            has_priority = true;
        } else {
            return false;
        }
    }
    return reader.regular() && layout_ != nullptr && complete();
}

// Fill in omitted match fields; return false if an exact field is missing or the priority does not suit the
// table.
bool EntryUpdates::complete() {
    if (layout_->ordered != (entry_.priority > tables::EntryPriority(0))) return false;
    for (std::size_t i = 0; i < given_.size(); ++i) {
        if (given_[i]) continue;
        if (layout_->fields[i].kind == load::MatchKind::Exact) return false;
        set_wildcard(layout_->fields[i], entry_.match[i]);
    }
    return true;
}

bool EntryUpdates::decode_match(std::string_view message) {
    WireReader reader(message);
    WireField id, kind, end;
    if (!reader.next(id) || id.number != field_match::kFieldId || id.is_bytes || !reader.next(kind) ||
        !kind.is_bytes || reader.next(end) || !reader.regular())
        return false;
    std::size_t at = 0;
    while (at < layout_->fields.size() && layout_->fields[at].id != id.value) ++at;
    if (at == layout_->fields.size() || given_[at]) return false;
    given_[at] = true;
    const MatchFieldLayout& field = layout_->fields[at];
    tables::MatchValue& out = entry_.match[at];
    out.extra.clear();
    out.prefix = 0;
    std::string_view value;
    switch (field.kind) {
        case load::MatchKind::Exact:
            if (kind.number != field_match::kExact || !only_bytes(kind.bytes, field_match::kValue, value) ||
                !to_number(value, field.bits, out.value))
                return false;
            note(value, field.bits, at);
            return true;
        case load::MatchKind::Lpm:
            return kind.number == field_match::kLpm && decode_lpm(kind.bytes, field.bits, out);
        case load::MatchKind::Ternary:
            return kind.number == field_match::kTernary && decode_ternary(kind.bytes, field.bits, out);
        case load::MatchKind::Range:
            return kind.number == field_match::kRange && decode_range(kind.bytes, field.bits, out);
        case load::MatchKind::Optional: break;
    }
    if (kind.number != field_match::kOptional || !only_bytes(kind.bytes, field_match::kValue, value) ||
        !to_number(value, field.bits, out.value))
        return false;
    if (field.masked) ones(field.bits, 0, out.extra);
    else out.prefix = 1;
    return true;
}

bool EntryUpdates::decode_action(std::string_view message) {
    std::string_view sent;
    if (!only_bytes(message, table_action::kAction, sent)) return false;
    WireReader reader(sent);
    WireField field;
    if (!reader.next(field) || field.number != action::kActionId || field.is_bytes) return false;
    const ActionLayout* chosen = nullptr;
    for (const ActionLayout& known : layout_->actions)
        if (known.id == field.value) chosen = &known;
    if (chosen == nullptr) return false;
    entry_.target = tables::Target::Action;
    entry_.action = chosen->action;
    entry_.parameters.clear();
    // Require the parameters in the order of the program; the server handles other orders.
    std::size_t count = 0;
    while (reader.next(field)) {
        std::uint64_t id = 0;
        std::string_view value;
        if (field.number != action::kParams || !field.is_bytes || count == chosen->parameters.size() ||
            !number_and_bytes(field.bytes, action::kParamId, id, action::kParamValue, value))
            return false;
        const ParameterLayout& parameter = chosen->parameters[count++];
        if (id != parameter.id || !to_number(value, parameter.bits, number_)) return false;
        note(value, parameter.bits, layout_->fields.size() + count - 1);
        entry_.parameters.insert(entry_.parameters.end(), number_.begin(), number_.end());
    }
    return reader.regular() && count == chosen->parameters.size();
}

}  // namespace railyard::p4runtime

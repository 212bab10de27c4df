// SPDX-License-Identifier: Apache-2.0
#include "switch.h"

#include <algorithm>
#include <bit>

namespace railyard {

namespace {

std::uint64_t load_word(const std::uint8_t* bytes, unsigned left) {
    std::uint64_t word = 0;
    if (left >= 8) {
        std::memcpy(&word, bytes, 8);
    } else {
        std::memcpy(&word, bytes, left);
    }
    return __builtin_bswap64(word);
}

std::uint64_t peek(const std::uint8_t* bytes, unsigned bit, unsigned bits) {
    std::uint64_t value = 0;
    for (unsigned i = bit; i < bit + bits; ++i) value = (value << 1) | ((bytes[i / 8] >> (7 - i % 8)) & 1u);
    return value;
}

}  // namespace

void Switch::set_program(std::shared_ptr<const Program> program) {
    tables_.clear();
    counters_.clear();
    registers_.clear();
    program_ = std::move(program);
    slots_ = program_->image;
    tables_.reserve(program_->tables.size());
    for (const TableSpec& t : program_->tables) tables_.emplace_back(*program_, t);
    for (const ArraySpec& c : program_->counters)
        counters_.push_back({std::vector<std::uint64_t>(c.size, 0), std::vector<std::uint64_t>(c.size, 0)});
    for (const ArraySpec& r : program_->registers) registers_.emplace_back(r.size, 0);
}

void Switch::extract(const Header& header, const std::uint8_t* bytes) {
    std::uint64_t* v = slots_.data();
    v[header.valid] = 1;
    unsigned at = ~0u;
    std::uint64_t word = 0;
    for (const FieldPart& part : header.parts) {
        if (part.word != at) {
            at = part.word;
            word = load_word(bytes + 8 * at, header.bytes - 8 * at);
        }
        const std::uint64_t bits = word & part.mask;
        v[part.slot] |= part.shift >= 0 ? bits >> part.shift : bits << -part.shift;
    }
}

void Switch::emit(const Header& header, std::uint8_t* bytes) const {
    const std::uint64_t* v = slots_.data();
    const unsigned words = (header.bytes + 7) / 8;
    const FieldPart* part = header.parts.data();
    const FieldPart* end = part + header.parts.size();
    for (unsigned at = 0; at < words; ++at) {
        std::uint64_t word = 0;
        for (; part != end && part->word == at; ++part)
            word |= (part->shift >= 0 ? v[part->slot] << part->shift : v[part->slot] >> -part->shift) & part->mask;
        word = __builtin_bswap64(word);
        std::memcpy(bytes + 8 * at, &word, std::min(8u, header.bytes - 8 * at));
    }
}

int Switch::transition(const ParserState& state, const Frame& frame, bool& too_short) const {
    std::uint64_t key = 0;
    for (const TransitionKey& k : state.key) {
        std::uint64_t value;
        if (k.lookahead) {
            if (8ULL * (frame.length - parsed_) < k.offset + k.bits) {
                too_short = true;
                return kNone;
            }
            value = peek(frame.data() + parsed_, k.offset, k.bits);
        } else {
            value = slots_[k.slot];
        }
        key = (key << (8 * ((k.bits + 7) / 8) % 64)) | value;
    }
    for (const Transition& t : state.transitions)
        if ((key & t.mask) == t.value) return t.next;
    return kNone;
}

void Switch::parse(const Frame& frame) {
    parsed_ = 0;
    std::uint64_t error = 0;
    // A state that consumes nothing and returns to itself must not hang the switch.
    std::size_t steps = 4 * program_->states.size() + frame.length + 16;
    for (int at = program_->first_state; at != kNone && steps > 0; --steps) {
        const ParserState& state = program_->states[static_cast<std::size_t>(at)];
        for (const ParserOp& op : state.ops) {
            if (op.kind == ParserOp::Kind::Set) {
                execute(op.code);
                continue;
            }
            const Header& header = program_->headers[static_cast<std::size_t>(op.header)];
            if (frame.length - parsed_ < header.bytes) {
                error = program_->error_too_short;
                break;
            }
            // Fields are or-ed in, part by part: a header extracted twice starts from zero again.
            if (slots_[header.valid] != 0)
                for (const FieldPart& part : header.parts) slots_[part.slot] = 0;
            extract(header, frame.data() + parsed_);
            parsed_ += header.bytes;
        }
        if (error != 0) break;
        bool too_short = false;
        at = transition(state, frame, too_short);
        if (too_short) error = program_->error_too_short;
    }
    if (program_->standard.parser_error != StandardSlots::kUnused) slots_[program_->standard.parser_error] = error;
}

bool Switch::execute(const Code& code) {
    std::uint64_t* v = slots_.data();
    const StandardSlots& std_slots = program_->standard;
    for (const Instruction& i : code) {
        switch (i.op) {
            case Op::Add: v[i.dst] = (v[i.a] + v[i.b]) & i.mask; break;
            case Op::Sub: v[i.dst] = (v[i.a] - v[i.b]) & i.mask; break;
            case Op::Mul: v[i.dst] = (v[i.a] * v[i.b]) & i.mask; break;
            case Op::Shl: v[i.dst] = (v[i.b] > 63 ? 0 : v[i.a] << v[i.b]) & i.mask; break;
            case Op::Shr: v[i.dst] = (v[i.b] > 63 ? 0 : v[i.a] >> v[i.b]) & i.mask; break;
            case Op::And: v[i.dst] = (v[i.a] & v[i.b]) & i.mask; break;
            case Op::Or: v[i.dst] = (v[i.a] | v[i.b]) & i.mask; break;
            case Op::Xor: v[i.dst] = (v[i.a] ^ v[i.b]) & i.mask; break;
            case Op::Eq: v[i.dst] = (v[i.a] == v[i.b]) & i.mask; break;
            case Op::Ne: v[i.dst] = (v[i.a] != v[i.b]) & i.mask; break;
            case Op::Lt: v[i.dst] = (v[i.a] < v[i.b]) & i.mask; break;
            case Op::Le: v[i.dst] = (v[i.a] <= v[i.b]) & i.mask; break;
            case Op::Gt: v[i.dst] = (v[i.a] > v[i.b]) & i.mask; break;
            case Op::Ge: v[i.dst] = (v[i.a] >= v[i.b]) & i.mask; break;
            case Op::LogicalAnd: v[i.dst] = (v[i.a] != 0 && v[i.b] != 0) & i.mask; break;
            case Op::LogicalOr: v[i.dst] = (v[i.a] != 0 || v[i.b] != 0) & i.mask; break;
            case Op::Move: v[i.dst] = v[i.a] & i.mask; break;
            case Op::Not: v[i.dst] = ~v[i.a] & i.mask; break;
            case Op::LogicalNot: v[i.dst] = (v[i.a] == 0) & i.mask; break;
            case Op::Select: v[i.dst] = v[i.a] != 0 ? v[i.b] : v[i.mask]; break;
            case Op::MoveWide: std::copy_n(v + i.a, i.mask, v + i.dst); break;
            case Op::EqWide: v[i.dst] = std::equal(v + i.a, v + i.a + i.mask, v + i.b); break;
            case Op::NeWide: v[i.dst] = !std::equal(v + i.a, v + i.a + i.mask, v + i.b); break;
            case Op::AddHeader: v[program_->headers[i.a].valid] = 1; break;
            case Op::RemoveHeader: v[program_->headers[i.a].valid] = 0; break;
            case Op::CopyHeader: {
                const Header &to = program_->headers[i.dst], &from = program_->headers[i.a];
                v[to.valid] = v[from.valid];
                for (std::size_t f = 0; f < to.fields.size(); ++f)
                    std::copy_n(v + from.fields[f].slot, limbs(to.fields[f].bits), v + to.fields[f].slot);
                break;
            }
            case Op::MarkToDrop:
                v[std_slots.egress_spec] = kDropPort;
                if (std_slots.mcast_grp != StandardSlots::kUnused) v[std_slots.mcast_grp] = 0;
                break;
            case Op::Count: {
                Counter& c = counters_[i.a];
                if (v[i.b] < c.packets.size()) {
                    c.packets[v[i.b]] += 1;
                    c.bytes[v[i.b]] += length_;
                }
                break;
            }
            case Op::RegisterRead: {
                const auto& r = registers_[i.a];
                v[i.dst] = (v[i.b] < r.size() ? r[v[i.b]] : 0) & i.mask;
                break;
            }
            case Op::RegisterWrite: {
                auto& r = registers_[i.a];
                if (v[i.b] < r.size()) r[v[i.b]] = v[i.mask] & low_mask(program_->registers[i.a].bits);
                break;
            }
            case Op::Exit: return false;
        }
    }
    return true;
}

bool Switch::run(const Pipeline& pipeline) {
    for (int at = pipeline.first; at != kNone;) {
        const Node& node = pipeline.nodes[static_cast<std::size_t>(at)];
        if (node.table == kNone) {
            execute(node.condition);
            at = slots_[node.result] != 0 ? node.on_true : node.on_false;
            continue;
        }
        Table& table = tables_[static_cast<std::size_t>(node.table)];
        const TableSpec& spec = table.spec();
        const LookupResult found = table.lookup(slots_.data());
        table.count(found.entry, length_);
        bool go_on = true;
        at = spec.next_default;
        if (found.action != kNone) {
            const Action& action = program_->actions[static_cast<std::size_t>(found.action)];
            if (action.parameter_limbs > 0)
                std::copy_n(found.parameters, action.parameter_limbs, slots_.data() + action.parameters[0].slot);
            go_on = execute(action.code);
            if (!spec.by_hit && spec.actions.size() == 1) {
                at = spec.next_by_action[0];
            } else if (!spec.by_hit) {
                for (std::size_t i = 0; i < spec.actions.size(); ++i)
                    if (spec.actions[i] == found.action) at = spec.next_by_action[i];
            }
        }
        if (spec.by_hit) at = found.entry != kNone ? spec.next_hit : spec.next_miss;
        if (!go_on) return false;
    }
    return true;
}

void Switch::deparse(Frame& frame, FramePool& pool) {
    unsigned bytes = 0;
    for (const int h : program_->deparser) {
        const Header& header = program_->headers[static_cast<std::size_t>(h)];
        if (slots_[header.valid] != 0) bytes += header.bytes;
    }
    const std::uint32_t payload = frame.start + parsed_;
    if (bytes > payload) {
        // More headers than there is room in front: move to a frame of its own size.
        std::vector<std::uint8_t> whole(bytes + (frame.length - parsed_));
        std::memcpy(whole.data() + bytes, frame.data() + parsed_, frame.length - parsed_);
        Frame* larger = pool.take(whole.data(), whole.size());
        std::swap(frame.buffer, larger->buffer);
        std::swap(frame.size_class, larger->size_class);
        frame.start = Frame::kHeadroom;
        frame.length = static_cast<std::uint32_t>(whole.size());
        pool.give(larger);
    } else {
        frame.length = frame.length - parsed_ + bytes;
        frame.start = payload - bytes;
    }
    std::uint8_t* at = frame.data();
    for (const int h : program_->deparser) {
        const Header& header = program_->headers[static_cast<std::size_t>(h)];
        if (slots_[header.valid] == 0) continue;
        emit(header, at);
        at += header.bytes;
    }
}

void Switch::process(Frame* frame, std::uint32_t ingress_port, Time, Outputs& out) {
    const std::uint32_t port = process_one(*frame, ingress_port, pool_);
    if (port == kDropPort) pool_.give(frame);
    else out.push_back({port, frame});
}

std::uint32_t Switch::process_one(Frame& frame, std::uint32_t ingress_port, FramePool& pool) {
    if (program_ == nullptr) return kDropPort;
    const Program& p = *program_;
    const StandardSlots& s = p.standard;
    std::fill_n(slots_.begin(), p.cleared_slots, 0);
    length_ = frame.length;
    slots_[s.ingress_port] = ingress_port;
    if (s.packet_length != StandardSlots::kUnused) slots_[s.packet_length] = frame.length;

    parse(frame);
    run(p.ingress);
    const auto port = static_cast<std::uint32_t>(slots_[s.egress_spec]);
    if (port == kDropPort) return kDropPort;
    frame.vl = s.priority == StandardSlots::kUnused ? 0 : static_cast<std::uint8_t>(slots_[s.priority]);

    // v1model: egress_spec starts anew, so that only egress itself can drop from here on.
    slots_[s.egress_port] = port;
    slots_[s.egress_spec] = 0;
    run(p.egress);
    if (slots_[s.egress_spec] == kDropPort) return kDropPort;
    deparse(frame, pool);
    return port;
}

}  // namespace railyard

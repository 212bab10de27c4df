// SPDX-License-Identifier: Apache-2.0
#include "drive.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <stdexcept>

namespace railyard::fuzz {

namespace {

// A frame that breeds more copies than this is let go: what is looked for here is not the size of a storm.
constexpr std::size_t kMostWaiting = 256;

void require(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

Drive::Drive(FuzzedDataProvider& in, const Programs& programs)
    : in_(in), programs_(programs), switch_("fuzzed", Port(510), pool_, shares_) {
    if (in_.ConsumeBool()) switch_.set_log([this](const std::string& line) { logged_ += line.size(); });
    configure();
}

void Drive::configure() {
    switch_.set_program(programs_[below(programs_.size())]);
    entered_.assign(switch_.table_count(), {});
}

void Drive::run(unsigned most) {
    for (unsigned step = 0; step < most && in_.remaining_bytes() > 0; ++step) {
        try {
            switch (in_.ConsumeIntegralInRange(0, 15)) {
                case 0:
                case 1:
                case 2:
                case 3: entry(); break;
                case 4:
                case 5: profile(); break;
                case 6: copies(); break;
                case 7: state(); break;
                case 8: look(); break;
                case 9:
                    now_ += Time(in_.ConsumeIntegralInRange(std::int64_t{0}, std::int64_t{1} << 44));
                    break;
                case 10:
                case 11: frame(false); break;
                case 12: egress(); break;
                case 13:
                    if (in_.ConsumeProbability<float>() < 0.1F) configure();
                    break;
                default: frame(true); break;
            }
        } catch (const std::runtime_error&) {  // the program's assert, or a frame that goes round for ever
        } catch (const std::invalid_argument&) {}
    }
    waiting_.clear();
}

Port Drive::port() {
    switch (in_.ConsumeIntegralInRange(0, 7)) {
        case 0: return Port(in_.ConsumeIntegral<std::uint32_t>());
        case 1: return Port(in_.PickValueInArray<std::uint32_t>({510, 511, 512, 65535}));
        default: return Port(in_.ConsumeIntegralInRange<std::uint32_t>(0, 8));
    }
}

// A number of that many bits: a small one, any, or what the last frame had in that field.
std::vector<std::uint64_t> Drive::value(unsigned bits, load::Slot slot) {
    std::vector<std::uint64_t> out(load::limbs(bits), 0);
    const auto seen = last_.fields.find(slot);
    const int kind = in_.ConsumeIntegralInRange(0, 3);
    if (kind == 0) {
        for (std::uint64_t& limb : out) limb = in_.ConsumeIntegral<std::uint64_t>();
    } else if (seen != last_.fields.end() && kind != 1) {
        for (unsigned i = 0; i < bits && (seen->second + i) / 8 < last_.bytes.size(); ++i) {
            const std::size_t at = seen->second + i, low = bits - 1 - i;
            out[low / 64] |= static_cast<std::uint64_t>((last_.bytes[at / 8] >> (7 - at % 8)) & 1u)
                             << (low % 64);
        }
    } else {
        out[0] = in_.ConsumeIntegralInRange<std::uint64_t>(0, 3);
    }
    out.back() &= load::low_mask(bits - 64 * (load::limbs(bits) - 1));
    return out;
}

std::vector<tables::MatchValue> Drive::match(const load::TableSpec& table) {
    std::vector<tables::MatchValue> out;
    for (const load::Key& key : table.keys) {
        tables::MatchValue m{value(key.bits, key.slot), {}, 0};
        if (key.kind == load::MatchKind::Ternary || key.kind == load::MatchKind::Range)
            m.extra = value(key.bits, load::kNoSlot);
        if (key.kind == load::MatchKind::Lpm)
            m.prefix = in_.ConsumeIntegralInRange<int>(0, static_cast<int>(key.bits));
        if (key.kind == load::MatchKind::Optional) m.prefix = in_.ConsumeBool();
        if (in_.ConsumeProbability<float>() < 0.02F) m.prefix = in_.ConsumeIntegral<int>();
        if (in_.ConsumeProbability<float>() < 0.02F)
            m.value.assign(in_.ConsumeIntegralInRange<std::size_t>(0, 70), ~0ULL);
        out.push_back(std::move(m));
    }
    if (in_.ConsumeProbability<float>() < 0.02F)
        out.resize(in_.ConsumeIntegralInRange<std::size_t>(0, out.size() + 1));
    return out;
}

// As a control plane's decoder makes them: each fits its width.
std::vector<std::uint64_t> Drive::parameters(Index<load::Action> action) {
    std::vector<std::uint64_t> out;
    if (!action || action.at() >= program().actions.size()) return out;
    for (const load::Parameter& p : program().actions[action].parameters)
        for (const std::uint64_t limb : value(p.bits, load::kNoSlot)) out.push_back(limb);
    return out;
}

void Drive::entry() {
    if (switch_.table_count() == 0) return;
    const std::size_t number = below(switch_.table_count());
    tables::Table& table = switch_.table(number);
    const load::TableSpec& spec = table.spec();
    tables::EntrySpec entry;
    entry.match = match(spec);
    entry.priority = tables::EntryPriority(in_.ConsumeIntegralInRange<int>(-1, 6));
    auto& entered = entered_[number];
    if (!entered.empty() && in_.ConsumeBool())
        std::tie(entry.match, entry.priority) = entered[below(entered.size())];
    if (spec.profile) {
        entry.target = in_.ConsumeBool() ? tables::Target::Member : tables::Target::Group;
        entry.parameters = {in_.ConsumeIntegralInRange<std::uint64_t>(0, 4)};
    } else if (!spec.actions.empty()) {
        entry.action = spec.actions[below(spec.actions.size())];
        entry.parameters = parameters(entry.action);
    }
    if (in_.ConsumeProbability<float>() < 0.02F)
        entry.action = Index<load::Action>(in_.ConsumeIntegralInRange<std::size_t>(0, 300));
    const std::size_t before = table.size();
    switch (in_.ConsumeIntegralInRange(0, 7)) {
        case 0:
            std::ignore = table.modify(entry);
            require(table.size() == before);
            break;
        case 1: {
            const bool erased = table.erase(entry.match, entry.priority) == tables::Status::Ok;
            require(table.size() == before - (erased ? 1 : 0));
            break;
        }
        case 2: std::ignore = table.set_default(entry.action, entry.parameters); break;
        case 3: table.reset_default(); break;
        default:
            if (table.insert(entry) != tables::Status::Ok) break;
            require(table.size() == before + 1 && table.get(entry.match, entry.priority).has_value());
            entered.emplace_back(entry.match, entry.priority);
    }
}

void Drive::profile() {
    if (program().profiles.empty()) return;
    tables::Profile& profile = switch_.profile(below(program().profiles.size()));
    const auto id = in_.ConsumeIntegralInRange<std::int64_t>(0, 4);
    const auto& actions = profile.spec().actions;
    const Index<load::Action> action = actions.empty()
                                           ? Index<load::Action>(in_.ConsumeIntegral<std::uint16_t>())
                                           : actions[below(actions.size())];
    switch (in_.ConsumeIntegralInRange(0, 5)) {
        case 0:
        case 1: std::ignore = profile.insert(id, action, parameters(action)); break;
        case 2: std::ignore = profile.modify(id, action, parameters(action)); break;
        case 3: std::ignore = profile.erase(id); break;
        case 4: std::ignore = profile.erase_group(id); break;
        default: {
            tables::Profile::GroupMembers members(below(6));
            for (auto& [member, weight] : members) {
                member = in_.ConsumeIntegralInRange<std::int64_t>(0, 4);
                weight = in_.ConsumeProbability<float>() < 0.9F ? in_.ConsumeIntegralInRange(0, 5)
                                                                : in_.ConsumeIntegral<int>();
            }
            std::ignore = profile.set_group(id, members);
        }
    }
}

std::optional<tables::MeterConfig> Drive::meter() {
    if (in_.ConsumeProbability<float>() < 0.2F) return std::nullopt;
    tables::MeterConfig config;
    for (std::int64_t* v :
         {&config.committed_rate, &config.committed_burst, &config.peak_rate, &config.peak_burst})
        *v = in_.ConsumeProbability<float>() < 0.1F
                 ? in_.ConsumeIntegralInRange<std::int64_t>(0, std::numeric_limits<std::int64_t>::max())
                 : in_.ConsumeIntegralInRange<std::int64_t>(0, 100000);
    return config;
}

// Read and write the state in arrays and beside entries.
void Drive::state() {
    const load::Program& p = program();
    const int kind = in_.ConsumeIntegralInRange(0, 4);
    if (kind == 0 && !p.meters.empty()) {
        const std::size_t at = below(p.meters.size());
        if (p.meters[at].size > 0) switch_.meter(at, below(p.meters[at].size)).configure(meter(), now_);
    } else if (kind == 1 && !p.registers.empty()) {
        const std::size_t at = below(p.registers.size());
        auto& cells = switch_.registers(at);
        if (cells.empty()) return;
        const std::vector<std::uint64_t> v = value(p.registers[at].bits, load::kNoSlot);
        std::copy(v.begin(), v.end(),
                  cells.begin() + static_cast<std::ptrdiff_t>(below(cells.size() / v.size()) * v.size()));
    } else if (kind == 2 && !p.value_sets.empty()) {
        const std::size_t at = below(p.value_sets.size());
        std::size_t bytes = 0;
        for (const unsigned bits : p.value_sets[at].fields) bytes += (bits + 7) / 8;
        std::vector<std::pair<switching::Switch::ByteString, switching::Switch::ByteString>> members(
            below(4));
        for (auto& [v, mask] : members) {
            v = in_.ConsumeBytes<std::uint8_t>(bytes);
            mask.assign(bytes, in_.ConsumeBool() ? 0xFF : 0);
        }
        switch_.set_value_set(at, members);
    } else if (switch_.table_count() > 0) {
        const std::size_t at = below(switch_.table_count());
        tables::Table& table = switch_.table(at);
        if (entered_[at].empty()) return;
        const auto& [match, priority] = entered_[at][below(entered_[at].size())];
        std::ignore = table.set_meter(match, priority, meter(), now_);
        std::ignore = table.set_counters(
            match, priority,
            {in_.ConsumeIntegral<std::uint64_t>(), CountedBytes(in_.ConsumeIntegral<std::uint64_t>())});
        std::ignore = table.set_ttl(
            match, priority,
            Time(in_.ConsumeBool() ? in_.ConsumeIntegral<std::int64_t>()
                                   : in_.ConsumeIntegralInRange(std::int64_t{0}, std::int64_t{1} << 42)),
            now_);
    }
}

std::vector<switching::Replica> Drive::replicas() {
    std::vector<switching::Replica> out(below(5));
    for (switching::Replica& r : out)
        r = {port(), in_.ConsumeBool() ? in_.ConsumeIntegralInRange<std::uint32_t>(0, 3)
                                       : in_.ConsumeIntegral<std::uint32_t>()};
    return out;
}

void Drive::copies() {
    auto id = in_.ConsumeBool() ? in_.ConsumeIntegralInRange<std::uint32_t>(0, 8)
                                : in_.ConsumeIntegral<std::uint16_t>();
    if (in_.ConsumeBool()) return switch_.set_multicast(id, replicas());
    // Mostly a session that the program names.
    std::vector<std::uint32_t> named;
    for (const load::Instruction& i : program().code)
        if (i.op == load::Op::Clone) named.push_back(static_cast<std::uint32_t>(program().image[i.a]));
    if (!named.empty() && in_.ConsumeIntegralInRange(0, 3) != 0) id = named[below(named.size())];
    switch_.set_clone(id, replicas(),
                      in_.ConsumeBool() ? 0 : in_.ConsumeIntegralInRange<std::uint32_t>(0, 200));
}

// Reading changes nothing, and sees as many entries as there are.
void Drive::look() {
    static_cast<void>(switch_.next_ageing());
    switch_.take_revived();
    for (std::size_t at = 0; at < switch_.table_count(); ++at) {
        tables::Table& table = switch_.table(at);
        const auto entries = table.entries();
        require(entries.size() == table.size());
        for (const tables::EntrySpec& e : entries) {
            const auto found = table.get(e.match, e.priority);
            require(found && found->action == e.action && found->parameters == e.parameters);
            std::ignore = table.counters(e.match, e.priority);
            std::ignore = table.meter_config(e.match, e.priority);
            std::ignore = table.idle(e.match, e.priority, now_);
        }
        std::ignore = table.default_entry();
        if (switch_.table_due(at, now_)) require(!table.aged(now_).empty());
    }
    switch_.digests().clear();
}

void Drive::frame(bool whole) {
    // Send the last frame again, now that there may be entries for it, or a new frame, or noise.
    const auto kind = in_.ConsumeIntegralInRange(0, 9);
    if (kind < 5 && !last_.bytes.empty()) {
        if (in_.ConsumeBool()) last_.bytes[below(last_.bytes.size())] ^= in_.ConsumeIntegral<std::uint8_t>();
    } else if (kind < 9) {
        last_ = guided_frame(program(), in_);
    } else {
        last_ = {};
        last_.bytes = in_.ConsumeBytes<std::uint8_t>(below(64));
        last_.bytes.resize(below(2049), in_.ConsumeIntegral<std::uint8_t>());
    }
    frames::FrameHandle frame = pool_.acquire(last_.bytes.data(), last_.bytes.size());
    const bool defer = !whole;
    switching::Outputs out;
    if (defer) switch_.ingress(std::move(frame), port(), now_, out);
    else switch_.process(std::move(frame), port(), now_, out);
    leave(out, defer);
}

void Drive::egress() {
    if (waiting_.empty()) return;
    const std::size_t at = below(waiting_.size());
    switching::Output chosen = std::move(waiting_[at]);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(at));
    const Time enqueued = now_ - Time(in_.ConsumeIntegralInRange(std::int64_t{0}, now_.value()));
    switching::Outputs out;
    switch_.egress(
        std::move(chosen.frame), chosen.port,
        {enqueued, now_, in_.ConsumeIntegral<std::uint32_t>(), in_.ConsumeIntegral<std::uint32_t>()}, now_,
        out);
    leave(out, true);
}

void Drive::leave(switching::Outputs& out, bool pending) {
    for (switching::Output& o : out) {
        require(pending || !o.frame->pending);
        for (const char c : o.frame->view())
            read_ = static_cast<char>(read_ ^ c);  // every byte is there to be read
        if (o.frame->pending && waiting_.size() < kMostWaiting) waiting_.push_back(std::move(o));
    }
}

}  // namespace railyard::fuzz

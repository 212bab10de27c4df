// SPDX-License-Identifier: Apache-2.0
// A v1model program, resolved at load: every field is a slot, every action a run of instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace railyard {

// A program that cannot be loaded; the message names the place in the JSON.
class ProgramError : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
};

using Slot = std::uint16_t;
constexpr std::uint32_t kDropPort = 511;
constexpr int kNone = -1;
constexpr unsigned kMaxKeyLimbs = 64;  // 64-bit words of a whole table key

constexpr std::uint64_t low_mask(unsigned bits) { return bits >= 64 ? ~0ULL : (1ULL << bits) - 1; }
constexpr unsigned limbs(unsigned bits) { return (bits + 63) / 64; }

// A field lives in limbs(bits) consecutive slots, least significant first.
struct Field {
    std::string name;
    unsigned bits = 0;
    Slot slot = 0;
};

// One move between a 64-bit word of a header's bytes and a slot. shift > 0: the field lies that far left in the word.
struct FieldPart {
    Slot slot;
    std::uint16_t word;
    std::int16_t shift;
    std::uint64_t mask;  // of the part, in word position
};

struct Header {
    std::string name;
    bool metadata = false;
    Slot valid = 0;
    unsigned bytes = 0;
    std::vector<Field> fields;
    std::vector<FieldPart> parts;  // in field order
};

// Operation of an instruction. v is the array of slots.
enum class Op : std::uint8_t {
    // v[dst] = (v[a] op v[b]) & mask
    Add, Sub, Mul, Shl, Shr, And, Or, Xor, Eq, Ne, Lt, Le, Gt, Ge, LogicalAnd, LogicalOr,
    // v[dst] = op(v[a]) & mask
    Move, Not, LogicalNot,
    // v[dst] = v[a] ? v[b] : v[c], c in mask
    Select,
    // a..: limbs to copy, mask = number of limbs
    MoveWide, EqWide, NeWide,
    // a = header
    AddHeader, RemoveHeader, CopyHeader,
    MarkToDrop,
    // a = array, b = slot of the index; Read: dst, Write: mask = slot of the value
    Count, RegisterRead, RegisterWrite,
    Exit
};

struct Instruction {
    Op op = Op::Exit;
    Slot dst = 0, a = 0, b = 0;
    std::uint64_t mask = ~0ULL;
};

using Code = std::vector<Instruction>;

struct Parameter {
    std::string name;
    unsigned bits;
    Slot slot;  // where its value is when the action runs
};

struct Action {
    std::string name;
    std::vector<Parameter> parameters;
    unsigned parameter_limbs = 0;
    Code code;
};

enum class MatchKind : std::uint8_t { Exact, Lpm, Ternary, Range, Optional };

struct Key {
    std::string name;
    MatchKind kind;
    unsigned bits;
    Slot slot;
};

// An entry as written in the JSON or asked for by a controller. extra: mask (ternary), high end (range).
struct MatchValue {
    std::vector<std::uint64_t> value, extra;
    int prefix = 0;  // lpm: length; optional: 1 present, 0 wildcard
};

struct EntrySpec {
    std::vector<MatchValue> match;
    int priority = 0;
    int action = kNone;
    std::vector<std::uint64_t> parameters;
};

struct TableSpec {
    std::string name;
    std::vector<Key> keys;
    std::vector<int> actions;
    std::vector<int> next_by_action;  // parallel to actions
    int next_hit = kNone, next_miss = kNone, next_default = kNone;
    bool by_hit = false;
    std::size_t size = 0;
    bool const_default = false, const_entries = false, counted = false;
    int default_action = kNone;
    std::vector<std::uint64_t> default_parameters;
    std::vector<EntrySpec> entries;
    unsigned parameter_limbs = 0;
};

// A node of a pipeline: apply a table, or branch on a condition.
struct Node {
    int table = kNone;
    Code condition;
    Slot result = 0;
    int on_true = kNone, on_false = kNone;
};

struct Pipeline {
    std::vector<Node> nodes;
    int first = kNone;
};

struct ParserOp {
    enum class Kind : std::uint8_t { Extract, Set } kind;
    int header = kNone;
    Code code;
};

// A key may look ahead into the frame instead of reading a slot.
struct TransitionKey {
    Slot slot = 0;
    unsigned bits = 0;
    bool lookahead = false;
    unsigned offset = 0;  // bits from the current position
};

struct Transition {
    std::uint64_t value, mask;
    int next;
};

struct ParserState {
    std::string name;
    std::vector<ParserOp> ops;
    std::vector<TransitionKey> key;
    std::vector<Transition> transitions;
};

struct ArraySpec {
    std::string name;
    std::size_t size = 0;
    unsigned bits = 64;
    int table = kNone;  // a direct counter's table
};

// Slots of standard_metadata that the switch itself reads or writes. kUnused where the program lacks the field.
struct StandardSlots {
    static constexpr Slot kUnused = 0xFFFF;
    Slot ingress_port = kUnused, egress_spec = kUnused, egress_port = kUnused, packet_length = kUnused,
         parser_error = kUnused, priority = kUnused, mcast_grp = kUnused;
};

// Immutable once loaded; switches that run the same program share one.
class Program {
   public:
    static std::shared_ptr<const Program> load(const std::string& bmv2_json);

    std::string name;
    std::vector<Header> headers;
    std::vector<Action> actions;
    std::vector<TableSpec> tables;
    std::vector<ArraySpec> counters, registers;
    std::vector<ParserState> states;
    int first_state = kNone;
    Pipeline ingress, egress;
    std::vector<int> deparser;
    StandardSlots standard;
    std::uint64_t error_too_short = 1, error_no_match = 2;

    std::size_t cleared_slots = 0;         // slots zeroed for every frame
    std::vector<std::uint64_t> image;      // initial value of every slot: fields, then temporaries, then constants
};

}  // namespace railyard

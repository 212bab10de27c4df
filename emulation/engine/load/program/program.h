// SPDX-License-Identifier: Apache-2.0
// A loaded v1model program: every field has a slot, all code is one array of instructions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "index.h"
#include "load/program/instruction.h"
#include "load/program/translation.h"
#include "switch/hash.h"
#include "tables/entry.h"

namespace railyard {

// A program that cannot be loaded; the message names the place in the JSON.
class ProgramError : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
};

constexpr unsigned kPortBits = 9;  // v1model's
constexpr std::uint32_t kDropPort = 511;
// Slots for intermediate results; an expression that needs more is refused.
constexpr unsigned kTemporaries = 512;
constexpr unsigned kMaxKeyLimbs = 64;  // 64-bit words of a whole table key

// A field lives in limbs(bits) consecutive slots, least significant first; a signed one is sign-extended to
// whole limbs. A field of variable length has its length in bits in the slot before. A field that the program
// never names has no slot: its bits stay in the frame.
struct Field {
    std::string name;
    unsigned bits = 0;
    Slot slot = kNoSlot;
    bool is_signed = false, variable = false;
};

inline bool same_type(const Field& a, const Field& b) {
    return a.bits == b.bits && a.is_signed == b.is_signed && a.variable == b.variable;
}

// Bits of a field within a 64-bit word of its header's bytes. Rotated right, the word has them at their place
// in the slot.
struct FieldPart {
    Slot slot;
    std::uint16_t word;
    std::uint8_t rotation;
    bool joins;          // another part before this has bits of the same slot
    std::uint64_t mask;  // of the bits in the word
};

struct HeaderUnion;

struct Header {
    std::string name;
    bool metadata = false, variable = false;  // variable: one of its fields is
    Slot valid = kNoSlot;  // the next slot: 1 + position in the frame, 0 if the header was not extracted
    Slot first = 0;        // slots of the fields, without gaps
    unsigned slots = 0;
    unsigned bytes = 0;  // without the field of variable length
    unsigned max_bytes = 0;
    Index<HeaderUnion> header_union;
    List<Field> fields;
    std::vector<FieldPart> read, written;  // in field order: what extraction and emission move
    std::vector<Index<Field>> signed_fields;
    Slot base() const { return static_cast<Slot>(valid + 1); }
};

// True if values of either type can be assigned to the other.
inline bool same_type(const Header& a, const Header& b) {
    return a.metadata == b.metadata && a.max_bytes == b.max_bytes &&
           std::equal(a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end(),
                      [](const Field& x, const Field& y) { return same_type(x, y); });
}

struct Stack {
    std::string name;
    std::vector<Index<Header>> headers;
    std::vector<Index<HeaderUnion>> unions;  // instead of headers
    Slot next = 0;

    bool of_unions() const { return !unions.empty(); }
    std::size_t size() const { return of_unions() ? unions.size() : headers.size(); }
    // The number of a header, or of a union.
    std::size_t element(std::size_t at) const { return of_unions() ? unions[at].at() : headers[at].at(); }
};

struct HeaderUnion {
    std::string name;
    std::vector<Index<Header>> headers;
};

struct Parameter {
    std::string name;
    unsigned bits;
    Slot slot;  // of its value while the action runs
};

struct Action {
    std::string name;
    std::vector<Parameter> parameters;
    unsigned parameter_limbs = 0;
    std::vector<Slot> targets;  // by limb of the parameters: the slot that gets it when the action begins
    Place code = kNowhere;      // what the action does besides; kNowhere: nothing
};

enum class MatchKind : std::uint8_t { Exact, Lpm, Ternary, Range, Optional };

struct Key {
    std::string name;
    MatchKind kind;
    unsigned bits;
    Slot slot;
    std::vector<std::uint64_t> mask;  // applied to the field before the match; empty: none
};

struct Calculation;
struct MeterSpec;
struct ParserState;
struct ProfileSpec;
struct ValueSet;

struct TableSpec {
    std::string name;
    std::vector<Key> keys;
    std::vector<Index<Action>> actions;
    std::vector<Place> next_by_action;  // parallel to actions
    Place next_hit = 0, next_miss = 0, next_default = 0;
    bool by_hit = false;
    std::size_t size = 0;
    bool const_default = false, const_entries = false, counted = false, ageing = false;
    Index<ProfileSpec> profile;
    Index<MeterSpec> meter;
    Index<Action> default_action;
    std::vector<std::uint64_t> default_parameters;
    std::vector<EntrySpec> entries;
    unsigned parameter_limbs = 0;
};

struct ProfileSpec {
    std::string name;
    std::size_t size = 0;
    Index<Calculation> selector;  // none: the profile has no groups
    std::vector<Index<Action>> actions;
    unsigned parameter_limbs = 0;
};

struct ParserOp {
    enum class Kind : std::uint8_t {
        Extract,
        ExtractVariable,
        ExtractStack,
        ExtractUnionStack,
        Lookahead,
        Run,
        Verify,
        Advance
    } kind = Kind::Extract;
    Index<Header> header{};  // Extract, ExtractVariable
    Index<Stack> stack{};    // ExtractStack, ExtractUnionStack
    std::size_t member = 0;  // ExtractUnionStack: of the union
    Place code =
        kNowhere;    // Run, Verify: condition; Advance: bits; else: length of the variable field, in bits
    Slot value = 0;  // of the code's result; Lookahead: where the bits go
    Slot error = 0;  // Verify
    unsigned offset = 0, bits = 0;  // Lookahead
};

// Key of a transition: a slot, bits ahead in the frame, or a field of the last element of a stack.
struct TransitionKey {
    enum class Kind : std::uint8_t { Slot, Lookahead, Last, UnionLast } kind = Kind::Slot;
    Slot slot = 0;
    unsigned bits = 0;
    unsigned shift = 0;      // Slot, of a simple state: width in whole bytes, in bits, modulo 64
    unsigned offset = 0;     // Lookahead: bits from the current position
    Index<Stack> stack;      // Last, UnionLast
    std::size_t member = 0;  // UnionLast: of the union
    Index<Field> field;
};

// Values and masks are as wide as the key, every field padded to whole bytes. A key of up to 8 bytes is
// compared as a number.
struct Transition {
    std::uint64_t value = 0, mask = 0;
    Index<ParserState> next;  // none: the parser ends
    Index<ValueSet> value_set;
    std::vector<std::uint8_t> wide_value, wide_mask;
};

struct ParserState {
    std::string name;
    std::vector<ParserOp> ops;
    std::vector<TransitionKey> key;
    unsigned key_bytes = 0;
    bool simple = true;  // the key is made of slots alone and is a number of up to 8 bytes; no value set
    std::vector<Transition> transitions;
};

struct ValueSet {
    std::string name;
    unsigned bits = 0;
    std::vector<unsigned> fields;  // widths of the key's fields; empty until a transition uses it
};

struct ArraySpec {
    std::string name;
    std::size_t size = 0;
    unsigned bits = 64;
    Index<TableSpec> table;  // of a direct counter or meter
};

struct MeterSpec : ArraySpec {
    bool bytes = false;
    Slot target = kNoSlot;  // of the colour of a direct meter
    unsigned target_bits = 0;
};

// Input of a hash.
struct Piece {
    enum class Kind : std::uint8_t { Field, Constant, Header } kind = Kind::Field;
    Slot valid = kNoSlot;  // validity of the header; an invalid header contributes nothing
    Slot slot = 0;
    unsigned bits = 0;
    Index<Header> header;
    bool variable = false;
};

struct Calculation {
    std::string name;
    HashAlgorithm algorithm;
    std::vector<Piece> input;
    bool payload = false;
};

struct Checksum {
    bool verify = false, update = false;
    Index<Calculation> calculation;
    Slot header_valid = 0, target = 0;
    unsigned bits = 0;
    Place condition = kNowhere;
    Slot result = 0;
};

// Fields that a digest carries, or that a copy of a frame keeps.
struct FieldList {
    int id = 0;
    std::string name;
    std::vector<Piece> fields;
};

struct LogMessage {
    std::string format;
    struct Value {
        Slot slot;
        unsigned limbs;
        bool negative;
    };
    std::vector<Value> values;
};

// A parser state, a table, a condition or a statement of the source, whose execution a traced program
// reports.
struct Note {
    enum class Kind : std::uint8_t { State, Table, Condition, Statement } kind = Kind::State;
    std::string name;  // of a state, table or condition; operation of a statement
    std::string file{}, text{};
    unsigned line = 0, column = 0;
    Index<TableSpec> table{};
    std::string target{};  // field or counter that a statement changes
    Slot slot = kNoSlot;   // of the field, or of the index of the counter
    unsigned bits = 0;
};

// Slots of the standard_metadata that the switch reads or writes. A field that the program lacks has a slot
// of its own.
struct StandardSlots {
    Slot ingress_port = kNoSlot, egress_spec = kNoSlot, egress_port = kNoSlot, packet_length = kNoSlot,
         parser_error = kNoSlot, priority = kNoSlot, mcast_grp = kNoSlot, egress_rid = kNoSlot,
         instance_type = kNoSlot, checksum_error = kNoSlot, ingress_time = kNoSlot, egress_time = kNoSlot,
         enq_timestamp = kNoSlot, enq_qdepth = kNoSlot, deq_timedelta = kNoSlot, deq_qdepth = kNoSlot,
         qid = kNoSlot;
};

// Immutable once loaded; switches that run the same program share one.
class Program {
   public:
    // traced: the code reports what it executes (Op::Note); for frames that are followed one by one.
    static std::shared_ptr<const Program> load(const std::string& bmv2_json, bool traced = false);

    static const FieldList* field_list(const List<FieldList>& lists, int id) {
        for (const FieldList& l : lists)
            if (l.id == id) return &l;
        return nullptr;
    }

    std::string name;
    List<Header> headers;
    List<Stack> stacks;
    List<HeaderUnion> unions;
    List<Action> actions;
    List<TableSpec> tables;
    List<ProfileSpec> profiles;
    List<ArraySpec> counters, registers;
    List<MeterSpec> meters;
    List<ParserState> states;
    List<ValueSet> value_sets;
    List<Calculation> calculations;
    std::vector<Checksum> checksums;
    List<FieldList> digests, field_lists;
    std::vector<LogMessage> messages;
    std::vector<std::string> assertions;  // texts for error messages
    bool traced = false;
    List<Note> notes;  // of a traced program
    Index<ParserState> first_state;
    Place ingress = 0, egress = 0, deparser_code = kNowhere;
    std::vector<Index<Header>> deparser;
    StandardSlots standard;
    std::uint64_t error_too_short = 1, error_stack = 3, error_header_short = 4, error_argument = 6;
    bool reads_queue = false, verifies = false;

    Code code;
    Translation translation;
    Slot first_temporary = 0;          // of kTemporaries slots
    std::vector<bool> constants;       // by slot: whether it keeps its initial value
    std::size_t metadata_slots = 0;    // slots of metadata come first
    std::size_t cleared_slots = 0;     // zeroed for every frame: metadata, validity, stacks, fields
    std::vector<std::uint64_t> image;  // initial value of every slot: cleared slots, temporaries, constants
};

}  // namespace railyard

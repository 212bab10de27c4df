// SPDX-License-Identifier: Apache-2.0
// A loaded v1model program: its fields have slots, and all its code is a single array of instructions.
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

namespace railyard::load {

// Error in a program that cannot be loaded; the message names the object in the JSON.
class ProgramError : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
};

constexpr unsigned kPortBits = 9;  // width of v1model's ports
constexpr std::uint32_t kDropPort = 511;
// Slots for intermediate results; the loader refuses an expression that needs more.
constexpr unsigned kTemporaries = 512;
constexpr unsigned kMaxKeyLimbs = 64;  // most limbs of a whole table key

// A field occupies limbs(bits) consecutive slots, the least significant first; a signed field is
// sign-extended to whole limbs. The slot before a field of variable length holds its length in bits. A field
// that the program never uses has no slot: its bits stay in the frame.
struct Field {
    std::string name;
    unsigned bits = 0;
    Slot slot = kNoSlot;
    bool is_signed = false, variable = false;
};

inline bool same_type(const Field& a, const Field& b) {
    return a.bits == b.bits && a.is_signed == b.is_signed && a.variable == b.variable;
}

// Bits of a field within a 64-bit word of its header. Rotating the word right by `rotation` moves them to
// their position in the slot.
struct FieldPart {
    Slot slot;
    std::uint16_t word;
    std::uint8_t rotation;
    bool joins;          // an earlier part has bits of the same slot
    std::uint64_t mask;  // selects the bits in the word
};

struct HeaderUnion;

struct Header {
    std::string name;
    bool metadata = false, variable = false;  // variable: it has a field of variable length
    Slot valid = kNoSlot;                     // slot of its validity; base() is the slot after it
    Slot first = 0;                           // first slot of the fields
    unsigned slots = 0;                       // slots of all fields
    unsigned bytes = 0;                       // without the field of variable length
    unsigned max_bytes = 0;
    Index<HeaderUnion> header_union;
    List<Field> fields;
    std::vector<FieldPart> read, written;  // in field order: parts that the parser reads, the deparser writes
    std::vector<Index<Field>> signed_fields;
    // Slot with 1 + the header's offset in the frame; 0 if it was not extracted.
    [[nodiscard]] Slot base() const { return static_cast<Slot>(valid + 1); }
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
    std::vector<Index<HeaderUnion>> unions;  // elements of a stack of unions, which has no `headers`
    Slot next = 0;                           // slot of P4's nextIndex

    [[nodiscard]] bool of_unions() const { return !unions.empty(); }
    [[nodiscard]] std::size_t size() const { return of_unions() ? unions.size() : headers.size(); }
    // Return the index of an element: of its header, or of its union.
    [[nodiscard]] std::size_t element(std::size_t at) const {
        return of_unions() ? unions[at].at() : headers[at].at();
    }
};

struct HeaderUnion {
    std::string name;
    std::vector<Index<Header>> headers;
};

struct Parameter {
    std::string name;
    unsigned bits;
    Slot slot;  // holds the value while the action runs
};

struct Action {
    std::string name;
    std::vector<Parameter> parameters;
    unsigned parameter_limbs = 0;
    std::vector<Slot> targets;  // slot to which each limb of the parameters is copied before the action
    Place code = kNowhere;      // address of the action's code; kNowhere: none
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
    std::vector<Place> next_by_action;  // successors by index in `actions`
    Place next_hit = 0, next_miss = 0, next_default = 0;
    bool by_hit = false;  // the successor depends on hit or miss, not on the action
    std::size_t size = 0;
    bool const_default = false, const_entries = false, counted = false, ageing = false;
    Index<ProfileSpec> profile;
    Index<MeterSpec> meter;
    Index<Action> default_action;
    std::vector<std::uint64_t> default_parameters;
    std::vector<tables::EntrySpec> entries;
    unsigned parameter_limbs = 0;
    std::uint16_t position = 0;  // of its content on a switch; tables that the code looks up come first
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
    std::size_t member = 0;  // ExtractUnionStack: index of the union's member
    Place code =
        kNowhere;    // Run; code that computes `value` (Verify, Advance and extraction of variable headers)
    Slot value = 0;  // Verify: condition; Advance: bits; variable header: bits of its variable-length field;
                     // Lookahead: target of the bits
    Slot error = 0;  // Verify: slot of the error code
    unsigned offset = 0, bits = 0;  // Lookahead
};

// Part of a transition key: a slot, bits ahead in the frame, or a field of the last element of a stack.
struct TransitionKey {
    enum class Kind : std::uint8_t { Slot, Lookahead, Last, UnionLast } kind = Kind::Slot;
    Slot slot = 0;
    unsigned bits = 0;
    unsigned shift = 0;      // Slot of a simple state: `bits` rounded up to whole bytes, modulo 64
    unsigned offset = 0;     // Lookahead: bits from the current position
    Index<Stack> stack;      // Last, UnionLast
    std::size_t member = 0;  // UnionLast: index of the union's member
    Index<Field> field;
};

// Transition of the parser. Values and masks are as wide as the key, whose fields are padded to whole bytes.
// `value` and `mask` are for keys of up to 8 bytes, which are compared as numbers.
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
    bool simple = true;  // the key consists of slots and has at most 8 bytes, and there is no value set
    std::vector<Transition> transitions;
};

struct ValueSet {
    std::string name;
    unsigned bits = 0;
    std::vector<unsigned> fields;  // bits of the key's fields; empty if no transition uses the set
};

struct ArraySpec {
    std::string name;
    std::size_t size = 0;
    unsigned bits = 64;
    Index<TableSpec> table;  // direct counter or meter: its table
};

struct MeterSpec : ArraySpec {
    bool bytes = false;     // false: it counts frames
    Slot target = kNoSlot;  // direct meter: slot for the colour
    unsigned target_bits = 0;
};

// Part of the input of a hash or checksum, or element of a field list.
struct Piece {
    enum class Kind : std::uint8_t { Field, Constant, Header } kind = Kind::Field;
    Slot valid = kNoSlot;  // slot of the header's validity; hashes skip invalid headers
    Slot slot = 0;
    unsigned bits = 0;
    Index<Header> header;
    bool variable = false;
};

struct Calculation {
    std::string name;
    switching::HashAlgorithm algorithm;
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

// Fields that a digest carries, or that a copy or further pass of a frame keeps.
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

// A parser state, table, condition or statement of the source. A traced program reports its execution.
struct Note {
    enum class Kind : std::uint8_t { State, Table, Condition, Statement } kind = Kind::State;
    std::string name;            // of a state, table or condition; operation of a statement
    std::string file{}, text{};  // source file, and source text
    unsigned line = 0, column = 0;
    Index<TableSpec> table{};
    std::string target{};  // field, header or counter that a statement changes
    Slot slot = kNoSlot;   // slot of the field, or of the counter's index
    unsigned bits = 0;
};

// Slots of the standard_metadata fields that the switch reads or writes. Fields that the program lacks have
// slots, too.
struct StandardSlots {
    Slot ingress_port = kNoSlot, egress_spec = kNoSlot, egress_port = kNoSlot, packet_length = kNoSlot,
         parser_error = kNoSlot, priority = kNoSlot, mcast_grp = kNoSlot, egress_rid = kNoSlot,
         instance_type = kNoSlot, checksum_error = kNoSlot, ingress_time = kNoSlot, egress_time = kNoSlot,
         enq_timestamp = kNoSlot, enq_qdepth = kNoSlot, deq_timedelta = kNoSlot, deq_qdepth = kNoSlot,
         qid = kNoSlot;
};

// A v1model program, immutable once loaded; switches that run it share it.
class Program {
   public:
    // Load a program from p4c's JSON; ProgramError if it is invalid or not supported. traced: add notes that
    // report the executed states, tables, conditions and statements (Switch::trace).
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
    std::uint16_t looked_up = 0;  // tables that the code looks up; p4c's tables without a key are inlined
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
    List<Note> notes;  // only of a traced program
    Index<ParserState> first_state;
    Place ingress = 0, egress = 0, deparser_code = kNowhere;
    std::vector<Index<Header>> deparser;
    StandardSlots standard;
    std::uint64_t error_too_short = 1, error_stack = 3, error_header_short = 4, error_argument = 6;
    bool reads_queue = false, verifies = false;

    Code code;
    Translation translation;
    Slot first_temporary = 0;          // first of kTemporaries slots
    std::vector<bool> constants;       // by slot: true for a constant, which keeps its initial value
    std::size_t metadata_slots = 0;    // number of slots of metadata, which come first
    std::size_t cleared_slots = 0;     // number of slots zeroed for every frame: metadata, headers, stacks
    std::vector<std::uint64_t> image;  // initial value of every slot: cleared slots, temporaries, constants
};

}  // namespace railyard::load

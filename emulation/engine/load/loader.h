// SPDX-License-Identifier: Apache-2.0
// Loader of the JSON that p4c writes for BMv2. It checks everything, so that frames need no checks.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "load/compile/compiler.h"

namespace railyard::load {

class Loader {
   public:
    Loader(Program& program, const Json& json) : p_(program), json_(json), compile_(program) {}
    void load();

   private:
    using ByName = std::unordered_map<std::string, Index<ParserState>>;

    // loader_headers.cpp: headers, and slots of their fields
    void headers();
    void groups();
    void note_use(const Json& node);
    [[nodiscard]] bool used(const std::string& header, const std::string& field) const;
    void type(Header& header, const Json& node, const std::string& where);
    void slots();
    void standard();
    void errors();
    void lay_out();
    void order_tables();

    // loader_externs.cpp
    void arrays();
    void bind_direct();
    void calculations();
    void checksums();
    void field_lists();
    Piece piece(const Json& node, const std::string& where);
    Code condition(const Json& node, Slot& result, const std::string& where);

    // loader_parser.cpp
    void parser();
    void parser_state(const Json& node, const ByName& states);
    [[nodiscard]] std::size_t union_member(const Stack& stack, const Json& name,
                                           const std::string& where) const;
    ParserOp parser_op(const Json& call, const std::string& where);
    void parser_set(const Json& arguments, ParserState& state, const std::string& where);
    [[nodiscard]] TransitionKey transition_key(const Json& node, const std::string& where) const;
    void transition(const Json& node, ParserState& state, const ByName& states, const std::string& where);
    void deparser();

    // loader_pipeline.cpp
    void actions();
    bool assign_directly(Action& action);
    void profiles(const Json& pipeline);
    void pipeline(const Json& node, Place& start);
    TableSpec table(const Json& node, const std::string& where);
    [[nodiscard]] Key key(const Json& node, const std::string& where) const;
    [[nodiscard]] tables::EntrySpec entry(const TableSpec& table, const Json& node,
                                          const std::string& where) const;
    [[nodiscard]] Index<Action> action(const Json& id, const std::string& where) const;
    [[nodiscard]] std::vector<std::uint64_t> action_data(Index<Action> action, const Json& data,
                                                         const std::string& where) const;

    Program& p_;
    const Json& json_;
    Compiler compile_;
    std::unordered_map<unsigned, Index<Action>> action_by_id_;
    std::unordered_map<unsigned, Index<Header>> header_by_id_;
    std::unordered_map<unsigned, Index<HeaderUnion>> union_by_id_;
    std::vector<Code> action_code_;
    std::unordered_map<std::string, std::unordered_set<std::string>> used_;
    std::unordered_set<std::string> whole_;
};

}  // namespace railyard::load

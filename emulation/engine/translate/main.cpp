// SPDX-License-Identifier: Apache-2.0
// Command that the build runs to translate a program: translate PROGRAM.json FILE.cpp
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "translate/translator.h"

int main(int count, char** words) {
    if (count != 3) {
        std::cerr << "usage: translate PROGRAM.json FILE.cpp\n";
        return 2;
    }
    try {
        std::ifstream in(words[1], std::ios::binary);
        if (!in) throw std::runtime_error("cannot be read");
        const std::string json{std::istreambuf_iterator<char>(in), {}};
        const auto program = railyard::load::Program::load(json);
        std::ofstream(words[2], std::ios::binary)
            << railyard::translate::Translator(*program).file(railyard::load::fingerprint(json));
    } catch (const std::exception& error) {
        std::cerr << words[1] << ": " << error.what() << '\n';
        return 1;
    }
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// The frame path: entries, groups, sessions, meters and frames from fuzz input, on the programs of
// RAILYARD_FUZZ_PROGRAMS (folders of BMv2 JSON, with colons between).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "drive.h"

namespace {

namespace files = std::filesystem;
using railyard::load::Program;

railyard::fuzz::Programs& programs() {
    static railyard::fuzz::Programs all;
    return all;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    const char* const folders = std::getenv("RAILYARD_FUZZ_PROGRAMS");
    std::istringstream list(folders == nullptr ? "" : folders);
    std::vector<files::path> found;
    for (std::string folder; std::getline(list, folder, ':');)
        for (const auto& file : files::directory_iterator(folder))
            if (file.path().extension() == ".json" && file.path().filename() != "MANIFEST.json")
                found.push_back(file.path());
    std::sort(found.begin(), found.end());
    for (const files::path& path : found) {
        std::ifstream in(path);
        std::stringstream text;
        text << in.rdbuf();
        try {
            programs().push_back(Program::load(text.str()));
        } catch (const railyard::load::ProgramError& e) {
            std::fprintf(stderr, "left out: %s: %s\n", path.c_str(), e.what());
        }
    }
    if (programs().empty()) {
        std::fprintf(stderr,
                     "no programs: RAILYARD_FUZZ_PROGRAMS names folders of BMv2 JSON, with colons between\n");
        std::exit(2);
    }
    std::fprintf(stderr, "%zu programs\n", programs().size());
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    FuzzedDataProvider in(data, size);
    railyard::fuzz::Drive(in, programs()).run(200);
    return 0;
}

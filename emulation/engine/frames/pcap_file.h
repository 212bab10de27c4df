// SPDX-License-Identifier: Apache-2.0
// PCAP file of Ethernet frames, with times in nanoseconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace railyard::frames {

class PcapFile {
   public:
    // Create the file, and replace an existing file. std::system_error names the file.
    explicit PcapFile(const std::string& path);

    void write(std::string_view frame);  // with the current real time
    void write(std::string_view frame, std::chrono::nanoseconds time);
    // Write buffered frames to the file.
    void flush();

   private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };

    std::unique_ptr<std::FILE, Close> file_;
    bool dirty_ = true;
};

}  // namespace railyard::frames

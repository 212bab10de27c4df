// SPDX-License-Identifier: Apache-2.0
// A capture file: Ethernet frames with their times to the nanosecond.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace railyard {

class PcapFile {
   public:
    // std::system_error names the file.
    explicit PcapFile(const std::string& path);
    PcapFile(const PcapFile&) = delete;
    PcapFile& operator=(const PcapFile&) = delete;
    ~PcapFile();

    void write(std::string_view frame);  // now
    void write(std::string_view frame, std::int64_t nanoseconds);
    // So that a reader sees what was written up to now.
    void flush();

   private:
    std::FILE* file_;
    bool dirty_ = true;
};

}  // namespace railyard

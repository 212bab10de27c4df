// SPDX-License-Identifier: Apache-2.0
#include "frames/pcap_file.h"

#include <cerrno>
#include <ctime>
#include <system_error>

namespace railyard::frames {

namespace {
constexpr std::uint32_t kNanoseconds = 0xa1b23c4d, kEthernet = 1, kSnapLength = 262144;
}  // namespace

PcapFile::PcapFile(const std::string& path) : file_(std::fopen(path.c_str(), "wbe")) {
    if (file_ == nullptr) throw std::system_error(errno, std::generic_category(), path);
    const std::uint32_t header[] = {kNanoseconds, 2 | 4 << 16, 0, 0, kSnapLength, kEthernet};
    std::fwrite(header, sizeof header, 1, file_.get());
    flush();
}

void PcapFile::write(std::string_view frame) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    write(frame, std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

void PcapFile::write(std::string_view frame, std::chrono::nanoseconds time) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
    const auto length = static_cast<std::uint32_t>(frame.size());
    const std::uint32_t header[] = {static_cast<std::uint32_t>(seconds.count()),
                                    static_cast<std::uint32_t>((time - seconds).count()), length, length};
    std::fwrite(header, sizeof header, 1, file_.get());
    std::fwrite(frame.data(), frame.size(), 1, file_.get());
    dirty_ = true;
}

void PcapFile::flush() {
    if (!dirty_) return;
    std::fflush(file_.get());
    dirty_ = false;
}

}  // namespace railyard::frames

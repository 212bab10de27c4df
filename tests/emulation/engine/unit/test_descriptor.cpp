// SPDX-License-Identifier: Apache-2.0
// Owned file descriptors: closed once, by the last owner; errors name what was to be opened.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include "wire/descriptor.h"

namespace railyard::wire {
namespace {

static_assert(!std::is_copy_constructible_v<Descriptor> && !std::is_copy_assignable_v<Descriptor>);
static_assert(std::is_nothrow_move_constructible_v<Descriptor>);

bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }
Descriptor any() { return {open("/dev/null", O_RDONLY | O_CLOEXEC), "/dev/null"}; }

TEST(Descriptor, ItsOwnerClosesIt) {
    int number = -1;
    {
        const Descriptor file = any();
        number = file.number();
        EXPECT_TRUE(is_open(number));
    }
    EXPECT_FALSE(is_open(number));
}

TEST(Descriptor, AMoveHandsItOver) {
    Descriptor first = any();
    const int number = first.number();
    {
        const Descriptor second = std::move(first);
        EXPECT_EQ(second.number(), number);
        EXPECT_EQ(first.number(), -1);  // NOLINT(*-use-after-move)
        EXPECT_TRUE(is_open(number));
    }
    EXPECT_FALSE(is_open(number));
}

TEST(Descriptor, AnAssignmentClosesTheFormerDescriptor) {
    Descriptor file = any();
    const int former = file.number();
    Descriptor other = any();
    const int number = other.number();
    file = std::move(other);
    EXPECT_EQ(file.number(), number);
    EXPECT_TRUE(is_open(number));
    EXPECT_FALSE(is_open(former));
}

TEST(Descriptor, AFailureNamesWhatWasToBeOpened) {
    try {
        const Descriptor file(open("/no/such/file", O_RDONLY | O_CLOEXEC), "the file of the test");
        FAIL() << "a file that does not exist was opened";
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code().value(), ENOENT);
        EXPECT_EQ(std::string(error.what()), "the file of the test: No such file or directory");
    }
}

}  // namespace
}  // namespace railyard::wire

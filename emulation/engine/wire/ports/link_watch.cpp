// SPDX-License-Identifier: Apache-2.0
#include "wire/ports/link_watch.h"

#include <linux/if.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "wire/system.h"

namespace railyard::wire {

namespace {

LinkChange change_of(nlmsghdr* message) {
    const auto* info = static_cast<const ifinfomsg*>(NLMSG_DATA(message));
    // Require IFF_LOWER_UP, too: a new interface without a carrier has IFF_RUNNING for up to a second. The
    // flag has no name here, since net/if.h hides the enum of linux/if.h.
    constexpr unsigned kLowerUp = 1u << 16;
    constexpr unsigned kAll = IFF_UP | IFF_RUNNING | kLowerUp;
    const bool up = (info->ifi_flags & kAll) == kAll;
    LinkChange change{info->ifi_index, {}, message->nlmsg_type == RTM_DELLINK, up, 0};
    auto left = static_cast<int>(IFLA_PAYLOAD(message));
    for (const rtattr* a = IFLA_RTA(info); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
        if (a->rta_type == IFLA_IFNAME) change.name = static_cast<const char*>(RTA_DATA(a));
        else if (a->rta_type == IFLA_MTU) std::memcpy(&change.mtu, RTA_DATA(a), sizeof change.mtu);
    }
    return change;
}

}  // namespace

LinkWatch::LinkWatch()
    : socket_(socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE),
              "a netlink socket") {
    sockaddr_nl at{};
    at.nl_family = AF_NETLINK;
    at.nl_groups = RTMGRP_LINK;
    require(bind(fd(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0,
            "listening for interface changes");
    ask();
}

void LinkWatch::ask() {
    struct {
        nlmsghdr header;
        ifinfomsg info;
    } request{};
    request.header.nlmsg_len = sizeof request;
    request.header.nlmsg_type = RTM_GETLINK;
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.info.ifi_family = AF_UNSPEC;
    require(send(fd(), &request, sizeof request, 0) == static_cast<ssize_t>(sizeof request),
            "asking for the interfaces");
}

std::vector<LinkChange> LinkWatch::read() {
    std::vector<LinkChange> changes;
    alignas(nlmsghdr) char buffer[1 << 16];
    for (;;) {
        const ssize_t got = recv(fd(), buffer, sizeof buffer, 0);
        if (got < 0 && errno == ENOBUFS) {  // messages were lost: request the state of all interfaces
            ask();
            continue;
        }
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return changes;
        auto left = static_cast<unsigned>(got);
        for (auto* m = reinterpret_cast<nlmsghdr*>(buffer); NLMSG_OK(m, left); m = NLMSG_NEXT(m, left))
            // Skip messages of the bridge family, which describe ports of bridges, not interfaces.
            if ((m->nlmsg_type == RTM_NEWLINK || m->nlmsg_type == RTM_DELLINK) &&
                static_cast<const ifinfomsg*>(NLMSG_DATA(m))->ifi_family == AF_UNSPEC)
                changes.push_back(change_of(m));
    }
}

}  // namespace railyard::wire

// Finds an address of this machine that other machines can reach.
#pragma once

#include <arpa/inet.h>
#include <ifaddrs.h>

#include <string>
#include <string_view>

namespace tutti {

/// Returns an IPv4 address of this machine beyond loopback, or an empty string if the machine does not have one.
inline std::string address_beyond_loopback() {
    std::string found;
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) return found;
    for (const ifaddrs* i = all; i != nullptr; i = i->ifa_next) {
        if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != AF_INET) continue;
        char text[INET_ADDRSTRLEN];
        ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr, text, sizeof text);
        if (!std::string_view{text}.starts_with("127.")) found = text;
    }
    ::freeifaddrs(all);
    return found;
}

}  // namespace tutti

// The versions and ciphers of TLS that one side speaks.
#pragma once

#include <string>

namespace tutti::secure {

/// If a list is empty, OpenSSL and its configuration choose the ciphers.
struct protocol_choice {
    std::string minimum_version = "1.2";  ///< 1.2 or 1.3
    std::string ciphers{};                ///< of TLS 1.2, as openssl-ciphers(1) has them
    std::string ciphersuites{};           ///< of TLS 1.3

    [[nodiscard]] bool names_a_version() const { return minimum_version == "1.2" || minimum_version == "1.3"; }
    bool operator==(const protocol_choice&) const = default;
};

/// The message for a choice that names no version.
inline constexpr const char* unknown_version = "the minimum version of TLS must be 1.2 or 1.3";

}  // namespace tutti::secure

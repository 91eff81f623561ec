// The versions and ciphers of TLS that one side of a connection allows.
#pragma once

#include <string>

namespace tutti::secure {

/// If a list of ciphers is empty, OpenSSL and its configuration choose these ciphers.
struct protocol_choice {
    std::string minimum_version = "1.2";  ///< 1.2 or 1.3
    std::string ciphers{};                ///< ciphers of TLS 1.2, in the format of openssl-ciphers(1)
    std::string ciphersuites{};           ///< of TLS 1.3

    [[nodiscard]] bool names_a_version() const { return minimum_version == "1.2" || minimum_version == "1.3"; }
    bool operator==(const protocol_choice&) const = default;
};

/// The message about a choice that contains no version.
inline constexpr const char* unknown_version = "the minimum version of TLS must be 1.2 or 1.3";

}  // namespace tutti::secure

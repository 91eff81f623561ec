/// @file
/// Files of certificates, of nodes and of those who ask them.
#pragma once

#include <string>

#include "tutti/detail/config.hpp"

namespace tutti::cluster {

/// PEM files that encrypt and authenticate every connection between nodes (TLS 1.2 or 1.3, both sides). All three, or
/// none.
struct tls_options {
    /// This node's, made for the DNS name `node-<number>.<cluster>` (subjectAltName), for servers and clients.
    std::string certificate{};
    std::string key{};        ///< the certificate's, without a passphrase
    std::string authority{};  ///< whoever has signed the certificates of all nodes
};

}  // namespace tutti::cluster

/// @file
/// Files of certificates and keys: of nodes, of members of groups, of programs, and of tools that ask them.
#pragma once

#include <string>

#include "tutti/detail/config.hpp"

namespace tutti::cluster {

/// PEM files that encrypt and authenticate every connection (TLS 1.2 or 1.3, both sides). All three, or none.
struct tls_options {
    /// This side's, for servers and clients, made for a DNS name (subjectAltName) that says what it is:
    /// `node-<number>.<cluster>`; of groups, `member.<name of the group>` or `program.<name of the group>`.
    std::string certificate{};
    std::string key{};        ///< the certificate's, without a passphrase
    std::string authority{};  ///< the authority's certificate; it has signed those of all sides
};

/// PEM files that do the same where the addresses of nodes are of ZeroMQ, by its CURVE. Both, or none.
struct curve_options {
    std::string key{};    ///< this node's private key (X25519), without a passphrase
    std::string nodes{};  ///< the public keys of all nodes, one after the other, in their order
};

}  // namespace tutti::cluster

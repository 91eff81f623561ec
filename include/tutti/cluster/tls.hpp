/// @file
/// Files of certificates and keys for nodes, members of groups, programs, and tools that query them.
#pragma once

#include <string>

#include "tutti/detail/config.hpp"

namespace tutti::cluster {

/// PEM files that encrypt and authenticate every connection (TLS 1.2 or 1.3, both sides). Set all three or none.
struct tls_options {
    /// The certificate of this side, used as server and as client. The DNS name of the certificate (subjectAltName)
    /// states its role: `node-<number>.<cluster>`, or, in groups, `member.<name of the group>` or `program.<name of the
    /// group>`.
    std::string certificate{};
    std::string key{};        ///< the certificate's private key, without a passphrase
    std::string authority{};  ///< certificate of the authority that has signed the certificates of all sides
};

/// PEM files for nodes with ZeroMQ addresses. ZeroMQ's CURVE encrypts and authenticates their connections. Set both or
/// none.
struct curve_options {
    std::string key{};    ///< this node's private key (X25519), without a passphrase
    std::string nodes{};  ///< the public keys of all nodes, one after the other, in the nodes' order
};

}  // namespace tutti::cluster

/// @file
/// Files of certificates and keys for nodes, members of groups, programs, and tools that query them.
#pragma once

#include <string>

#include "tutti/detail/config.hpp"

namespace tutti::cluster {

/// PEM files that encrypt and authenticate every connection, on both sides, and the versions and ciphers of TLS. Set
/// all three files or none.
struct tls_options {
    /// The certificate of this side, used as server and as client. The DNS name of the certificate (subjectAltName)
    /// states its role: `node-<number>.<cluster>`, or, in groups, `member.<name of the group>` or `program.<name of the
    /// group>`.
    std::string certificate{};
    std::string key{};        ///< the certificate's private key, without a passphrase
    std::string authority{};  ///< certificate of the authority that has signed the certificates of all sides
    std::string minimum_version = "1.2";  ///< oldest version of TLS that is accepted: 1.2 or 1.3
    std::string ciphers{};                ///< of TLS 1.2, in the format of openssl-ciphers(1); empty: OpenSSL's
    std::string ciphersuites{};           ///< of TLS 1.3, with colons between them; empty: OpenSSL's
};

/// PEM files for nodes with ZeroMQ addresses. ZeroMQ's CURVE encrypts and authenticates their connections. Set both or
/// none.
struct curve_options {
    std::string key{};    ///< this node's private key (X25519), without a passphrase
    std::string nodes{};  ///< the public keys of all nodes, one after the other, in the nodes' order
};

}  // namespace tutti::cluster

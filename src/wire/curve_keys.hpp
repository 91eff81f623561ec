// The keys of CURVE, the encryption of ZeroMQ. They are Curve25519 keys in PEM files. OpenSSL makes such files
// (algorithm X25519), so no special tool is needed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/message.hpp"

namespace tutti::wire {

/// The names of the PEM files: both, or none for connections without encryption.
struct curve_files {
    std::string key;    ///< this node's private key, without a passphrase
    std::string nodes;  ///< the public keys of all nodes, in the nodes' order
    [[nodiscard]] bool are_set() const noexcept { return !key.empty() || !nodes.empty(); }
};

using curve_key = std::array<std::uint8_t, 32>;

struct curve_keys {
    curve_key secret{};
    node_number own = 0;           ///< the node that the secret key belongs to
    std::vector<curve_key> nodes;  ///< the public keys

    /// Reads the keys. Throws wire_error if a file cannot be read or has no valid key. Also throws wire_error if two
    /// nodes have the same key, or if the number of public keys is not `nodes`. The private key must belong to node
    /// `self`, or wire_error is thrown. Without `self`, the private key must belong to one of the nodes.
    [[nodiscard]] static curve_keys read(const curve_files& files, std::optional<node_number> self, std::size_t nodes);
    /// Returns the node with that public key.
    [[nodiscard]] std::optional<node_number> owner_of(const curve_key& shown) const noexcept;
};

}  // namespace tutti::wire

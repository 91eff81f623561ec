// Keys of CURVE, the encryption of ZeroMQ. They are Curve25519 keys in PEM files, as OpenSSL makes them (algorithm
// X25519), so no special tool is needed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/message.hpp"

namespace tutti::wire {

/// The PEM files. Give both, or none for connections in the clear.
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

    /// Reads the keys. Throws wire_error, also if the private key is not that of node `self`, or of any node if `self`
    /// is left out. Throws wire_error if two nodes have the same key, or the number of keys is not `nodes`.
    [[nodiscard]] static curve_keys read(const curve_files& files, std::optional<node_number> self, std::size_t nodes);
    /// Returns the node with that public key.
    [[nodiscard]] std::optional<node_number> owner_of(const curve_key& shown) const noexcept;
};

}  // namespace tutti::wire

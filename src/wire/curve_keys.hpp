// Keys of CURVE, by which ZeroMQ encrypts: those of Curve25519, in the files of PEM that OpenSSL makes (algorithm
// X25519), so that no key needs a tool of its own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/message.hpp"

namespace tutti::wire {

/// PEM files. Both, or none: connections are in the clear.
struct curve_files {
    std::string key;    ///< this node's private key, without a passphrase
    std::string nodes;  ///< the public keys of all nodes, one after the other, in their order
    [[nodiscard]] bool wanted() const noexcept { return !key.empty() || !nodes.empty(); }
};

using curve_key = std::array<std::uint8_t, 32>;

struct curve_keys {
    curve_key secret{};
    node_number own = 0;           ///< whose that is
    std::vector<curve_key> nodes;  ///< public ones

    /// Throws refusal, also where the key is not that of node `self`, or of any where that is left out, or not every
    /// node has one of its own.
    [[nodiscard]] static curve_keys read(const curve_files& files, std::optional<node_number> self, std::size_t nodes);
    /// Whose public key that is.
    [[nodiscard]] std::optional<node_number> owner_of(const curve_key& shown) const noexcept;
};

}  // namespace tutti::wire

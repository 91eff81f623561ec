// What may stand in a node's configuration file, and the variables of the environment that say the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tutti/cluster/configuration.hpp"

namespace tutti::cluster {

using configured_value = std::variant<std::string, std::uint64_t, bool, std::vector<std::string>>;
/// In the order of configured_value.
enum class value_kind : std::uint8_t { text, number, truth, list };

struct configuration_entry {
    std::string_view table;  ///< empty: it stands before the first table
    std::string_view key;
    std::string_view variable;  ///< without TUTTI_CLUSTER_
    value_kind kind;
    std::string_view means;                          ///< what to write
    std::uint64_t least = 0, most = 0;               ///< of a number
    std::span<const std::string_view> choices = {};  ///< of a text; empty: any
    void (*put)(configuration& into, configured_value&& what);
};

[[nodiscard]] std::span<const configuration_entry> configuration_entries() noexcept;

}  // namespace tutti::cluster

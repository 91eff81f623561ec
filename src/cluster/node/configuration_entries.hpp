// The entries of a node's configuration file, and the environment variables that set the same values.
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
/// The kinds of values, in the order of configured_value's alternatives.
enum class value_kind : std::uint8_t { text, number, boolean, list };

struct configuration_entry {
    std::string_view table;  ///< empty: the key stands before the first table
    std::string_view key;
    std::string_view variable;  ///< the environment variable's name without TUTTI_CLUSTER_
    value_kind kind;
    std::string_view description;                    ///< the values that a user may write, as messages describe them
    std::uint64_t minimum = 0, maximum = 0;          ///< limits of a number
    std::span<const std::string_view> choices = {};  ///< allowed texts; empty: any text
    void (*put)(configuration& into, configured_value&& what);
};

[[nodiscard]] std::span<const configuration_entry> configuration_entries() noexcept;

}  // namespace tutti::cluster

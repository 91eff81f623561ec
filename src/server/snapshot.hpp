// What a server is doing, gathered from its receivers and its executor; INFO and the metrics are made from it.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/figures.hpp"

namespace tutti::server {

struct snapshot {
    struct of_priority {
        int priority;
        turnaround_sum turnaround;
    };
    struct of_procedure {
        std::string name;
        std::vector<of_priority> priorities;  ///< that it was called with
        std::array<std::uint64_t, ending_count> endings{};
    };
    std::chrono::seconds up{0};
    unsigned workers = 0;
    std::string_view executor = {};
    load busy;
    std::uint64_t clients = 0, clients_in_all = 0, clients_refused = 0;
    std::uint64_t commands = 0, malformed = 0, bytes_read = 0, bytes_written = 0;
    std::vector<of_procedure> procedures;
};

/// Adds what one receiver counted. REQUIRES: `to.procedures` has one for each that there is.
void add(snapshot& to, const figures& from);

/// As INFO shows it: lines of `key:value`, under headings.
[[nodiscard]] std::string to_text(const snapshot& s);

}  // namespace tutti::server

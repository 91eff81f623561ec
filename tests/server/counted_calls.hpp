// Calls over several connections at once. Each is answered with a number of its own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "server/bank.hpp"
#include "support/effort.hpp"

namespace tutti::server {

struct counted_calls {
    std::size_t connections;
    std::size_t calls;  ///< calls over each connection; see support::rounds
    std::size_t ahead;  ///< number of requests sent before their answers have arrived
    std::vector<std::string> (*request)(std::mt19937& random);  ///< makes a call of `count`
};

/// Checks that each call runs once and is answered once. REQUIRES: the bank has not counted any calls before.
inline void expect_each_once(const bank_server& bank, const counted_calls& how) {
    const std::size_t calls = support::rounds(how.calls);
    std::vector<std::vector<long>> numbers(how.connections);
    std::vector<std::thread> clients;
    clients.reserve(how.connections);
    for (std::size_t c = 0; c < how.connections; ++c) {
        clients.emplace_back([&, c] {
            std::mt19937 random{static_cast<unsigned>(c)};
            client ask{bank.port()};
            std::size_t sent = 0;
            while (numbers[c].size() < calls) {
                for (; sent < calls && sent < numbers[c].size() + how.ahead; ++sent) ask.send(how.request(random));
                numbers[c].push_back(std::stol(ask.receive()));
            }
        });
    }
    for (auto& c : clients) c.join();
    std::vector<long> all;
    for (const auto& mine : numbers) all.insert(all.end(), mine.begin(), mine.end());
    std::ranges::sort(all);
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<long>(i + 1));
}

}  // namespace tutti::server

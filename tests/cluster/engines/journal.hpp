// Records reads and writes of attempts in several threads. `history` checks them after the run.
#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cluster/history.hpp"

namespace tutti::cluster::testing {

struct tagged {
    std::uint64_t tag = 0;
};

/// Attempts of several threads, each with a number of its own. The history gets them after the run.
class journal {
public:
    struct entry {
        unsigned client;
        std::vector<std::pair<std::uint64_t, std::uint64_t>> reads;  // object, tag
        std::vector<std::uint64_t> writes;
        bool committed = false;
    };
    explicit journal(std::uint64_t most) : entries_(most) {}
    /// Begins an attempt and returns its tag. Tags count from 1.
    std::uint64_t begin(unsigned client) {
        const std::uint64_t tag = next_.fetch_add(1) + 1;
        if (tag > entries_.size()) throw std::runtime_error{"more attempts than the journal has room for"};
        of(tag).client = client;
        return tag;
    }
    entry& of(std::uint64_t tag) { return entries_[tag - 1]; }
    [[nodiscard]] std::uint64_t last() const noexcept { return next_.load(); }
    [[nodiscard]] std::string judge() const {
        history past;
        for (std::uint64_t tag = 1; tag <= next_.load(); ++tag) {
            const entry& e = entries_[tag - 1];
            attempt& a = past.of(past.begin(e.client));
            a.committed = e.committed;
            for (const auto& [object, seen_tag] : e.reads) {
                // A tag of 0 means a value from before the run.
                a.reads.push_back({{0, object}, seen_tag != 0, 0, seen_tag});
            }
            for (const std::uint64_t object : e.writes) a.writes.push_back({0, object});
        }
        return past.judge();
    }

private:
    std::vector<entry> entries_;
    std::atomic<std::uint64_t> next_{0};
};

}  // namespace tutti::cluster::testing

// The answers to a group's clients, and a check that the log explains them.
//
// The versions give the order of the group's commits (ENG6), so the check does not have to search for an order. That
// order must explain everything, in real time. Then the history is strictly serializable, and each attempt, committed
// or not, has seen one state.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/backend/backend.hpp"
#include "cluster/replica/event_queue.hpp"

namespace tutti::cluster::replica::testing {

using backend::version;

/// A successful get.
struct seen {
    instant called = 0, returned = 0;
    bool fresh = true;  ///< true if the get had no earlier snapshot, or asked for the current state
    version before = 0, at = 0;
    std::vector<backend::check> held;
    std::vector<backend::key> wanted;
    std::vector<backend::record> found;
};

struct attempt {
    unsigned client = 0;
    std::vector<seen> gets;
    // The commit of the attempt.
    instant called = 0, returned = 0;
    std::vector<backend::check> checks;
    std::vector<backend::write> writes;
    std::optional<backend::engine_status> result;  ///< empty: the attempt only read
    version at = 0;
};

class history_checker {
public:
    /// Adds what the log did, as a member reports it: whole commits, in order. Returns the first contradiction, or an
    /// empty string.
    [[nodiscard]] std::string add_log(const std::vector<backend::change>& changes);
    [[nodiscard]] version latest() const noexcept { return latest_; }

    /// Returns all commits by version.
    [[nodiscard]] const std::map<version, std::vector<backend::change>>& done() const noexcept { return done_; }

    /// Begins an attempt. Its writes begin with the bytes "<number>.".
    [[nodiscard]] std::size_t begin(unsigned client) {
        attempts_.push_back({.client = client, .gets = {}, .checks = {}, .writes = {}, .result = {}});
        return attempts_.size() - 1;
    }
    [[nodiscard]] attempt& of(std::size_t number) { return attempts_[number]; }
    [[nodiscard]] const std::vector<attempt>& attempts() const noexcept { return attempts_; }

    /// Returns a description of the error, or an empty string.
    [[nodiscard]] std::string check() const;

private:
    struct done_write {
        version at = 0;
        backend::record is;
    };
    [[nodiscard]] backend::record as_of(const backend::key& k, version at) const;
    [[nodiscard]] std::string judge_get(const seen& s) const;
    [[nodiscard]] std::string judge_commit(const attempt& a) const;
    [[nodiscard]] std::string judge_times() const;

    std::vector<attempt> attempts_;
    std::map<version, std::vector<backend::change>> done_;
    std::map<backend::key, std::vector<done_write>> by_key_;
    version latest_ = 1;  // the version of the empty state
};

}  // namespace tutti::cluster::replica::testing

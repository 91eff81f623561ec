// What clients of a group were told, beside what the log has done; and whether the one fits the other.
//
// The group says itself in which order its commits are: by versions (B6). So nobody has to look for an order: it is
// enough that this one explains everything, in real time. Then the history is strictly serializable, and each attempt,
// also one that did not commit, has seen one state.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/backend/backend.hpp"
#include "cluster/replica/agenda.hpp"

namespace tutti::cluster::replica::testing {

using backend::version;

/// A get that was answered well.
struct seen {
    instant called = 0, returned = 0;
    bool fresh = true;  ///< it had no snapshot before, or wanted the state of now
    version before = 0, at = 0;
    std::vector<backend::check> held;
    std::vector<backend::key> wanted;
    std::vector<backend::record> found;
};

struct attempt {
    unsigned client = 0;
    std::vector<seen> gets;
    // Of its commit.
    instant called = 0, returned = 0;
    std::vector<backend::check> checks;
    std::vector<backend::write> writes;
    std::optional<backend::verdict> said;  ///< none: it only read
    version at = 0;
};

class past {
public:
    /// What the log did, as a member tells it: from `first` on, whole commits.
    [[nodiscard]] std::string tell(const std::vector<backend::change>& changes);
    [[nodiscard]] version latest() const noexcept { return latest_; }

    /// All of it.
    [[nodiscard]] const std::map<version, std::vector<backend::change>>& done() const noexcept { return done_; }

    /// The bytes that the attempt's writes begin with: "<number>.".
    [[nodiscard]] std::size_t begin(unsigned client) {
        attempts_.push_back({.client = client, .gets = {}, .checks = {}, .writes = {}, .said = {}});
        return attempts_.size() - 1;
    }
    [[nodiscard]] attempt& of(std::size_t number) { return attempts_[number]; }
    [[nodiscard]] const std::vector<attempt>& attempts() const noexcept { return attempts_; }

    /// What is wrong, or nothing.
    [[nodiscard]] std::string judge() const;

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
    version latest_ = 1;  // of the empty state
};

}  // namespace tutti::cluster::replica::testing

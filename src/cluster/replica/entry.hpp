// What one entry of a group's log says: commits, in the order in which they are judged, and keys to forget.
//
//   'G' 'E' version(1)   then, for each operation, its kind (1) and
//     commit   checks: count (4), each key, version (8); writes: count (4), each key, whether it exists (1), bytes
//     forget   keys: count (4), each key
//   then zeros, until the whole is a multiple of 8 bytes, and the checksum of all that (8)
//
// A length is 4 bytes in front of its text.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::replica {

using backend::key;
using backend::version;

/// Puts an entry together.
class entry {
public:
    entry();
    void add_commit(std::span<const backend::check> checks, std::span<const backend::write> writes);
    void add_forget(std::span<const key> keys);
    /// Commits, and forgets.
    [[nodiscard]] std::size_t operations() const noexcept { return operations_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return all_.size(); }
    /// The bytes for the log; the object is empty again.
    [[nodiscard]] std::string finish();

private:
    std::string all_;
    std::size_t operations_ = 0;
};

/// What is read: views of the entry's bytes.
struct check_view {
    std::string_view of;
    version at = 0;
    template <class V>
    void fields(V& v) {
        v(of), v(at);
    }
};
struct write_view {
    std::string_view of;
    bool exists = false;
    std::string_view bytes;
    template <class V>
    void fields(V& v) {
        v(of), v(exists), v(bytes);
    }
};
struct operation {
    std::vector<check_view> checks;
    std::vector<write_view> writes;
    std::vector<std::string_view> forgotten;  ///< then it is no commit
    bool forgets = false;
};

/// Reads all of it, or nothing: false, and `why`, for bytes that no `entry` has finished.
[[nodiscard]] bool read_entry(std::string_view bytes, std::vector<operation>& all, std::string& why);

}  // namespace tutti::cluster::replica

// Transactions of several groups that this one has prepared, and what they hold (machine.hpp, R5): each key that one
// writes is its alone, and each that it has only read is shared by those that have.
//
// Thread safety: as the machine's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cluster/backend/backend.hpp"
#include "cluster/replica/entry.hpp"
#include "wire/bytes.hpp"

namespace tutti::cluster::replica {

struct key_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view k) const noexcept { return std::hash<std::string_view>{}(k); }
};

struct transaction {
    backend::holder who;
    version since = 0;       ///< the state that it was prepared in
    std::vector<key> reads;  ///< and does not write
    std::vector<backend::write> writes;
};

class prepared_ones {
public:
    [[nodiscard]] std::size_t count() const noexcept { return all_.size(); }
    [[nodiscard]] std::vector<backend::holder> names(std::size_t most) const;
    [[nodiscard]] const transaction* find(std::string_view id) const;
    /// The one that writes it, or null.
    [[nodiscard]] const transaction* writer_of(std::string_view k) const;
    /// One that a commit with these checks and writes would have to wait for, or null: it writes what that checks or
    /// writes, or has read what that writes. O(operations), and nothing where none is prepared.
    [[nodiscard]] const transaction* in_the_way(const std::vector<check_view>& checks,
                                                const std::vector<write_view>& writes) const;
    /// REQUIRES: none is in its way, and none has its id.
    void add(const operation& o, version since);
    /// It holds nothing any more. Nothing where there is none.
    std::optional<transaction> take(std::string_view id);

    /// In one order whatever the history.
    void save(wire::writer& out) const;
    /// Of a state with that version. What `save` has not written makes `in` refuse.
    void load(wire::reader& in, version latest);

private:
    struct held {
        const transaction* writer = nullptr;
        std::vector<const transaction*> readers;
    };
    /// Refuses, and holds nothing, where another is in the way.
    bool add(transaction t);

    std::map<std::string, transaction, std::less<>> all_;
    std::unordered_map<key, held, key_hash, std::equal_to<>> held_;  // the pointers are to all_
};

}  // namespace tutti::cluster::replica

// The transactions over several groups that this group has prepared, and the keys that they hold (state_machine.hpp,
// RSM5). A key that a transaction writes belongs to that transaction alone. A key that is only read is shared by its
// readers.
//
// Thread safety: the same as that of the state machine.
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

struct prepared_transaction {
    backend::blocking_transaction who;
    version since = 0;       ///< the version of the state after the prepare
    std::vector<key> reads;  ///< keys that it reads and does not write
    std::vector<backend::write> writes;
};

class prepared_transactions {
public:
    [[nodiscard]] std::size_t count() const noexcept { return all_.size(); }
    [[nodiscard]] std::vector<backend::blocking_transaction> list(std::size_t max_transactions) const;
    [[nodiscard]] const prepared_transaction* find(std::string_view id) const;
    /// Returns the transaction that writes the key, or null.
    [[nodiscard]] const prepared_transaction* writer_of(std::string_view k) const;
    /// Returns a transaction that blocks a commit with these checks and writes, or null. A transaction blocks the
    /// commit if it writes a key that the commit checks or writes, or has read a key that the commit writes.
    /// O(operations), and O(1) if nothing is prepared.
    [[nodiscard]] const prepared_transaction* find_blocking(const std::vector<check_view>& checks,
                                                            const std::vector<write_view>& writes) const;
    /// Adds a transaction.
    /// REQUIRES: no transaction blocks the new one, and no transaction has its id.
    void add(const operation& o, version since);
    /// Removes a transaction, with all that it holds. Returns nothing if there is no such transaction.
    std::optional<prepared_transaction> remove(std::string_view id);

    /// Saves all transactions in an order that does not depend on the history.
    void save(wire::writer& out) const;
    /// Loads a state of version `latest`. Makes `in` refuse bytes that `save` has not written.
    void load(wire::reader& in, version latest);

private:
    struct key_holders {
        const prepared_transaction* writer = nullptr;
        std::vector<const prepared_transaction*> readers;
    };
    /// Adds a transaction and its holds. Returns false, and adds nothing, if a transaction with this id exists. Also
    /// returns false if another transaction blocks the new one. The new one is added in this case, too.
    bool add(prepared_transaction t);

    std::map<std::string, prepared_transaction, std::less<>> all_;
    std::unordered_map<key, key_holders, key_hash, std::equal_to<>> holders_;  // points into all_
};

}  // namespace tutti::cluster::replica

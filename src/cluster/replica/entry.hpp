// An entry of a group's log. An entry has commits, in the order in which they are checked, and keys to forget. It also
// has the group's parts of transactions of several groups, prepared and finished.
//
//   'G' 'E' version(1)   then, for each operation, its kind (1) and
//     commit   checks: count (4), each key, version (8); writes: count (4), each key, whether it exists (1), bytes
//     forget   keys: count (4), each key
//     prepare  the transaction's id, the number of the group that decides (8); checks and writes as of a commit
//     finish   the transaction's id, whether it commits (1)
//     import   checks as of a commit; records: count (4), each key, version (8), whether it exists (1), bytes;
//              `absence` of the group that the records come from (8; state_machine.hpp, RSM7)
//   then zeros, until the whole is a multiple of 8 bytes, and the checksum of all that (8)
//
// A text is preceded by its length in 4 bytes. Version 1 had no prepare and no finish, version 2 had no import, and
// version 3 had no `absence`. Entries of these versions can still be read, and do not drop erased records
// (state_machine.hpp, RSM3).
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

/// Assembles an entry.
class log_entry_builder {
public:
    log_entry_builder();
    void add_commit(std::span<const backend::check> checks, std::span<const backend::write> writes);
    void add_forget(std::span<const key> keys);
    void add_prepare(const backend::blocking_transaction& who, std::span<const backend::check> checks,
                     std::span<const backend::write> writes);
    void add_finish(std::string_view id, bool commits);
    void add_import(std::span<const backend::check> checks, std::span<const backend::change> records, version absence);
    [[nodiscard]] std::size_t operations() const noexcept { return operations_; }
    [[nodiscard]] std::size_t bytes() const noexcept { return all_.size(); }
    /// Returns the bytes for the log. The object is empty again afterwards.
    [[nodiscard]] std::string finish();

private:
    void add(std::span<const backend::check> checks);
    void add(std::span<const backend::check> checks, std::span<const backend::write> writes);

    std::string all_;
    std::size_t operations_ = 0;
};

/// The content of an entry that was read: views of the entry's bytes.
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
struct record_view {
    std::string_view of;
    version at = 0;
    bool exists = false;
    std::string_view bytes;
    template <class V>
    void fields(V& v) {
        v(of), v(at), v(exists), v(bytes);
    }
};
enum class operation_kind : std::uint8_t { filler, commit, forget, prepare, finish, import_records };
[[nodiscard]] constexpr operation_kind last(operation_kind) noexcept { return operation_kind::import_records; }

struct operation {
    operation_kind is = operation_kind::commit;
    std::vector<check_view> checks;  ///< of commit, prepare and import_records
    std::vector<write_view> writes;
    std::vector<std::string_view> forgotten;
    std::string_view id;               ///< of prepare and finish
    std::uint64_t deciding_group = 0;  ///< of prepare: the number of the deciding group
    bool commits = false;              ///< of finish
    std::vector<record_view> imported;
    version absence = 0;  ///< of import_records
};

/// Reads all operations. Returns false, sets `why` and reads nothing if the bytes were not made by
/// log_entry_builder::finish.
[[nodiscard]] bool read_log_entry(std::string_view bytes, std::vector<operation>& all, std::string& why);
/// REQUIRES: `read_log_entry` has read the entry.
[[nodiscard]] std::uint8_t format_of(std::string_view entry) noexcept;

}  // namespace tutti::cluster::replica

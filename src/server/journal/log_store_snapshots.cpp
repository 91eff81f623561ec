// Replaces the previous snapshot by a new one, part by part, in a second table, while groups are being added.
//
//   S1  Parts are added to `next_snapshot` in separate transactions. A start does not read that table, so the start
//       ignores parts of an unfinished snapshot. The next snapshot drops them first.
//   S2  One short transaction finishes the snapshot. That transaction exchanges the names of the two tables, moves the
//       position, and sets the first group of the log that is kept. SQLite syncs the transaction together with
//       everything added before. So after a crash, the file has either the old snapshot with all calls behind it, or
//       the new snapshot.
//   S3  The replaced data is dropped afterwards, in steps. No reader uses the replaced data, because readers read
//       groups from `of_snapshot` or `first_stored_position` on, and parts from `snapshot`.
#include <algorithm>

#include "server/journal/statement.hpp"

namespace tutti::server::journal {
namespace {

// The number of bytes that a step frees. SQLite visits the pages that it frees, so this number limits how long a group
// waits for the step.
constexpr std::uint64_t bytes_in_step = std::uint64_t{4} << 20;

}  // namespace

void log_store::add_part(const char* table, std::uint64_t number, std::string_view part) {
    statement{*this, ("INSERT INTO " + std::string{table} + " VALUES(?, ?, ?, 1)").c_str()}
        .bind(number)
        .bind(checksum(part))
        .bind(part)
        .step("be written");
}

void log_store::add_parts(std::span<const std::string> parts) {
    synchronize(false);
    change([&] {
        statement add{*this, "INSERT INTO next_snapshot VALUES(?, ?, ?, 1)"};
        std::uint64_t number = new_parts_;
        for (const std::string& p : parts) {
            add.bind(++number).bind(checksum(p)).bind(std::string_view{p}).step("be written");
            add.again();
        }
    });
    new_parts_ += parts.size();
}

void log_store::truncate_parts(std::uint64_t count) {
    if (count >= new_parts_) return;
    synchronize(false);
    change([&] { statement{*this, "DELETE FROM next_snapshot WHERE number > ?"}.bind(count).step("be written"); });
    new_parts_ = count;
}

/// Returns the end of a log whose calls all lie before `position`. Calls that were rolled back may have reserved
/// positions after the last call. No log contains those positions, so a start reserves them again, and two logs do not
/// diverge because of them.
std::uint64_t log_store::end_before(std::uint64_t position) {
    statement last{*this, "SELECT last FROM calls WHERE last < ? ORDER BY first DESC LIMIT 1"};
    return last.bind(position).step("be read") ? last.number(0) + 1 : 1;
}

/// Skips the newest groups before `position` that have at most `retained_bytes` bytes together. Returns the last
/// position of the next older group, or 0 if there is no such group.
std::uint64_t log_store::last_to_drop(std::uint64_t position, std::uint64_t retained_bytes) {
    statement each{*this, "SELECT last, length(records) FROM calls WHERE last < ? ORDER BY first DESC"};
    each.bind(position);
    for (std::uint64_t bytes = 0; each.step("be read");) {
        bytes += each.number(1);
        if (bytes > retained_bytes) return each.number(0);
    }
    return 0;
}

void log_store::finish_snapshot(std::uint64_t at, std::uint64_t retained_bytes) {
    const std::uint64_t old = snapshot_position(), position = std::max(old, end_before(at));
    if (position == old) return;  // a follower may be copying the current snapshot, part by part
    write_through();
    const std::uint64_t dropped = last_to_drop(position, retained_bytes);
    change([&] {
        run("ALTER TABLE snapshot RENAME TO replaced_snapshot;"
            "ALTER TABLE next_snapshot RENAME TO snapshot;"
            "ALTER TABLE replaced_snapshot RENAME TO next_snapshot;");
        statement{*this, "UPDATE position SET of_snapshot = ?, kept_from = max(kept_from, ?)"}
            .bind(position)
            .bind(dropped + 1)
            .step("be written");
    });
    if (bytes_) bytes_->drop_before(dropped + 1);
    record_all();
}

bool log_store::drop_replaced() {
    synchronize(false);
    return drop_replaced_parts() || drop_replaced_groups();
}

bool log_store::drop_replaced_parts() {
    std::uint64_t upto = 0;
    {
        statement each{*this, "SELECT number, length(part) FROM next_snapshot ORDER BY number LIMIT 2000"};
        for (std::uint64_t bytes = 0; bytes < bytes_in_step && each.step("be read"); bytes += each.number(1))
            upto = each.number(0);
    }
    if (upto == 0) return false;
    change([&] { statement{*this, "DELETE FROM next_snapshot WHERE number <= ?"}.bind(upto).step("be written"); });
    return true;
}

bool log_store::drop_replaced_groups() {
    std::uint64_t upto = 0;
    {
        statement each{*this,
                       "SELECT first, length(records) FROM calls WHERE last < (SELECT kept_from FROM position)"
                       " ORDER BY first LIMIT 2000"};
        for (std::uint64_t bytes = 0; bytes < bytes_in_step && each.step("be read"); bytes += each.number(1))
            upto = each.number(0);
    }
    if (upto == 0) return false;
    change([&] { statement{*this, "DELETE FROM calls WHERE first <= ?"}.bind(upto).step("be written"); });
    return true;
}

void log_store::replace_snapshot(const snapshot& s, std::uint64_t retained_bytes) {
    while (drop_replaced()) continue;
    begin_snapshot();
    add_parts(s.parts);
    finish_snapshot(s.position, retained_bytes);
    while (drop_replaced()) continue;
}

}  // namespace tutti::server::journal

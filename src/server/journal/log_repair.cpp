// Implements `check_log` and `repair_log`. A repair works like a follower that copies the log: the repair copies the
// snapshot and the readable groups after it.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "server/journal/log_store.hpp"
#include "server/journal/replace_file.hpp"
#include "tutti/server/log.hpp"

namespace tutti::server {
namespace {

using journal::damage_policy;
using journal::log_store;
using journal::log_store_error;

constexpr std::size_t piece = std::size_t{1} << 20;
constexpr const char* beside[] = {"-wal", "-end"};

void need_log(const std::string& file) {
    namespace fs = std::filesystem;
    if (!fs::exists(file)) throw log_store_error{"no such log: " + file, false};
    if (!fs::is_regular_file(file))
        throw log_store_error{file + " is not a regular file, so not the log of a server", false};
    if (fs::file_size(file) == 0 && std::ranges::none_of(beside, [&](const char* b) { return fs::exists(file + b); }))
        throw log_store_error{file + " is empty: no server has written a log there", false};
}

/// Runs `what`. If `what` fails, records the reason in `at`.
template <class F>
void read_log(log_contents& at, const F& what) {
    try {
        what();
    } catch (const log_store_error& e) {
        at.damage.emplace_back(e.what());
    }
}

log_contents contents_of(log_store& log) {
    log_contents all{.damage = log.damage()};
    read_log(all, [&] { all.snapshot = all.end = log.snapshot_position(); });
    read_log(all, [&] { log.read_snapshot([&](std::string_view part) { all.snapshot_bytes += part.size(); }); });
    read_log(all, [&] { log.read_answers([&](const journal::stored_reply&) { ++all.answers; }); });
    read_log(all, [&] {
        for (std::uint64_t from = all.snapshot;;) {
            const std::vector<journal::group> some = log.read_from(from, piece);
            if (some.empty()) break;
            for (const journal::group& g : some) all.bytes += g.records.size();
            all.end = from = some.back().last + 1;
        }
    });
    return all;
}

/// Returns the leader epochs of `from` that follow the leader epoch of the last call in `to`.
std::vector<journal::leader_epoch> later_leader_epochs(log_store& from, log_store& to) {
    std::vector<journal::leader_epoch> all = from.leader_epochs();
    const journal::leader_epoch last = to.last_leader_epoch();
    const auto own = std::ranges::find_if(all, [&](const journal::leader_epoch& b) { return b.is(last); });
    if (own != all.end()) all.erase(all.begin(), own + 1);
    return all;
}

/// Copies groups up to the first group that cannot be read.
void copy_groups(log_store& from, log_store& to, std::uint64_t position) {
    for (;;) {
        std::vector<journal::group> some;
        try {
            some = from.read_from(position, 1);
        } catch (const log_store_error&) {
            return;  // the report of the check names the group
        }
        if (some.empty()) return;
        position = some.back().last + 1;
        to.append(some, later_leader_epochs(from, to), position, from.latest_term(), false);
    }
}

void copy(log_store& from, const std::string& file) {
    log_store to{file};
    const journal::initial_copy c = from.describe_copy();
    to.replace_by(c, [&](std::uint64_t number) { return from.part(number); });
    to.record_announced_term(from.announced_term());
    for (const journal::former_leader& l : from.former_leaders()) to.add_former_leader(l);
    copy_groups(from, to, c.position);
}

/// Throws if the tables themselves, or the snapshot, cannot be read. Without the snapshot, the calls after it would be
/// useless.
void need_beginning(log_store& log, const std::string& file) {
    if (log.is_mixed()) {
        throw log_store_error{"cannot repair the log " + file + ": " + log.damage().front() +
                                  ". Restore the right one, or fetch the log from a replica. If you know that only " +
                                  file + "-end is the wrong one, remove that file",
                              false};
    }
    try {
        log.read_snapshot([](std::string_view) {});
    } catch (const log_store_error& e) {
        throw log_store_error{"cannot repair the log " + file + ": its beginning cannot be read: " + e.what(), false};
    }
}

void remove_files(const std::string& file) {
    std::filesystem::remove(file);
    for (const char* const suffix : beside) std::filesystem::remove(file + suffix);
}

std::string unused_name(const std::string& file) {
    for (unsigned n = 1;; ++n) {
        std::string name = file + "-damaged-" + std::to_string(n);
        if (!std::filesystem::exists(name)) return name;
    }
}

void name_too(const std::string& file, const std::string& name) {
    if (::link(file.c_str(), name.c_str()) == 0 || errno == ENOENT) return;
    throw log_store_error{file + " cannot be named " + name + ": " + std::generic_category().message(errno), true};
}

/// Renames the files of `file` to unused names, and the files of `anew` to the names of `file`. If the process is
/// interrupted here, a start must refuse the remaining files. Therefore SQLite's WAL is removed before the database is
/// replaced, and the file that records the log's end is replaced last.
std::string replace_log(const std::string& file, const std::string& anew) {
    std::string kept_as = unused_name(file);
    name_too(file, kept_as);
    for (const char* const suffix : beside) name_too(file + suffix, kept_as + suffix);
    journal::synchronize_folder_of(file);
    std::filesystem::remove(file + "-wal");
    journal::replace_file(file, anew);
    journal::replace_file(file + "-end", anew + "-end");
    return kept_as;
}

}  // namespace

log_contents check_log(const std::string& file) {
    need_log(file);
    log_store log{file, damage_policy::report};
    return contents_of(log);
}

log_repair repair_log(const std::string& file) {
    need_log(file);
    const std::string anew = file + "-repaired";
    log_repair done;
    {
        log_store log{file, damage_policy::report};
        done.now = contents_of(log);
        if (done.now.damage.empty()) return done;
        need_beginning(log, file);
        remove_files(anew);
        journal::make_with_mode(anew, journal::mode_of_drafts);
        try {
            copy(log, anew);
        } catch (...) {
            remove_files(anew);
            throw;
        }
        done.lost_upto = log.last_known_call();
        done.kept_as = replace_log(file, anew);
    }
    done.now = check_log(file);
    return done;
}

}  // namespace tutti::server

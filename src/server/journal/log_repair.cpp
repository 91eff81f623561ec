// `check_log` and `repair_log`. A repair works like a follower that copies the log: it takes the snapshot and the
// readable groups behind it.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "server/journal/put_in_place.hpp"
#include "server/journal/store.hpp"
#include "tutti/server/log.hpp"

namespace tutti::server {
namespace {

using journal::on_damage;
using journal::store;
using journal::store_error;

constexpr std::size_t piece = std::size_t{1} << 20;
constexpr const char* beside[] = {"-wal", "-end"};

void need_log(const std::string& file) {
    namespace fs = std::filesystem;
    if (!fs::exists(file)) throw store_error{"there is no log " + file, false};
    if (!fs::is_regular_file(file)) throw store_error{file + " is no file, and so no log of a server", false};
    if (fs::file_size(file) == 0 && std::ranges::none_of(beside, [&](const char* b) { return fs::exists(file + b); }))
        throw store_error{file + " is empty: no server has written a log there", false};
}

/// Runs `what`, and records the reason if it fails.
template <class F>
void look(log_contents& at, const F& what) {
    try {
        what();
    } catch (const store_error& e) {
        at.damage.emplace_back(e.what());
    }
}

log_contents contents_of(store& log) {
    log_contents all{.damage = log.damage()};
    look(all, [&] { all.snapshot = all.end = log.snapshot_position(); });
    look(all, [&] { log.read_snapshot([&](std::string_view part) { all.snapshot_bytes += part.size(); }); });
    look(all, [&] { log.read_answers([&](const journal::kept_answer&) { ++all.answers; }); });
    look(all, [&] {
        for (std::uint64_t from = all.snapshot;;) {
            const std::vector<journal::group> some = log.read_from(from, piece);
            if (some.empty()) break;
            for (const journal::group& g : some) all.bytes += g.records.size();
            all.end = from = some.back().last + 1;
        }
    });
    return all;
}

/// Returns the branches of `from` behind the branch of `to`'s last call.
std::vector<journal::branch> later_branches(store& from, store& to) {
    std::vector<journal::branch> all = from.branches();
    const journal::branch last = to.last_branch();
    const auto own = std::ranges::find_if(all, [&](const journal::branch& b) { return b.is(last); });
    if (own != all.end()) all.erase(all.begin(), own + 1);
    return all;
}

/// Copies groups until one cannot be read.
void copy_groups(store& from, store& to, std::uint64_t position) {
    for (;;) {
        std::vector<journal::group> some;
        try {
            some = from.read_from(position, 1);
        } catch (const store_error&) {
            return;  // the report names the group
        }
        if (some.empty()) return;
        position = some.back().last + 1;
        to.append(some, later_branches(from, to), position, from.latest_term(), false);
    }
}

void copy(store& from, const std::string& file) {
    store to{file};
    const journal::copied c = from.describe_copy();
    to.replace_by(c, [&](std::uint64_t number) { return from.part(number); });
    to.hear_term(from.heard_term());
    for (const journal::former_leader& l : from.former_leaders()) to.add_former_leader(l);
    copy_groups(from, to, c.position);
}

/// Throws if the tables themselves, or the snapshot, cannot be read. The calls behind them would then be useless.
void need_beginning(store& log, const std::string& file) {
    if (log.is_mixed()) {
        throw store_error{"nothing of the log " + file + " can be kept, because " + log.damage().front() +
                              ". Restore the right one, or fetch the log from a replica. If you know that only " +
                              file + "-end is the wrong one, remove that file",
                          false};
    }
    try {
        log.read_snapshot([](std::string_view) {});
    } catch (const store_error& e) {
        throw store_error{
            "nothing of the log " + file + " can be kept, because its beginning cannot be read: " + e.what(), false};
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
    throw store_error{file + " cannot be named " + name + ": " + std::generic_category().message(errno), true};
}

/// Gives the files of `anew` the names of `file`, and new names to the files of `file`. If this is interrupted, a start
/// refuses the remains. For that, SQLite's log is removed before its database, and the file that records the log's end
/// is replaced last.
std::string take_place(const std::string& file, const std::string& anew) {
    std::string kept_as = unused_name(file);
    name_too(file, kept_as);
    for (const char* const suffix : beside) name_too(file + suffix, kept_as + suffix);
    journal::synchronize_folder_of(file);
    std::filesystem::remove(file + "-wal");
    journal::put_in_place(file, anew);
    journal::put_in_place(file + "-end", anew + "-end");
    return kept_as;
}

}  // namespace

log_contents check_log(const std::string& file) {
    need_log(file);
    store log{file, on_damage::report};
    return contents_of(log);
}

log_repair repair_log(const std::string& file) {
    need_log(file);
    const std::string anew = file + "-repaired";
    log_repair done;
    {
        store log{file, on_damage::report};
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
        done.lost_upto = log.known_upto();
        done.kept_as = take_place(file, anew);
    }
    done.now = check_log(file);
    return done;
}

}  // namespace tutti::server

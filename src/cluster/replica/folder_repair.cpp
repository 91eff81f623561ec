// Replaces a damaged log by a log of all intact entries. The member may have acknowledged entries that are lost now.
// So, unless it is the only voter, it does not vote until it has all entries up to `max_acknowledged` again (FLD4 of
// folder.hpp, RFT5 of raft_node.hpp).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "cluster/backend/backend.hpp"
#include "cluster/replica/folder.hpp"
#include "cluster/replica/whole_file.hpp"

namespace tutti::cluster::replica {
namespace {

namespace fs = std::filesystem;

void write_new(const std::string& file, std::string_view bytes) {
    const int to = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool good = to >= 0;
    while (good && !bytes.empty()) {
        const ::ssize_t n = ::write(to, bytes.data(), bytes.size());
        good = n > 0;
        if (good) bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    good = good && ::fsync(to) == 0;
    const int error = errno;
    if (to >= 0) ::close(to);
    if (!good) throw backend::engine_error{file + " cannot be written: " + std::generic_category().message(error)};
}

void rename_to(const std::string& from, const std::string& to) {
    if (std::rename(from.c_str(), to.c_str()) != 0)
        throw backend::engine_error{from + " cannot be renamed to " + to + ": " +
                                    std::generic_category().message(errno)};
}

std::string unused_name(const std::string& log) {
    for (unsigned n = 1;; ++n) {
        std::string name = log + "-damaged-" + std::to_string(n);
        if (!fs::exists(name)) return name;
    }
}

std::string metadata_of(std::uint64_t term, std::uint64_t vote) {
    const std::uint64_t words[] = {1, 1, term, vote};
    return {reinterpret_cast<const char*>(words), sizeof words};
}

void write_log(const std::string& to, const std::string& from, const folder_contents& found,
               const durable_promises& p) {
    std::error_code failed;
    fs::remove_all(to, failed);
    if (!failed) fs::create_directory(to, failed);
    if (failed) throw backend::engine_error{to + " cannot be created: " + failed.message()};
    write_new(to + "/metadata1", metadata_of(p.term, p.vote));
    if (!found.snapshot.empty()) {
        for (const char* const part : {"", ".meta"})
            write_new(to + "/" + found.snapshot + part, *read_whole(from + "/" + found.snapshot + part));
    }
    for (const folder_contents::piece& one : found.pieces) {
        char name[64];
        std::snprintf(name, sizeof name, "%016llu-%016llu", static_cast<unsigned long long>(one.first),
                      static_cast<unsigned long long>(one.last));
        const std::string bytes = *read_whole(from + "/" + one.name);
        write_new(to + "/" + name, std::string_view{bytes}.substr(0, one.bytes));
    }
    sync_folder_of(to + "/metadata1");
}

/// Returns the reason why a member cannot continue with the intact part of its data, or an empty text if the member can
/// continue.
std::string hopeless(const folder_contents& found, const durable_promises& p) {
    if (found.snapshot_is_damaged) return "its snapshot cannot be read";
    if (found.first > found.snapshot_index + 1 && found.last >= found.first)
        return "entries behind its snapshot are missing";
    if (!found.metadata_is_sound && !found.known) return "its term and vote are lost";
    if (found.last < found.first && found.snapshot.empty()) return "no entry of its log can be read";
    // A member whose log names only itself as a voter becomes leader at once, although other members may have continued
    // without it.
    if (p.voters != 1 && found.voters <= 1) return "the remaining data does not name the other members";
    return {};
}

}  // namespace

std::string damage_of_member(const std::string& folder, const folder_contents& found) {
    std::string all;
    for (const std::string& line : found.damage) all += line + ". ";
    return all +
           "Nothing was changed, and this member does not start. If the others are a majority, replace this member: "
           "remove it with 'tutti member remove', and start a new one with an empty folder and --join. Or run 'tutti "
           "log repair " +
           folder + "', which keeps the whole entries; 'tutti log check' reports them";
}

folder_repair repair_folder(const std::string& folder, bool promised) {
    const folder_names names{folder};
    const folder_contents found = read_folder(folder, promised);
    if (found.damage.empty()) return {};
    durable_promises p = found.known.value_or(durable_promises{.term = found.term, .vote = found.vote});
    if (const std::string why = hopeless(found, p); !why.empty()) {
        throw backend::engine_error{names.log() + " cannot be repaired, because " + why +
                                    ". Nothing was changed. Remove this member with 'tutti member remove', and start a "
                                    "new one with an empty folder and --join"};
    }
    const std::uint64_t has = std::max(found.last, found.snapshot_index);
    folder_repair done{unused_name(names.log()), false, found.max_acknowledged};
    done.awaits_lost_entries = found.max_acknowledged > has && p.voters != 1;
    p.last = has;
    if (done.awaits_lost_entries) p.lost_upto = std::max(p.lost_upto, found.max_acknowledged);
    p.changing = false;
    const std::string made = names.log() + "-repaired";
    write_log(made, names.log(), found, p);
    // If a crash interrupts these steps, the next start finds no log, or fewer entries than before, and fails.
    if (fs::exists(names.log())) rename_to(names.log(), done.kept_as);
    rename_to(made, names.log());
    sync_folder_of(names.log());
    durable_record::begin(names.durable(), p);
    return done;
}

}  // namespace tutti::cluster::replica

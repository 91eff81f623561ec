// The public interface to a member's folder: its contents, and the repair of a damaged log.
#include <algorithm>
#include <filesystem>

#include "cluster/backend/backend.hpp"
#include "cluster/replica/data_directory.hpp"
#include "cluster/replica/folder.hpp"
#include "tutti/cluster/member.hpp"

namespace tutti::cluster {
namespace {

/// A member's folder, locked so that no member can run in it.
struct taken {
    explicit taken(const std::string& folder) {
        if (!std::filesystem::exists(folder + "/member"))
            throw backend::engine_error{"no member lives in " + folder + ": it has no file 'member'"};
        at.emplace(folder);
        static_cast<void>(at->read_identity(who));
    }
    std::optional<replica::data_directory> at;
    replica::identity who;
};

member_log contents_of(const taken& here) {
    const replica::folder_contents found = replica::read_folder(here.at->folder(), here.who.has_durable_record);
    member_log all{.id = here.who.id,
                   .group = here.who.group,
                   .term = found.term,
                   .snapshot = found.snapshot_index,
                   .snapshot_bytes = found.snapshot_bytes,
                   .first = found.first,
                   .last = found.last,
                   .bytes = found.bytes,
                   .lost_upto = found.known ? found.known->lost_upto : 0,
                   .damage = found.damage,
                   .notes = found.notes};
    for (const replica::torn_end& t : found.torn) {
        all.notes.push_back(t.file + " has a torn end from byte " + std::to_string(t.keep) +
                            " on, as a crash leaves it, which a start cuts off");
    }
    return all;
}

}  // namespace

member_log check_member_folder(const std::string& folder) try {
    return contents_of(taken{folder});
} catch (const backend::engine_error& r) {
    throw member_error{std::string{"tutti: "} + r.what()};
}

member_repair repair_member_folder(const std::string& folder) try {
    const taken here{folder};
    const replica::folder_repair done = replica::repair_folder(folder, here.who.has_durable_record);
    return {contents_of(here), done.lost, done.kept_as, done.awaits_lost_entries};
} catch (const backend::engine_error& r) {
    throw member_error{std::string{"tutti: "} + r.what()};
}

}  // namespace tutti::cluster

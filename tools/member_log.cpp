// `tutti log` for the folder of a member.
#include <fmt/format.h>

#include <algorithm>

#include <tutti/cluster/member.hpp>

#include "cli/program.hpp"
#include "log.hpp"

namespace tutti::tools {
namespace {

void print(const cluster::member_log& log) {
    fmt::print("member        {} of group {}, term {}\n", log.id, log.group, log.term);
    if (log.snapshot != 0)
        fmt::print("snapshot      the entries up to {}, {} bytes\n", log.snapshot, log.snapshot_bytes);
    else fmt::print("snapshot      none\n");
    if (log.last >= log.first) fmt::print("entries       {} to {}, {} bytes\n", log.first, log.last, log.bytes);
    else fmt::print("entries       none{}\n", log.snapshot != 0 ? " behind the snapshot" : "");
    if (log.lost_upto != 0)
        fmt::print("missing       the entries up to {}: the member does not vote until it has them\n", log.lost_upto);
    for (const std::string& line : log.notes) fmt::print("note          {}\n", line);
    for (const std::string& line : log.damage) fmt::print("damage        {}\n", line);
}

int check(const std::string& folder) {
    const cluster::member_log log = cluster::check_member_folder(folder);
    print(log);
    fmt::print("{}\n", log.damage.empty() ? "The log is whole." : "The log is damaged.");
    return log.damage.empty() ? cli::success : cli::failed;
}

int repair(const std::string& folder) {
    const cluster::member_repair done = cluster::repair_member_folder(folder);
    print(done.now);
    if (done.kept_as.empty()) {
        fmt::print("The log is whole; nothing was changed.\n");
        return cli::success;
    }
    const std::uint64_t has = std::max(done.now.last, done.now.snapshot);
    if (done.lost_upto > has) fmt::print("lost          the entries from {} to {}\n", has + 1, done.lost_upto);
    else fmt::print("lost          no entry that is known of\n");
    if (done.awaits_lost_entries)
        fmt::print("The member does not vote until the leader has given it the lost entries again.\n");
    fmt::print("The log has all that could be read. As it was it is {}.\n", done.kept_as);
    return cli::success;
}

}  // namespace

int check_or_repair_member_log(const log_options& options) {
    return options.action == log_options::action_kind::check ? check(options.file) : repair(options.file);
}

}  // namespace tutti::tools

#include "log.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "cli/program.hpp"
#include "tutti/server/log.hpp"

namespace tutti::tools {
namespace {

void print(const server::log_contents& log) {
    if (log.snapshot > 1) fmt::print("snapshot      the calls before {}, {} bytes\n", log.snapshot, log.snapshot_bytes);
    else fmt::print("snapshot      none\n");
    if (log.end > log.snapshot) fmt::print("calls         {} to {}, {} bytes\n", log.snapshot, log.end - 1, log.bytes);
    else fmt::print("calls         none{}\n", log.snapshot > 1 ? " behind the snapshot" : "");
    fmt::print("replies       {} of calls with an ID\n", log.answers);
    for (const std::string& line : log.damage) fmt::print("damage        {}\n", line);
}

int check(const std::string& file) {
    const server::log_contents log = server::check_log(file);
    print(log);
    fmt::print("{}\n", log.damage.empty() ? "The log is whole." : "The log is damaged.");
    return log.damage.empty() ? cli::success : cli::failed;
}

int repair(const std::string& file) {
    const server::log_repair done = server::repair_log(file);
    print(done.now);
    if (done.kept_as.empty()) {
        fmt::print("The log is whole; nothing was changed.\n");
        return cli::success;
    }
    if (done.lost_upto >= done.now.end)
        fmt::print("lost          the calls from {} to {}\n", done.now.end, done.lost_upto);
    else fmt::print("lost          no call that is known of\n");
    fmt::print("The log has all that could be read. The files as they were are {}*.\n", done.kept_as);
    return cli::success;
}

}  // namespace

int check_or_repair_log(const log_options& options) {
    if (std::filesystem::is_directory(options.file)) return check_or_repair_member_log(options);
    return options.action == log_options::action_kind::check ? check(options.file) : repair(options.file);
}

}  // namespace tutti::tools

#include "operator_log.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tutti::tools {
namespace {

std::string_view name_of(server::severity how) {
    switch (how) {
        case server::severity::info: return "info";
        case server::severity::warning: return "warning";
        default: return "error";
    }
}

std::string as_json(server::severity how, const std::string& line) {
    using namespace std::chrono;
    const auto now = floor<milliseconds>(system_clock::now());
    const auto seconds_part = floor<seconds>(now);
    nlohmann::ordered_json all;
    all["time"] = fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(system_clock::to_time_t(seconds_part)),
                              (now - seconds_part).count());
    all["level"] = name_of(how);
    all["message"] = line;
    return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string whole(bool as_json_line, server::severity how, const std::string& line) {
    const bool plain = how == server::severity::info;
    return (as_json_line ? as_json(how, line) : plain ? line : "tutti: " + line) + '\n';
}

bool are_one_file(int a, int b) {
    struct stat one{}, other{};
    return ::fstat(a, &one) == 0 && ::fstat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

}  // namespace

operator_log::operator_log(bool as_json, server::severity least) : as_json_{as_json}, least_{least} {
    const auto writer_to = [as_json](int descriptor) {
        return std::make_shared<server::line_writer>(descriptor, [as_json](std::uint64_t lines) {
            return whole(as_json, server::severity::warning,
                         fmt::format("{} {} could not be written before this one, and {} lost", lines,
                                     lines == 1 ? "line" : "lines", lines == 1 ? "is" : "are"));
        });
    };
    error_ = writer_to(STDERR_FILENO);
    output_ = are_one_file(STDOUT_FILENO, STDERR_FILENO) ? error_ : writer_to(STDOUT_FILENO);
}

void operator_log::write(server::severity how, const std::string& line) const {
    if (how < least_) return;
    (how == server::severity::info ? *output_ : *error_).write(whole(as_json_, how, line));
}

void operator_log::flush(std::chrono::milliseconds longest) const noexcept {
    const auto until = std::chrono::steady_clock::now() + longest;
    static_cast<void>(error_->flush(longest));
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    static_cast<void>(output_->flush(std::max(left, std::chrono::milliseconds{0})));
}

}  // namespace tutti::tools

#include "messages.hpp"

#include <stdio_ext.h>

#include <chrono>
#include <cstdio>
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

}  // namespace

void messages::say(server::severity how, const std::string& line) const {
    if (how < least_) return;
    std::FILE* const to = how == server::severity::info ? stdout : stderr;
    // In one piece: others write, too.
    const bool plain = how == server::severity::info;
    const std::string whole = (as_json_ ? as_json(how, line) : plain ? line : "tutti: " + line) + '\n';
    std::fwrite(whole.data(), 1, whole.size(), to);
    if (std::fflush(to) == 0) return;
    // A full disk loses the line, and neither the next one nor the server.
    ::__fpurge(to);
    std::clearerr(to);
}

}  // namespace tutti::tools

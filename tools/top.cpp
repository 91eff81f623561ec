#include "top.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "connection.hpp"
#include "refresh.hpp"

namespace tutti::tools {
namespace {

std::string text_of(const info_fields& from, const std::string& key) {
    const auto found = from.find(key);
    return found == from.end() ? "0" : found->second;
}

double number_of(const info_fields& from, const std::string& key) { return std::atof(text_of(from, key).c_str()); }

double growth(const info_fields& before, const info_fields& now, const std::string& key) {
    return number_of(now, key) - number_of(before, key);
}

std::string head_of(const info_fields& before, const info_fields& now, double seconds) {
    std::string head = fmt::format("up {} s, {} clients, {} running; waiting", text_of(now, "uptime_in_seconds"),
                                   text_of(now, "connected_clients"), text_of(now, "running"));
    bool any = false;
    for (const auto& [key, value] : now) {
        if (!key.starts_with("queued_")) continue;
        any = true;
        head += fmt::format(" {} at priority {}", value, key.substr(7));
    }
    head += any ? "\n" : " none\n";
    const auto rate = [&](const char* key) { return growth(before, now, key) / seconds; };
    head += fmt::format("preemptions/s {:.0f}, priority boosts/s {:.0f}, parkings/s {:.0f}\n", rate("preemptions"),
                        rate("priority_boosts"), rate("parkings"));
    constexpr std::string_view prefix = "aborts/";
    if (!now.contains("commits")) return head + "\n";
    head += fmt::format("commits/s {:.0f}; aborts/s", rate("commits"));
    any = false;
    for (const auto& [key, value] : now) {
        if (!key.starts_with(prefix) || growth(before, now, key) == 0) continue;
        head += fmt::format("{} {} {:.0f}", any ? "," : "", key.substr(prefix.size()), rate(key.c_str()));
        any = true;
    }
    return head + (any ? "\n\n" : " none\n\n");
}

std::string turnarounds_of(const info_fields& before, const info_fields& now, double seconds) {
    constexpr std::string_view prefix = "turnaround_", suffix = "/calls";
    std::string table = fmt::format("{:<24} {:>8} {:>12} {:>12} {:>10} {:>10} {:>10}\n", "procedure", "priority",
                                    "calls/s", "mean us", "p50 us", "p99 us", "p99.9 us");
    for (const auto& [key, value] : now) {
        if (!key.starts_with(prefix) || !key.ends_with(suffix)) continue;
        const std::string base = key.substr(0, key.size() - suffix.size());
        const std::size_t last = base.rfind('_');
        const double calls = growth(before, now, key);
        const double sum = growth(before, now, base + "/sum_us");
        table += fmt::format("{:<24} {:>8} {:>12.0f} {:>12.0f} {:>10} {:>10} {:>10}\n",
                             base.substr(prefix.size(), last - prefix.size()), base.substr(last + 1), calls / seconds,
                             calls > 0 ? sum / calls : 0.0, text_of(now, base + "/p50_us"),
                             text_of(now, base + "/p99_us"), text_of(now, base + "/p999_us"));
    }
    return table;
}

/// Lists calls that did not end with OK.
std::string outcomes_of(const info_fields& before, const info_fields& now, double seconds) {
    constexpr std::string_view prefix = "procedure_";
    std::string table;
    for (const auto& [key, value] : now) {
        const std::size_t slash = key.rfind('/');
        if (!key.starts_with(prefix) || slash == std::string::npos || value == "0" || key.ends_with("/OK")) continue;
        if (table.empty())
            table = fmt::format("\n{:<24} {:<14} {:>8} {:>12}\n", "procedure", "outcome", "calls/s", "in all");
        table += fmt::format("{:<24} {:<14} {:>8.0f} {:>12}\n", key.substr(prefix.size(), slash - prefix.size()),
                             key.substr(slash + 1), growth(before, now, key) / seconds, value);
    }
    return table;
}

}  // namespace

info_fields parse_info(std::string_view text) {
    info_fields all;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find("\r\n"));
        text.remove_prefix(std::min(text.size(), line.size() + 2));
        const std::size_t colon = line.rfind(':');
        if (line.starts_with('#') || colon == std::string_view::npos) continue;
        const std::string key{line.substr(0, colon)};
        std::string_view value = line.substr(colon + 1);
        if (value.find('=') == std::string_view::npos) {
            all[key] = value;
            continue;
        }
        while (!value.empty()) {
            const std::string_view part = value.substr(0, value.find(','));
            value.remove_prefix(std::min(value.size(), part.size() + 1));
            const std::size_t equals = part.find('=');
            all[key + "/" + std::string{part.substr(0, equals)}] = part.substr(equals + 1);
        }
    }
    return all;
}

std::string table_of(const info_fields& before, const info_fields& now, double seconds) {
    return head_of(before, now, seconds) + turnarounds_of(before, now, seconds) + outcomes_of(before, now, seconds) +
           "\ncalls/s and mean since the last report, percentiles since the server's start\n";
}

void top(const top_options& options) {
    connection server{options.to};
    refresh(options.schedule, [&server] { return parse_info(server.request({"INFO"})); }, table_of);
}

}  // namespace tutti::tools

#include "api/report/statistics.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <ostream>

#include "core/ports/policy.hpp"
#include "core/state/descriptor.hpp"
#include "observe/histogram.hpp"

namespace tutti {
namespace {

template <class F>
void for_each_counters(F&& f) {
    const std::uint32_t count = memory::status_record_count();
    for (std::uint32_t id = 0; id < count; ++id) f(core::descriptor::of(memory::status_record_of(id)).counters);
}

std::string label(const site_statistics& s) {
    if (!s.name.empty()) return s.name;
    const std::size_t slash = s.file.rfind('/');
    return s.file.substr(slash == std::string::npos ? 0 : slash + 1) + ':' + std::to_string(s.line);
}

/// Returns the most frequent cause of aborts, for the table.
std::string main_cause(const site_statistics& s) {
    if (s.aborts == 0) return "-";
    const auto top = std::max_element(s.aborts_by_cause.begin(), s.aborts_by_cause.end());
    return std::string{name_of(static_cast<abort_cause>(top - s.aborts_by_cause.begin()))};
}

/// Prints the second table, if any block has a deadline.
void print_deadlines(std::ostream& to, const std::vector<site_statistics>& all) {
    char line[256];
    const auto row = [&](const auto&... columns) {
        std::snprintf(line, sizeof line, "%-28s %12s %12s %12s %12s %12s %12s\n", columns...);
        to << line;
    };
    bool titled = false;
    for (const site_statistics& s : all) {
        if (api::sum_of(s.deadlines_met) + api::sum_of(s.deadlines_missed) + s.deadlines_refused == 0) continue;
        if (!titled) row("site with deadlines", "met", "missed", "refused", "optimistic", "visible", "irrevocable");
        titled = true;
        const auto committed_in = [&](mode m) {
            const auto i = static_cast<std::size_t>(m);
            return std::to_string(s.deadlines_met[i] + s.deadlines_missed[i]);
        };
        row(label(s).c_str(), std::to_string(api::sum_of(s.deadlines_met)).c_str(),
            std::to_string(api::sum_of(s.deadlines_missed)).c_str(), std::to_string(s.deadlines_refused).c_str(),
            committed_in(mode::optimistic).c_str(), committed_in(mode::visible).c_str(),
            committed_in(mode::irrevocable).c_str());
    }
}

/// Prints the third table, if any block has run in hardware.
void print_hardware(std::ostream& to, const std::vector<site_statistics>& all) {
    bool titled = false;
    for (const site_statistics& s : all) {
        if (s.hardware_commits == 0 && api::sum_of(s.hardware_aborts) == 0) continue;
        char line[256];
        if (!titled) {
            std::snprintf(line, sizeof line, "%-28s %12s %12s  %s\n", "site in hardware", "commits", "aborts",
                          "by reason");
            to << line;
        }
        titled = true;
        std::snprintf(line, sizeof line, "%-28s %12s %12s ", label(s).c_str(),
                      std::to_string(s.hardware_commits).c_str(),
                      std::to_string(api::sum_of(s.hardware_aborts)).c_str());
        to << line;
        for (std::size_t i = 0; i < s.hardware_aborts.size(); ++i) {
            if (s.hardware_aborts[i] != 0)
                to << ' ' << name_of(static_cast<hardware_abort>(i)) << ' ' << s.hardware_aborts[i];
        }
        to << '\n';
    }
}

/// Prints the fourth table, if any block has conflicted with another one.
void print_conflicting_sites(std::ostream& to, const std::vector<site_statistics>& all) {
    char line[256];
    const auto row = [&](const auto&... columns) {
        std::snprintf(line, sizeof line, "%-28s %12s %-22s %-28s\n", columns...);
        to << line;
    };
    bool titled = false;
    for (const site_statistics& s : all) {
        for (const conflicting_site_statistics& r : s.conflicting_sites) {
            const auto other = std::ranges::find(all, r.site, &site_statistics::id);
            if (!titled) row("site", "rolled back", "for", "against");
            titled = true;
            row(label(s).c_str(), std::to_string(r.aborts).c_str(), std::string{name_of(r.cause)}.c_str(),
                other != all.end() ? label(*other).c_str() : "?");
        }
    }
}

}  // namespace

namespace api {

std::uint64_t duration_percentile(const site_statistics& s, double q) noexcept {
    return observe::percentile(s.durations, q, [](std::size_t bucket) { return std::uint64_t{2} << bucket; });
}

}  // namespace api

void enable_statistics(bool on) {
    if (observe::counting.exchange(on, std::memory_order_relaxed) == on) return;
    if (on) core::listen();
    else core::stop_listening();
}

std::vector<site_statistics> statistics() {
    std::vector<site_statistics> sums(observe::sites());
    for_each_counters([&](const observe::transaction_counters& l) { l.add_to(sums); });
    for (std::uint32_t id = 0; id < sums.size(); ++id) {
        const observe::site& s = observe::site_number(id);
        sums[id].id = id;
        sums[id].aborts =
            std::accumulate(sums[id].aborts_by_cause.begin(), sums[id].aborts_by_cause.end(), std::uint64_t{0});
        sums[id].name = s.name;
        sums[id].file = s.file;
        sums[id].function = s.function;
        sums[id].line = s.line;
        if (const char* reason = s.irrevocable_reason.load(std::memory_order_relaxed))
            sums[id].irrevocable_reason = reason;
    }
    std::erase_if(sums, [](const site_statistics& s) {
        return s.commits + s.aborts + s.partial_rollbacks + s.deadlines_refused == 0;
    });
    std::sort(sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.commits > b.commits; });
    for (site_statistics& s : sums)
        std::ranges::sort(s.conflicting_sites, std::ranges::greater{}, &conflicting_site_statistics::aborts);
    return sums;
}

void reset_statistics() {
    for_each_counters([](observe::transaction_counters& l) { l.reset(); });
}

void print_statistics(std::ostream& to) {
    char line[256];
    const auto row = [&](const auto&... columns) {
        std::snprintf(line, sizeof line, "%-28s %12s %12s %-22s %12s %11s %10s %10s\n", columns...);
        to << line;
    };
    row("site", "commits", "aborts", "mostly", "partial", "irrevocable", "p50 us <", "p99 us <");
    const auto all = statistics();
    for (const site_statistics& s : all) {
        const auto microseconds = [&](double q) {
            const std::uint64_t ns = api::duration_percentile(s, q);
            if (ns == 0) return std::string{"-"};
            char text[32];
            std::snprintf(text, sizeof text, "%.1f", static_cast<double>(ns) / 1000.0);
            return std::string{text};
        };
        row(label(s).c_str(), std::to_string(s.commits).c_str(), std::to_string(s.aborts).c_str(),
            main_cause(s).c_str(), std::to_string(s.partial_rollbacks).c_str(), std::to_string(s.irrevocable).c_str(),
            microseconds(0.5).c_str(), microseconds(0.99).c_str());
    }
    print_deadlines(to, all);
    print_hardware(to, all);
    print_conflicting_sites(to, all);
}

}  // namespace tutti

#include "tpcc/terminals/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tpcc::terminals {
namespace {

double microseconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }
double share(std::uint64_t of, std::uint64_t in) {
    return in == 0 ? 0 : static_cast<double>(of) / static_cast<double>(in);
}

std::uint64_t errors_of(const call_statistics& t) {
    std::uint64_t all = 0;
    for (const auto& [code, count] : t.errors) all += count;
    return all;
}

/// Returns the growth of a figure, summed over all reachable servers.
template <class Figure>
std::uint64_t growth(const std::vector<server_report>& servers, Figure&& figure) {
    std::uint64_t all = 0;
    for (const server_report& s : servers) {
        if (s.before && s.after) all += figure(*s.after) - figure(*s.before);
    }
    return all;
}

std::string within(std::string_view what, std::uint64_t acknowledged, std::uint64_t unknown, std::uint64_t there,
                   bool& holds) {
    const bool fits = there >= acknowledged && there - acknowledged <= unknown;
    holds = holds && fits;
    return fmt::format("{} {} acknowledged, {} unknown, {} there{}\n", acknowledged, what, unknown, there,
                       fits ? "" : ": THEY DIFFER");
}

}  // namespace

std::string profile_table(const result& r, const std::vector<server_report>& servers) {
    std::string out =
        fmt::format("{:<14}{:>10}{:>13}{:>9}{:>11}{:>11}{:>11}{:>11}{:>18}\n", "profile", "answered", "rolled back",
                    "errors", "mean us", "p50 us", "p99 us", "p99.9 us", "restarts by calls");
    std::uint64_t answered = 0;
    std::map<std::string, std::uint64_t> errors;
    for (std::size_t p = 0; p < profile_count; ++p) {
        const call_statistics& t = r.profiles[p];
        const std::uint64_t executions = growth(servers, [p](const server_figures& f) { return f.executions[p]; });
        const std::uint64_t restarts = growth(servers, [p](const server_figures& f) { return f.restarts[p]; });
        out += fmt::format("{:<14}{:>10}{:>13}{:>9}{:>11.0f}{:>11.0f}{:>11.0f}{:>11.0f}{:>18.4f}\n", profile_names[p],
                           t.answered, t.rolled_back, errors_of(t), share(t.nanoseconds, t.answered) / 1000,
                           microseconds(t.turnaround.percentile(0.5)), microseconds(t.turnaround.percentile(0.99)),
                           microseconds(t.turnaround.percentile(0.999)), share(restarts, executions));
        answered += t.answered;
        for (const auto& [code, count] : t.errors) errors[code] += count;
    }
    const call_statistics& orders = r.profiles[static_cast<std::size_t>(profile::new_order)];
    out += fmt::format("{:.0f} calls a second, {:.0f} New-Orders a minute (without think times, so not tpmC)\n",
                       static_cast<double>(answered) / r.seconds,
                       static_cast<double>(orders.answered - orders.rolled_back) * 60 / r.seconds);
    for (const auto& [code, count] : errors) out += fmt::format("errors: {} {}\n", count, code);
    if (r.servers_gone != 0) out += fmt::format("{} terminals ended with their server\n", r.servers_gone);
    if (r.unanswered != 0) out += fmt::format("{} calls were NOT ANSWERED within a minute\n", r.unanswered);
    return out;
}

std::string server_table(const std::vector<server_report>& servers) {
    std::string out = fmt::format("{:<24}{:>6}{:>11}{:>10}{:>10}{:>9}{:>10}{:>9}{:>12}\n", "server", "node",
                                  "forwarded", "received", "declined", "unknown", "commits", "aborts", "round trips");
    for (const server_report& s : servers) {
        if (!s.after) {
            out += fmt::format("{:<24}  gone\n", s.at.text());
            continue;
        }
        const auto grew = [&s](std::uint64_t server_figures::* f) {
            return (*s.after).*f - (s.before ? (*s.before).*f : 0);
        };
        out +=
            fmt::format("{:<24}{:>6}{:>11}{:>10}{:>10}{:>9}{:>10}{:>9}{:>12}\n", s.at.text(), s.after->node,
                        grew(&server_figures::forwarded), grew(&server_figures::received),
                        grew(&server_figures::declined), grew(&server_figures::unknown), grew(&server_figures::commits),
                        grew(&server_figures::aborts), grew(&server_figures::round_trips));
    }
    const std::uint64_t calls = growth(servers, [](const server_figures& f) {
        std::uint64_t all = 0;
        for (const std::uint64_t n : f.executions) all += n;
        return all;
    });
    const std::uint64_t forwarded = growth(servers, [](const server_figures& f) { return f.forwarded; });
    const std::uint64_t trips = growth(servers, [](const server_figures& f) { return f.round_trips; });
    return out + fmt::format("{:.3f} of the calls forwarded, {:.3f} round trips a call\n", share(forwarded, calls),
                             share(trips, calls));
}

comparison compare(const result& r, const std::vector<std::optional<warehouse_counts>>& before,
                   const std::vector<std::optional<warehouse_counts>>& after) {
    comparison made;
    std::vector<std::size_t> gone;
    ledger all;
    warehouse_counts there;
    for (std::size_t i = 0; i < after.size(); ++i) {
        if (!after[i] || !before[i]) {
            gone.push_back(i + 1);
            continue;
        }
        const ledger& l = r.warehouses[i];
        const warehouse_counts grew{after[i]->orders - before[i]->orders, after[i]->payments - before[i]->payments};
        // Checks each warehouse, so that an excess in one does not hide a loss in another.
        bool holds = true;
        const std::string orders = within("New-Orders", l.orders, l.unknown_orders, grew.orders, holds);
        const std::string paid = within("Payments", l.payments, l.unknown_payments, grew.payments, holds);
        if (!holds) made.text += fmt::format("warehouse {}: {}              {}", i + 1, orders, paid);
        made.holds = made.holds && holds;
        all.orders += l.orders, all.unknown_orders += l.unknown_orders;
        all.payments += l.payments, all.unknown_payments += l.unknown_payments;
        there.orders += grew.orders, there.payments += grew.payments;
    }
    if (!gone.empty())
        made.text += fmt::format("rows of warehouses {} are gone with their server\n", fmt::join(gone, ", "));
    if (gone.size() == after.size()) return made;
    bool unused = true;
    made.text += within("New-Orders", all.orders, all.unknown_orders, there.orders, unused);
    made.text += within("Payments", all.payments, all.unknown_payments, there.payments, unused);
    return made;
}

}  // namespace tpcc::terminals

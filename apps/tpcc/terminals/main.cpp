// tutti-tpcc-terminals: see README.md.
#include <algorithm>
#include <cstdio>

#include "cli/options.hpp"
#include "tpcc/report.hpp"
#include "tpcc/terminals/report.hpp"

namespace {

using namespace tpcc;
using namespace tpcc::terminals;

struct wanted_run {
    plan how;
    bool near = false;
};

load::address address_of(const std::string& given) {
    const std::size_t colon = given.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == given.size())
        throw cli::command_line_error{fmt::format("give HOST:PORT of a server, not '{}'", given)};
    return {given.substr(0, colon), given.substr(colon + 1)};
}

std::variant<wanted_run, cli::help_text> plan_of(int argc, const char* const* argv) {
    CLI::App app{
        "Terminals of TPC-C at servers that are nodes of a cluster: the standard mix, without think times; and\n"
        "whether what was acknowledged is there, and the consistency conditions hold.",
        "tutti-tpcc-terminals"};
    app.footer("Exit status: 0 all is well, 1 a condition is violated or the run failed, 2 bad usage.");
    wanted_run options;
    plan& how = options.how;
    std::vector<std::string> servers;
    app.add_option("server", servers, "HOST:PORT of every server")->required();
    app.add_option("--terminals", how.of_warehouse, "Terminals of each warehouse")
        ->check(cli::within(1, 1000, "a number"))
        ->capture_default_str();
    app.add_option("--seconds", how.seconds, "Seconds to run")
        ->check(cli::within(0.01, 86'400.0, "a number"))
        ->capture_default_str();
    app.add_flag("--near", options.near,
                 "Send each call to the server that has its warehouse. Otherwise most calls are forwarded");
    app.add_option("--seed", how.seed, "Seed of the inputs")->capture_default_str();
    if (auto help = cli::parse(app, argc, argv, "tutti-tpcc-terminals --help")) return *help;
    for (const std::string& s : servers) how.servers.push_back(address_of(s));
    return options;
}

/// Returns, by warehouse, the server whose node runs its calls.
std::vector<std::size_t> nearest_of(const std::vector<server_report>& servers,
                                    const std::vector<std::uint64_t>& places) {
    std::vector<std::size_t> all;
    for (const std::uint64_t node : places) {
        const auto at =
            std::ranges::find_if(servers, [node](const server_report& s) { return s.before->node == node; });
        if (at == servers.end())
            throw cli::command_line_error{fmt::format("a warehouse is on node {}: name its server, too", node)};
        all.push_back(static_cast<std::size_t>(at - servers.begin()));
    }
    return all;
}

/// Prints the results. Returns false if something is broken.
bool inspect(const plan& how, const result& r, const std::vector<server_report>& servers,
             const std::vector<std::optional<warehouse_counts>>& before) {
    const auto after = count_rows(how.servers, static_cast<int>(before.size()));
    const comparison made = compare(r, before, after);
    fmt::print("\n{}", made.text);
    const bool lost = std::ranges::any_of(servers, [](const auto& s) { return s.after && s.after->nodes_lost != 0; });
    std::vector<warehouse_id> left;
    for (std::size_t i = 0; i < after.size() && lost; ++i) {
        if (after[i]) left.push_back(static_cast<warehouse_id>(i + 1));
    }
    if (lost && left.empty()) {
        fmt::print("of no warehouse all rows are left, so no condition can be compared\n");
        return made.holds;
    }
    const std::vector<verdict> verdicts = ask_conditions(how.servers, left);
    const std::string what = lost ? fmt::format("consistency of warehouses {}", fmt::join(left, ", ")) : "consistency";
    fmt::print("\n{}", consistency_table(what + " after the run (clause 3.3.2)", verdicts));
    return made.holds && all_hold(verdicts);
}

int run_terminals(wanted_run options) {
    plan& how = options.how;
    const load::served_scale size = load::ask_scale(how.servers.front());
    std::vector<server_report> servers;
    for (const load::address& s : how.servers) {
        servers.push_back({s, inspect_server(s), {}});
        if (!servers.back().before) throw std::runtime_error{"the server cannot be reached at " + s.text()};
    }
    const auto places = places_of(how.servers.front(), size.warehouses);
    if (options.near) how.nearest = nearest_of(servers, places);
    const auto before = count_rows(how.servers, size.warehouses);
    fmt::print("{} terminals at {} servers, {} warehouses on nodes {}\n", how.of_warehouse * size.warehouses,
               how.servers.size(), size.warehouses, fmt::join(places, " "));
    std::fflush(stdout);

    const result r = run(how, size);
    for (server_report& s : servers) s.after = inspect_server(s.at);
    fmt::print("\n{}\n{}", profile_table(r, servers), server_table(servers));
    const bool well = inspect(how, r, servers, before);
    return well && r.unanswered == 0 ? cli::success : cli::failed;
}

}  // namespace

int main(int argc, char** argv) {
    return cli::run_program(
        "tutti-tpcc-terminals", "give less to --terminals", [&] { return plan_of(argc, argv); },
        [](const wanted_run& options) { return run_terminals(options); });
}

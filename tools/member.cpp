#include "member.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include <tutti/cluster/errors.hpp>
#include <tutti/cluster/groups.hpp>
#include <tutti/cluster/member.hpp>

#include "cli/program.hpp"
#include "operator_log.hpp"
#include "operator_signals.hpp"
#include "systemd_notify.hpp"

namespace tutti::tools {
namespace {

using server::severity;
using member_severity = cluster::member::severity;

cluster::tls_options tls_of(const member_command_options& options) {
    return {.certificate = options.tls.certificate,
            .key = options.tls.key,
            .authority = options.tls.authority,
            .minimum_version = options.tls.minimum_version,
            .ciphers = options.tls.ciphers,
            .ciphersuites = options.tls.ciphersuites};
}

std::chrono::milliseconds milliseconds(double seconds) {
    return std::chrono::milliseconds{static_cast<long long>(seconds * 1000)};
}

int run_member(const member_command_options& options) {
    const operator_log log{options.json, severity::info};
    const flush_at_end at_end{log};
    const auto say = [&](member_severity how, const std::string& line) {
        constexpr severity levels[] = {severity::info, severity::warning, severity::error};
        log.write(levels[static_cast<std::size_t>(how)], line);
    };
    std::optional<systemd_notifier> supervisor{std::in_place};  // constructed before other threads exist
    operator_signals signals{log,
                             "SIGHUP changes nothing: a member has no configuration to reload, and reloads changed "
                             "certificates before the next connection"};
    cluster::member here{{.data_dir = options.data_dir,
                          .address = options.address,
                          .new_group = options.new_group,
                          .join = options.group,
                          .election_timeout = milliseconds(options.election_timeout),
                          .tls = tls_of(options),
                          .group_name = options.name,
                          .advertise = options.advertise,
                          .metrics = options.metrics,
                          .snapshot_bytes = options.snapshot_bytes},
                         say};
    if (here.metrics_port() != 0)
        say(member_severity::info, fmt::format("metrics on port {} of loopback", here.metrics_port()));
    signals.begin_serving();
    supervisor->ready();
    supervisor->start_watchdog([&here, last = std::uint64_t{0}]() mutable {
        const std::uint64_t before = std::exchange(last, here.loop_iterations());
        return last != before;
    });
    const std::jthread ending{[&](const std::stop_token& over) {
        while (!over.stop_requested() && !signals.end_requested())
            std::this_thread::sleep_for(std::chrono::milliseconds{20});
        if (signals.end_requested()) here.stop();
    }};
    here.run();
    supervisor->stopping();
    say(member_severity::info, "ended");
    return cli::success;
}

void print_json(const cluster::group_status& all) {
    nlohmann::ordered_json out{{"group", all.group}, {"leader", all.leader}, {"error", all.error}};
    out["members"] = nlohmann::ordered_json::array();
    for (const cluster::member_status& m : all.members) {
        out["members"].push_back({{"id", m.id},
                                  {"address", m.address},
                                  {"votes", m.votes},
                                  {"state", m.state},
                                  {"error", m.error},
                                  {"term", m.term},
                                  {"last_index", m.last_index},
                                  {"applied_index", m.applied_index},
                                  {"version", m.version},
                                  {"objects", m.objects},
                                  {"bytes", m.bytes},
                                  {"connections", m.connections},
                                  {"connections_rejected", m.connections_rejected},
                                  {"prepared", m.prepared}});
    }
    fmt::print("{}\n", out.dump(2));
}

void print_rows(const cluster::group_status& all) {
    fmt::print("{:<19}  {:<21} {:<9} {:>6} {:>10} {:>10} {:>10} {:>9} {:>11} {:>8} {:>8}\n", "member", "address", "is",
               "term", "log", "applied", "version", "objects", "bytes", "clients", "prepared");
    for (const cluster::member_status& m : all.members) {
        if (m.state.empty()) {
            fmt::print("{:<19}  {:<21} {}\n", m.id, m.address, m.error);
            continue;
        }
        fmt::print("{:<19}  {:<21} {:<9} {:>6} {:>10} {:>10} {:>10} {:>9} {:>11} {:>8} {:>8}\n", m.id, m.address,
                   m.votes ? m.state : "no voter", m.term, m.last_index, m.applied_index, m.version, m.objects, m.bytes,
                   m.connections, m.prepared);
    }
    for (const cluster::member_status& m : all.members) {
        if (!m.state.empty() && !m.error.empty()) fmt::print("{}: {}\n", m.address, m.error);
    }
    const auto voters = std::ranges::count_if(all.members, &cluster::member_status::votes);
    const auto up =
        std::ranges::count_if(all.members, [](const cluster::member_status& m) { return m.votes && !m.state.empty(); });
    if (2 * up <= voters)
        fmt::print("{} of {} voters answer, which is not a majority: commits wait until more voters answer\n", up,
                   voters);
    else if (all.leader.empty())
        fmt::print("the group has no leader; a majority of the voters answers, so they will elect one\n");
}

cluster::group_status ask(const member_command_options& options) {
    return cluster::query_group(options.group, milliseconds(options.timeout), tls_of(options), options.name);
}

int show_status(const member_command_options& options) {
    const cluster::group_status all = ask(options);
    if (!all.error.empty()) throw std::runtime_error{all.error};
    if (options.json) print_json(all);
    else print_rows(all);
    const bool well = !all.leader.empty() && std::ranges::all_of(all.members, [](const cluster::member_status& m) {
        return m.votes && m.error.empty();
    });
    return well ? cli::success : cli::failed;
}

int remove(const member_command_options& options) {
    const cluster::group_status all = ask(options);
    if (!all.error.empty()) throw std::runtime_error{all.error};
    const auto named = [&](const cluster::member_status& m) {
        return m.address == options.removed_member || std::to_string(m.id) == options.removed_member;
    };
    const auto found = std::ranges::find_if(all.members, named);
    if (found == all.members.end()) {
        throw cli::command_line_error{fmt::format(
            "'{}' is not a member of the group: 'tutti member status' lists the members", options.removed_member)};
    }
    if (std::ranges::count_if(all.members, named) > 1) {
        throw cli::command_line_error{
            fmt::format("'{}' is the address of several members: name one by its number", options.removed_member)};
    }
    cluster::remove_member(options.group, found->id, milliseconds(std::max(options.timeout, 10.0)), tls_of(options),
                           options.name);
    fmt::print("member {} at {} has left the group\n", found->id, found->address);
    return cli::success;
}

int readdress(const member_command_options& options) {
    std::vector<cluster::moved_address> all;
    for (const std::string& one : options.address_changes) {
        const std::size_t middle = one.find('=');
        if (middle == std::string::npos)
            throw cli::command_line_error{fmt::format("'{}': give OLD=NEW, two addresses of one member", one)};
        all.push_back({one.substr(0, middle), one.substr(middle + 1)});
    }
    cluster::readdress_member(options.data_dir, all);
    for (const cluster::moved_address& m : all) fmt::print("the member at {} is at {} now\n", m.from, m.to);
    return cli::success;
}

cluster::engine_options groups_of(const member_command_options& options) {
    return {.address = "tutti://" + options.groups,
            .prefix = options.prefix,
            .request_timeout = milliseconds(options.request_timeout),
            .tls = tls_of(options),
            .group_name = options.name};
}

void print_groups(const cluster::groups_status& all, bool json) {
    if (json) {
        nlohmann::ordered_json out{
            {"slots", all.slots}, {"moved", all.moved}, {"copied", all.copied}, {"bytes", all.bytes}};
        out["groups"] = nlohmann::ordered_json::array();
        for (const cluster::groups_status::group& g : all.groups) {
            out["groups"].push_back(
                {{"group", g.number}, {"addresses", g.addresses}, {"slots", g.slots}, {"left", g.has_left}});
        }
        fmt::print("{}\n", out.dump(2));
        return;
    }
    fmt::print("{:<20}  {:>5}  {}\n", "group", "slots", "addresses");
    for (const cluster::groups_status::group& g : all.groups)
        fmt::print("{:<20}  {:>5}  {}{}\n", g.number, g.slots, g.addresses, g.has_left ? " (has left)" : "");
}

int show_groups(const member_command_options& options) {
    print_groups(cluster::query_groups(groups_of(options)), options.json);
    return cli::success;
}

int rebalance(const member_command_options& options) {
    const cluster::groups_status all =
        cluster::rebalance(groups_of(options), {options.add, options.remove}, [&](const cluster::groups_status& now) {
            if (options.json) return;
            fmt::print("{} of {} slots moved: {} records, {} bytes\n", now.moved, now.slots, now.copied, now.bytes);
            std::fflush(stdout);
        });
    print_groups(all, options.json);
    return cli::success;
}

int force(const member_command_options& options) {
    cluster::member_options how;
    how.data_dir = options.data_dir;
    how.tls = tls_of(options);
    how.group_name = options.name;
    cluster::force_new_group(how);
    fmt::print("the member of {} is the only one of a new group: start it, and let others join\n", options.data_dir);
    return cli::success;
}

int snapshot(const member_command_options& options) {
    const cluster::objects_status all = cluster::save_objects(groups_of(options), options.file);
    fmt::print("{} objects, {} bytes, of version {}, are in {}\n", all.objects, all.bytes, all.version, options.file);
    return cli::success;
}

int restore(const member_command_options& options) {
    const cluster::objects_status all = cluster::restore_objects(groups_of(options), options.file);
    fmt::print("{} objects, {} bytes, of version {}, are in the group\n", all.objects, all.bytes, all.version);
    return cli::success;
}

std::string base64(std::string_view bytes) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t three = 0;
        for (std::size_t j = 0; j < 3; ++j)
            three = three << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
        for (std::size_t j = 0; j < 4; ++j) text += i + j <= bytes.size() ? digits[three >> (18 - 6 * j) & 63U] : '=';
    }
    return text;
}

int export_lines(const member_command_options& options) {
    static_cast<void>(cluster::export_objects(groups_of(options), [](const cluster::exported_object& one) {
        const nlohmann::ordered_json line{{"id", one.id}, {"version", one.version}, {"value", base64(one.value)}};
        fmt::print("{}\n", line.dump());
    }));
    if (std::fflush(stdout) != 0)
        throw std::runtime_error{fmt::format("standard output cannot be written: {}", std::strerror(errno))};
    return cli::success;
}

}  // namespace

int run_member_command(const member_command_options& options) {
    switch (options.action) {
        case member_command_options::action_kind::run: return run_member(options);
        case member_command_options::action_kind::status: return show_status(options);
        case member_command_options::action_kind::remove: return remove(options);
        case member_command_options::action_kind::groups: return show_groups(options);
        case member_command_options::action_kind::rebalance: return rebalance(options);
        case member_command_options::action_kind::readdress: return readdress(options);
        case member_command_options::action_kind::force: return force(options);
        case member_command_options::action_kind::snapshot: return snapshot(options);
        case member_command_options::action_kind::restore: return restore(options);
        case member_command_options::action_kind::export_: return export_lines(options);
    }
    return cli::failed;
}

}  // namespace tutti::tools

#include "tpcc/terminals/inspection.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string_view>

namespace tpcc::terminals {
namespace {

/// Returns f(server) of the first reachable server. Does not catch a refusal.
template <class F>
auto first_of(const std::vector<load::address>& servers, F&& f) {
    for (std::size_t i = 0;; ++i) {
        try {
            return f(servers[i]);
        } catch (const load::refused&) {
            throw;
        } catch (const std::runtime_error&) {
            if (i + 1 == servers.size()) throw;
        }
    }
}

/// Returns the number after `key:` in INFO, or 0 if the key is missing.
std::uint64_t figure(std::string_view info, std::string_view key) {
    for (std::size_t at = 0; (at = info.find(key, at)) != std::string_view::npos; at += key.size()) {
        if (at != 0 && info[at - 1] != '\n') continue;
        std::string_view rest = info.substr(at + key.size());
        if (!rest.starts_with(':')) continue;
        rest.remove_prefix(1);
        std::uint64_t n = 0;
        std::from_chars(rest.data(), rest.data() + rest.size(), n);
        return n;
    }
    return 0;
}

std::string text_of(const redisReply& r) { return {r.str, r.len}; }

verdict shown_verdict(const redisReply& row) {
    if (row.type != REDIS_REPLY_ARRAY || row.elements != 4)
        throw std::runtime_error{"the server's answer to CALL check is none of this version"};
    const auto number = [&row](std::size_t i) { return static_cast<std::uint64_t>(row.element[i]->integer); };
    verdict v = verdict_of(static_cast<int>(number(0)));
    v.compared = number(1);
    v.violated = number(2);
    v.first_violation = text_of(*row.element[3]);
    return v;
}

}  // namespace

std::optional<server_figures> inspect_server(const load::address& server) try {
    server_figures f;
    const load::answer got = load::ask(server, {"INFO"});
    const std::string_view info{got->str, got->len};
    f.node = figure(info, "cluster_node");
    f.nodes_lost = figure(info, "cluster_nodes_lost");
    f.commits = figure(info, "cluster_commits");
    f.aborts = figure(info, "cluster_aborts");
    f.round_trips = figure(info, "cluster_round_trips");
    f.forwarded = figure(info, "cluster_calls_forwarded");
    f.received = figure(info, "cluster_calls_received");
    f.declined = figure(info, "cluster_calls_declined");
    f.unknown = figure(info, "cluster_calls_unknown");
    const std::vector<long> attempts = load::ask_numbers(server, {"CALL", "attempts"}, 2 * profile_count);
    for (std::size_t p = 0; p < profile_count; ++p) {
        f.executions[p] = static_cast<std::uint64_t>(attempts[2 * p]);
        f.restarts[p] = static_cast<std::uint64_t>(attempts[2 * p + 1]);
    }
    return f;
} catch (const load::refused&) {
    throw;
} catch (const std::runtime_error&) {
    return std::nullopt;
}

std::vector<std::optional<warehouse_counts>> count_rows(const std::vector<load::address>& servers, int warehouses) {
    std::vector<std::optional<warehouse_counts>> all;
    for (int w = 1; w <= warehouses; ++w) {
        try {
            const std::vector<long> n = first_of(servers, [&](const load::address& server) {
                return load::ask_numbers(server, {"CALL", "counts", std::to_string(w)}, 3);
            });
            all.push_back(warehouse_counts{static_cast<std::uint64_t>(n[0]), static_cast<std::uint64_t>(n[1])});
        } catch (const load::refused& e) {
            if (!std::string_view{e.what()}.starts_with("UNREACHABLE")) throw;
            all.push_back(std::nullopt);
        }
    }
    return all;
}

std::vector<std::uint64_t> places_of(const load::address& server, int warehouses) {
    std::vector<std::uint64_t> all;
    for (int w = 1; w <= warehouses; ++w) {
        const load::answer got = load::ask(server, {"CALL", "place", std::to_string(w)});
        all.push_back(static_cast<std::uint64_t>(got->integer));
    }
    return all;
}

std::vector<verdict> ask_conditions(const std::vector<load::address>& servers, const std::vector<warehouse_id>& left) {
    std::vector<std::string> words{"CALL", "check"};
    for (const warehouse_id w : left) words.push_back(std::to_string(w));
    const load::answer got = first_of(servers, [&](const load::address& server) { return load::ask(server, words); });
    std::vector<verdict> all;
    for (std::size_t i = 0; i < got->elements; ++i) all.push_back(shown_verdict(*got->element[i]));
    return all;
}

}  // namespace tpcc::terminals

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include <tutti/cluster/doubts.hpp>

#include "cluster.hpp"

namespace tutti::tools {
namespace {

using cluster::doubt;
using cluster::doubt_state;
using cluster::doubts_reply;
using cluster::resolve_result;
using cluster::transaction_id;
using doubts_answers = std::vector<doubts_reply>;

bool is_open(const doubt& d) { return d.state == doubt_state::asking || d.state == doubt_state::open; }

const doubt* find_doubt(const doubts_reply& of, const transaction_id& id) {
    const auto at = std::ranges::find(of.doubts, id, &doubt::transaction);
    return at != of.doubts.end() ? &*at : nullptr;
}

std::string nodes_text(const std::vector<std::uint16_t>& nodes) {
    std::string text = nodes.size() == 1 ? "node" : "nodes";
    for (std::size_t i = 0; i < nodes.size(); ++i) text += fmt::format("{} {}", i == 0 ? "" : ",", nodes[i]);
    return text;
}

std::string objects_text(const doubt& d) {
    std::string text = fmt::format("{} object{} to write", d.objects, d.objects == 1 ? "" : "s");
    for (std::size_t i = 0; i < d.first_objects.size(); ++i) {
        const cluster::object_id& o = d.first_objects[i];
        text += fmt::format("{} {:016x}{:016x}", i == 0 ? ":" : "", o.high, o.low);
    }
    if (!d.first_objects.empty() && d.first_objects.size() < d.objects) text += " ...";
    return text;
}

std::string knows_text(const doubt& d) {
    const char* const by = d.by_hand ? "resolved by an operator" : "as another participant reported";
    switch (d.state) {
        case doubt_state::asking: return fmt::format("waits for the reply of {}", nodes_text(d.silent));
        case doubt_state::open: return "does not know the outcome";
        case doubt_state::committed: return fmt::format("has committed it in version {}, {}", d.version, by);
        case doubt_state::aborted: return fmt::format("has aborted it, {}", by);
    }
    return "is in a state that this release of tutti does not know";
}

/// Describes one transaction: since when it has been in doubt, and a line for each node that knows it.
std::string doubt_text(const doubts_answers& of, const transaction_id& id) {
    std::uint64_t longest = 0;
    std::string lines;
    for (std::size_t n = 0; n < of.size(); ++n) {
        const doubt* const d = find_doubt(of[n], id);
        if (d == nullptr) continue;
        longest = std::max(longest, d->for_ms);
        lines += fmt::format("  node {} {}; {}", n, knows_text(*d), objects_text(*d));
        if (!d->participants.empty()) lines += fmt::format("; took part with {}", nodes_text(d->participants));
        lines += '\n';
    }
    return fmt::format("transaction {} of node {}, which was lost {:.1f} s ago\n{}", id.text(), id.node,
                       static_cast<double>(longest) / 1000, lines);
}

std::string silent_text(const doubts_answers& of) {
    std::string text;
    for (std::size_t n = 0; n < of.size(); ++n) {
        if (!of[n].answered) text += fmt::format("node {}  {}: {}\n", n, of[n].address, of[n].error);
    }
    return text;
}

const char* outcome_name(bool commits) { return commits ? "committed" : "aborted"; }

/// Returns the error if a node already knows the opposite outcome, or an empty string.
std::string contradiction(const doubts_answers& of, const transaction_id& id, bool commits) {
    for (std::size_t n = 0; n < of.size(); ++n) {
        const doubt* const d = find_doubt(of[n], id);
        if (d == nullptr || is_open(*d) || (d->state == doubt_state::committed) == commits) continue;
        return fmt::format("node {} has {} transaction {}: it cannot be {} any more", n, outcome_name(!commits),
                           id.text(), outcome_name(commits));
    }
    return {};
}

int fail_with(const std::string& why) {
    fmt::print(stderr, "tutti: {}\n", why);
    return cli::failed;
}

}  // namespace

int list_doubts(const cluster_options& options) {
    const doubts_answers all = cluster::query_doubts(nodes_of(options));
    std::set<transaction_id> open;
    for (const doubts_reply& a : all) {
        for (const doubt& d : a.doubts) {
            if (is_open(d)) open.insert(d.transaction);
        }
    }
    for (const transaction_id& id : open) fmt::print("{}", doubt_text(all, id));
    fmt::print("{}", silent_text(all));
    const bool has_answered = std::ranges::any_of(all, &doubts_reply::answered);
    if (!has_answered) return fail_with("no node has answered");
    if (open.empty()) {
        fmt::print("no transaction is in doubt\n");
        return cli::success;
    }
    fmt::print(
        "resolve each: 'tutti cluster doubt commit ID' if the program of the lost node has reported it as done, or "
        "else\n"
        "'tutti cluster doubt abort ID'; read the program's log, and ask its clients\n");
    return cli::failed;
}

int resolve_doubt(const cluster_options& options) {
    const auto id = transaction_id::parse(options.transaction);
    if (!id) {
        throw cli::command_line_error{
            fmt::format("'{}' is not a transaction: write node.thread.number, as 'tutti cluster doubt list' does",
                        options.transaction)};
    }
    const bool commits = options.wanted_view == cluster_options::view::commit_doubt;
    const cluster::observer_options whom = nodes_of(options);
    constexpr unsigned max_rounds = 50;
    constexpr std::chrono::milliseconds between{100};
    for (unsigned round = 0; round < max_rounds; ++round) {
        const doubts_answers all = cluster::query_doubts(whom);
        if (const std::string why = contradiction(all, *id, commits); !why.empty()) return fail_with(why);
        const auto holder = std::ranges::find_if(all, [&](const doubts_reply& a) {
            const doubt* const d = find_doubt(a, *id);
            return d != nullptr && is_open(*d);
        });
        if (holder == all.end()) {
            const bool is_known =
                std::ranges::any_of(all, [&](const auto& a) { return find_doubt(a, *id) != nullptr; });
            if (!is_known)
                return fail_with(
                    fmt::format("no node that answers knows transaction {}\n{}", id->text(), silent_text(all)));
            fmt::print("{}transaction {} is {}\n", doubt_text(all, *id), id->text(), outcome_name(commits));
            return cli::success;
        }
        const auto node = static_cast<std::uint16_t>(holder - all.begin());
        const cluster::resolve_reply said = cluster::resolve_doubt(whom, node, *id, commits);
        if (!said.result) return fail_with(fmt::format("node {} {}; ask again", node, said.error));
        switch (*said.result) {
            case resolve_result::not_here:
                return fail_with(fmt::format("node {} resolves transaction {}, and does not answer here: {}", said.node,
                                             id->text(),
                                             said.node < all.size() ? all[said.node].error : std::string{}));
            case resolve_result::failed: return fail_with(fmt::format("node {} is out of memory; ask again", node));
            case resolve_result::runs:
                return fail_with(
                    fmt::format("node {} is still connected to node {}, which decides the outcome", node, id->node));
            default: break;  // ignored, because the next observation shows the outcome
        }
        std::this_thread::sleep_for(between);
    }
    return fail_with(fmt::format(
        "transaction {} is still in doubt at a node: see 'tutti cluster doubt list', and ask again", id->text()));
}

}  // namespace tutti::tools

#include "cluster_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

namespace tutti::tools {
namespace {

using cluster::node_timeline;
using cluster::timeline_event;
using cluster::timeline_operation;
using cluster::timeline_outcome;
using cluster::timeline_role;
using timelines = std::vector<node_timeline>;

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

/// Returns the name of the attempt. The name is the same on every node that takes part in the attempt.
std::string name_of_attempt(std::size_t node, const timeline_event& e) {
    if (e.thread == cluster::no_node) return fmt::format("node {}", node);
    return e.sequence == 0 ? fmt::format("{}.{}", node, e.thread) : fmt::format("{}.{}.{}", node, e.thread, e.sequence);
}

std::string name_of_end(const timeline_event& e) {
    if (e.outcome != timeline_outcome::rolled_back) return std::string{name_of(e.outcome)};
    return fmt::format("rolled back: {}", name_of(e.why));
}

std::string name_of_slice(const timeline_event& e, const std::string& attempt) {
    const std::string_view operation = name_of(e.operation);
    switch (e.role) {
        case timeline_role::runs: return fmt::format("{} {}", attempt, name_of_end(e));
        case timeline_role::waits:
            return e.node == cluster::no_node ? fmt::format("{}: something is busy", operation)
                                              : fmt::format("{}: waits for node {}", operation, e.node);
        case timeline_role::asks: return fmt::format("{}: asks node {}", operation, e.node);
        case timeline_role::serves: break;
    }
    return e.outcome == timeline_outcome::done ? fmt::format("{} of {}", operation, attempt)
                                               : fmt::format("{} of {}: {}", operation, attempt, name_of(e.outcome));
}

/// The tracks of one process, by name. Slices of one track must not overlap unless one contains the other. A slice that
/// would overlap is put on another track with the same name.
class tracks {
public:
    unsigned of(const std::string& name, std::int64_t from, std::int64_t to) {
        std::vector<lane>& all = lanes_[name];
        auto at = std::ranges::find_if(all, [&](lane& l) {
            while (!l.open.empty() && l.open.back() <= from) l.open.pop_back();
            return l.open.empty() || to <= l.open.back();
        });
        if (at == all.end()) at = all.insert(all.end(), {++count_, {}});
        at->open.push_back(to);
        return at->number;
    }
    template <class F>
    void each(F&& f) const {
        for (const auto& [name, all] : lanes_) {
            for (const lane& l : all) f(name, l.number);
        }
    }

private:
    struct lane {
        unsigned number;
        std::vector<std::int64_t> open;  // ends of open slices, each within the previous slice
    };
    std::map<std::string, std::vector<lane>> lanes_;
    unsigned count_ = 0;
};

class trace {
public:
    explicit trace(const timelines& of) : of_{of} {
        for (const node_timeline& n : of) {
            for (const timeline_event& e : n.events) from_ = std::min(from_, e.began_ns);
        }
    }

    std::string text() {
        find_pairs();
        for (std::size_t n = 0; n < of_.size(); ++n) add(n);
        return "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[" + events_ + "\n]}\n";
    }

private:
    /// Identifies a request, or a message without a reply: the sending node, the receiving node, and the numbers by
    /// which both nodes know the message.
    using message = std::tuple<std::size_t, std::size_t, std::uint64_t, std::uint64_t, timeline_operation>;
    static message message_of(std::size_t asker, std::size_t asked, const timeline_event& e) {
        return {asker, asked, e.question != 0 ? e.question : std::uint64_t{e.thread}, e.question != 0 ? 0 : e.sequence,
                e.operation};
    }

    struct arrow_ends {
        std::size_t number;
        bool begun = false, over = false;
    };

    /// Assigns an arrow to each message that both the sender and the receiver have recorded.
    void find_pairs() {
        std::set<message> asked;
        for (std::size_t n = 0; n < of_.size(); ++n) {
            for (const timeline_event& e : of_[n].events) {
                if (e.role == timeline_role::asks) asked.insert(message_of(n, e.node, e));
            }
        }
        for (std::size_t n = 0; n < of_.size(); ++n) {
            for (const timeline_event& e : of_[n].events) {
                if (e.role != timeline_role::serves) continue;
                const message m = message_of(e.node, n, e);
                if (asked.contains(m)) arrows_.emplace(m, arrow_ends{arrows_.size() + 1});
            }
        }
    }

    void add(std::size_t node) {
        std::vector<timeline_event> events = of_[node].events;
        // A slice must be added before the slices that it contains.
        std::ranges::sort(events, {}, [](const timeline_event& e) { return std::pair{e.began_ns, -e.took_ns}; });
        tracks own;
        std::map<std::pair<std::size_t, std::uint16_t>, timeline_event> held;  // locks, by node and thread of holders
        for (const timeline_event& e : events) {
            const std::size_t runs = e.role == timeline_role::serves ? e.node : node;
            const std::string attempt = name_of_attempt(runs, e);
            const std::string args =
                fmt::format(R"("attempt":"{}","ended":"{}","question":"{}")", attempt, name_of_end(e),
                            e.question == 0 ? "none" : fmt::format("{}/{:x}", runs, e.question));
            const unsigned track = own.of(name_of_track(e), e.began_ns, e.began_ns + e.took_ns);
            slice(node, track, name_of_slice(e, attempt), e.began_ns, e.took_ns, args);
            if (e.role == timeline_role::asks) arrow('s', node, track, e.began_ns, message_of(node, e.node, e));
            if (e.role != timeline_role::serves) continue;
            arrow('f', node, track, e.began_ns, message_of(e.node, node, e));
            const std::pair holder{std::size_t{e.node}, e.thread};
            if (e.operation == timeline_operation::lock && e.outcome == timeline_outcome::done) held[holder] = e;
            if (e.operation != timeline_operation::decide) continue;
            const auto since = held.find(holder);
            if (since == held.end()) continue;
            const std::int64_t from = since->second.began_ns, took = e.began_ns + e.took_ns - from;
            slice(node, own.of("holds locks", from, from + took), fmt::format("locked by {}", attempt), from, took,
                  fmt::format(R"("attempt":"{}")", attempt));
            held.erase(since);
        }
        own.each([&](const std::string& name, unsigned track) {
            append(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"{}"}}}})",
                               node + 1, track, name));
        });
        append(fmt::format(
            R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{},"clock_error_us":{:.3f},"left_out":{}}}}})",
            node + 1, quoted(fmt::format("node {} at {}", node, of_[node].address)),
            static_cast<double>(of_[node].clock_error.count()) / 1000, of_[node].left_out));
    }

    static std::string name_of_track(const timeline_event& e) {
        switch (e.role) {
            case timeline_role::serves: return "serves";
            case timeline_role::asks: return fmt::format("thread {} asks node {}", e.thread, e.node);
            default: return fmt::format("thread {}", e.thread);
        }
    }
    void slice(std::size_t node, unsigned track, const std::string& name, std::int64_t began, std::int64_t took,
               const std::string& args) {
        append(fmt::format(R"({{"ph":"X","pid":{},"tid":{},"name":"{}","ts":{:.3f},"dur":{:.3f},"args":{{{}}}}})",
                           node + 1, track, name, microseconds(began - from_), microseconds(took), args));
    }
    void arrow(char end, std::size_t node, unsigned track, std::int64_t at, const message& m) {
        const auto known = arrows_.find(m);
        // A message without a reply may be recorded twice for one attempt. The trace shows only the first recording.
        if (known == arrows_.end() || std::exchange(end == 's' ? known->second.begun : known->second.over, true))
            return;
        append(fmt::format(
            R"({{"ph":"{}","bp":"e","cat":"message","name":"message","id":{},"pid":{},"tid":{},"ts":{:.3f}}})", end,
            known->second.number, node + 1, track, microseconds(at - from_)));
    }
    static double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1000; }
    void append(const std::string& event) {
        events_ += events_.empty() ? "\n" : ",\n";
        events_ += event;
    }

    const timelines& of_;
    std::int64_t from_ = std::numeric_limits<std::int64_t>::max();
    std::map<message, arrow_ends> arrows_;
    std::string events_;
};

}  // namespace

std::string trace_of(const timelines& of) { return trace{of}.text(); }

std::string waits_table(const timelines& of) {
    struct sum {
        std::uint64_t times = 0;
        std::int64_t all = 0, most = 0;
    };
    std::string text;
    std::map<std::tuple<std::size_t, std::uint16_t, timeline_operation>, sum> waits;
    for (std::size_t n = 0; n < of.size(); ++n) {
        if (!of[n].error.empty()) {
            text += fmt::format("node {}  {}: {}\n", n, of[n].address, of[n].error);
            continue;
        }
        std::uint64_t attempts = 0, committed = 0;
        for (const timeline_event& e : of[n].events) {
            if (e.role == timeline_role::runs) ++attempts;
            if (e.outcome == timeline_outcome::committed) ++committed;
            if (e.role != timeline_role::waits) continue;
            sum& s = waits[{n, e.node, e.operation}];
            ++s.times;
            s.all += e.took_ns;
            s.most = std::max(s.most, e.took_ns);
        }
        text += fmt::format(
            "node {}  {}: {} attempts that asked others, {} committed; {} events, {} left out; its clock "
            "within {:.0f} us\n",
            n, of[n].address, attempts, committed, of[n].events.size(), of[n].left_out,
            static_cast<double>(of[n].clock_error.count()) / 1000);
    }
    if (waits.empty()) return text;
    text += fmt::format("{:>4}  {:<10} {:<9} {:>9} {:>12} {:>12} {:>12}\n", "node", "waits for", "to", "times",
                        "together, ms", "mean, us", "longest, us");
    for (const auto& [key, s] : waits) {
        const auto& [node, whom, operation] = key;
        const auto us = [](std::int64_t ns) { return static_cast<double>(ns) / 1000; };
        text += fmt::format("{:>4}  {:<10} {:<9} {:>9} {:>12.3f} {:>12.1f} {:>12.1f}\n", node,
                            whom == cluster::no_node ? std::string{"an object"} : fmt::format("node {}", whom),
                            operation == timeline_operation::pause ? "be free" : name_of(operation), s.times,
                            us(s.all) / 1000, us(s.all) / static_cast<double>(s.times), us(s.most));
    }
    return text;
}

}  // namespace tutti::tools

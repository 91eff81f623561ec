#include "report_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>

namespace tutti::tools {
namespace {

std::string name_of(const code_name& code) {
    return code.source.empty() ? code.function : fmt::format("{} in {}", code.source, code.function);
}

/// Describes how late in the block the switches occurred, as far as that was measured.
std::string lateness(const switch_count& s) {
    const std::uint64_t accesses = s.times != 0 ? s.accesses / s.times : 0;
    std::string text = fmt::format("after {} logged access{}", accesses, accesses == 1 ? "" : "es");
    if (s.timed != 0 && s.nanoseconds_whole != 0) {
        text += fmt::format(" and {} % of the block's time", 100 * s.nanoseconds_before / s.nanoseconds_whole);
    }
    return text;
}

class viewer {
public:
    explicit viewer(const program_report& report) : report_{report} {
        std::vector<code_address> wanted;
        for (const block_report& b : report.blocks) {
            wanted.push_back(previous_instruction(b.at));
            for (const switch_count& s : b.switches) {
                if (s.where) wanted.push_back(previous_instruction(*s.where));
                if (s.callee) wanted.push_back(*s.callee);
            }
        }
        names_.look_up(wanted);
    }

    report_view view() const {
        report_view v{.program = report_.program,
                      .process = report_.process,
                      .algorithm = report_.algorithm,
                      .policy = report_.policy,
                      .seconds = static_cast<double>(report_.nanoseconds) / 1e9,
                      .blocks = {},
                      .transactions = {}};
        for (const site_report& s : report_.sites) v.blocks.push_back(block(s));
        const std::vector<std::uint64_t> stopped = waits_for_each();
        for (std::size_t i = 0; i != report_.blocks.size(); ++i)
            v.blocks.push_back(block(report_.blocks[i], stopped[i]));
        std::ranges::sort(v.blocks, [](const block_view& a, const block_view& b) {
            return std::tuple{b.cost(), b.irrevocable, std::string_view{a.name}} <
                   std::tuple{a.cost(), a.irrevocable, std::string_view{b.name}};
        });
        for (const transaction_report& t : report_.transactions) v.transactions.push_back(transaction(t));
        return v;
    }

private:
    /// Returns how long other blocks waited for each block of the language.
    std::vector<std::uint64_t> waits_for_each() const {
        std::vector<std::uint64_t> all(report_.blocks.size());
        for (const block_report& b : report_.blocks) {
            for (const wait_report& w : b.waits) {
                if (w.with) all[*w.with] += w.nanoseconds;
            }
        }
        return all;
    }

    std::string block_name(const block_report& b) const { return name_of(names_[previous_instruction(b.at)]); }

    static std::string block_name(const site_report& s) {
        const std::string place = fmt::format("{}:{}", s.file.substr(s.file.rfind('/') + 1), s.line);
        return s.name.empty() ? fmt::format("{} in {}", place, s.function) : fmt::format("{} ({})", s.name, place);
    }

    transaction_view transaction(const transaction_report& t) const {
        transaction_view v{.context = t.context,
                           .thread = t.thread != 0 ? fmt::format("{}", t.thread) : "",
                           .state = t.state,
                           .attempt = t.attempt,
                           .block = t.site ? block_name(report_.sites[*t.site]) : "?",
                           .waits_for = t.waits_for ? fmt::format("context {}", *t.waits_for) : ""};
        if (t.asked_to_abort) v.state += ", asked to abort";
        if (t.suspended) v.state += ", suspended";
        return v;
    }

    block_view block(const site_report& s) const {
        block_view v{.name = block_name(s),
                     .executions = s.commits + s.cancelled,
                     .commits = s.commits,
                     .cancelled = s.cancelled,
                     .only_one = 0,
                     .nested = 0,
                     .lost_nanoseconds = s.lost_nanoseconds,
                     .alone_nanoseconds = 0,
                     .stopped_nanoseconds = 0,
                     .restarts = 0,
                     .irrevocable = s.irrevocable,
                     .aborts = {},
                     .switches = {},
                     .notes = {},
                     .hints = {}};
        for (const abort_count& a : s.aborts) {
            if (!a.ends) v.restarts += a.times;
            v.aborts.push_back({a.times, abort_text(a, report_.sites)});
        }
        if (s.irrevocable != 0) v.switches.push_back({s.irrevocable, s.irrevocable_reason});
        if (s.p50_nanoseconds != 0)
            v.notes.push_back(fmt::format("half of its commits took less than {}, 99 % less than {}",
                                          duration(s.p50_nanoseconds), duration(s.p99_nanoseconds)));
        if (s.partial_rollbacks != 0)
            v.notes.push_back(counted(s.partial_rollbacks, "time") + " only a nested block or checkpoint ran again");
        if (s.deadlines_met + s.deadlines_missed + s.deadlines_refused != 0)
            v.notes.push_back(fmt::format("deadlines: {} met, {} missed, {} refused", s.deadlines_met,
                                          s.deadlines_missed, s.deadlines_refused));
        if (s.hardware_commits != 0 || !s.hardware_aborts.empty()) {
            std::string note = counted(s.hardware_commits, "commit") + " in hardware; attempts there that failed:";
            for (const hardware_count& h : s.hardware_aborts) note += fmt::format(" {} {}", h.reason, h.times);
            if (s.hardware_aborts.empty()) note += " none";
            v.notes.push_back(std::move(note));
        }
        sort_lines(v.aborts);
        hint_at_conflicts(v, s.aborts, report_.sites);
        return v;
    }

    block_view block(const block_report& b, std::uint64_t stopped) const {
        block_view v{.name = block_name(b),
                     .executions = b.executions,
                     .commits = b.commits,
                     .cancelled = b.cancelled,
                     .only_one = b.only_one,
                     .nested = b.nested,
                     .lost_nanoseconds = b.lost_nanoseconds,
                     .alone_nanoseconds = b.alone_nanoseconds,
                     .stopped_nanoseconds = stopped,
                     .restarts = 0,
                     .irrevocable = 0,
                     .aborts = {},
                     .switches = {},
                     .notes = {},
                     .hints = {}};
        if (b.only_one != 0)
            v.notes.push_back(fmt::format("{} without barriers: no other thread was using transactions", b.only_one));
        if (v.alone_nanoseconds + stopped != 0)
            v.notes.push_back(
                fmt::format("alone for {}, while others waited {}", duration(v.alone_nanoseconds), duration(stopped)));
        for (const abort_count& a : b.aborts) {
            if (!a.partial) v.restarts += a.times;
            v.aborts.push_back({a.times, abort_text(a, report_.blocks)});
        }
        for (const switch_count& s : b.switches) {
            v.irrevocable += s.times;
            show_switch(v, b, s);
        }
        sort_lines(v.aborts);
        sort_lines(v.switches);
        hint_at_conflicts(v, b.aborts, report_.blocks);
        // Removes duplicate hints, because a function may be called at several places.
        std::ranges::sort(v.hints);
        v.hints.erase(std::unique(v.hints.begin(), v.hints.end()), v.hints.end());
        return v;
    }

    static void sort_lines(std::vector<counted_line>& lines) {
        std::ranges::sort(lines, [](const counted_line& one, const counted_line& other) {
            return std::tie(other.times, one.text) < std::tie(one.times, other.text);
        });
    }

    /// `all`: the blocks of the same kind, which `a.with` is an index into.
    template <class Block>
    std::string abort_text(const abort_count& a, const std::vector<Block>& all) const {
        std::string text = a.cause;
        if (a.with) text += " against " + block_name(all[*a.with]);
        if (a.partial) text += "; only a nested block ran again";
        if (a.ends) text += "; left without effect";
        return text;
    }

    void show_switch(block_view& v, const block_report& b, const switch_count& s) const {
        const std::string at = s.where ? " at " + name_of(names_[previous_instruction(*s.where)]) : std::string{};
        if (s.reason == "no-clone" && s.callee) {
            const std::string callee = names_[*s.callee].function;
            v.switches.push_back(
                {s.times, fmt::format("call of {}{}, which has no transactional clone, {}", callee, at, lateness(s))});
            hint_at_callee(v, callee);
        } else if (s.reason == "unsafe-operation") {
            const std::vector<call_site> calls = s.where ? names_.unsafe_calls(*s.where) : std::vector<call_site>{};
            v.switches.push_back(
                {s.times,
                 fmt::format("{}, {}", calls.empty() ? "unsafe operation" + at : unsafe_text(calls), lateness(s))});
            for (const call_site& c : calls) hint_at_call(v, c);
            if (calls.empty())
                v.hints.push_back("move the unsafe operation" + at +
                                  " out of the block: volatile accesses, atomics and asm can not be undone");
        } else if (s.reason == "from-begin") {
            // If the reason is in a nested block, `where` is the start of that block.
            const std::vector<call_site> calls = names_.calls_of_block(s.where ? *s.where : b.at);
            std::string names;
            for (const call_site& c : calls) names += (names.empty() ? "; it calls " : ", ") + c.function;
            v.switches.push_back({s.times, "from its start on: every way through the block is unsafe" + names});
            for (const call_site& c : calls) hint_at_call(v, c);
            v.hints.push_back("write it as __transaction_atomic once: the compiler then names each unsafe operation");
        } else if (s.reason == "library-call") {
            v.switches.push_back({s.times, fmt::format("{}{}: {}, {}", s.function, at, s.why, lateness(s))});
            v.hints.push_back(fmt::format("{}: {}", s.function, s.instead));
            return;  // the library says what to do instead
        } else if (s.reason == "restarts") {
            v.switches.push_back({s.times, "restarted too often"});
        } else {
            v.switches.push_back({s.times, s.reason + at});
        }
        // A block that is unsafe from its start on is excluded, because before its switch such a block only waits.
        if (s.where && s.nanoseconds_before * 2 > s.nanoseconds_whole) {
            v.hints.push_back(
                "it becomes irrevocable late: do what is unsafe after the block, or in a commit action, and the whole "
                "block runs beside others");
        }
    }

    /// Returns "unsafe call of f at a.c:12 in g or h at a.c:14 in g".
    static std::string unsafe_text(const std::vector<call_site>& calls) {
        std::vector<code_address> places;
        for (const call_site& c : calls) places.push_back(c.at);
        symbols names;
        names.look_up(places);
        std::string text;
        for (const call_site& c : calls)
            text +=
                fmt::format("{}{} at {}", text.empty() ? "unsafe call of " : " or ", c.function, name_of(names[c.at]));
        return text;
    }

    static void hint_at_call(block_view& v, const call_site& callee) {
        if (!callee.foreign) return hint_at_callee(v, callee.function);
        v.hints.push_back(callee.function +
                          " comes from another library: call it after the block, or in a commit action");
    }

    static void hint_at_callee(block_view& v, const std::string& callee) {
        v.hints.push_back(
            fmt::format("annotate {} with __attribute__((transaction_safe)) and compile it with -fgnu-tm; "
                        "transaction_callable, if something in it is unsafe, helps only in the file that defines it",
                        callee));
    }

    template <class Block>
    void hint_at_conflicts(block_view& v, const std::vector<abort_count>& aborts, const std::vector<Block>& all) const {
        const auto worst = std::ranges::max_element(aborts, {}, &abort_count::times);
        if (worst == aborts.end() || !worst->with || v.restarts * 10 < v.executions) return;
        v.hints.push_back(fmt::format(
            "it runs {:.1f} times for each commit, mostly because of {}: make what both write smaller, or write it "
            "later in the block",
            1.0 + static_cast<double>(v.restarts) / static_cast<double>(std::max<std::uint64_t>(v.executions, 1)),
            block_name(all[*worst->with])));
    }

    const program_report& report_;
    symbols names_;
};

}  // namespace

report_view view_of(const program_report& report) { return viewer{report}.view(); }

std::string counted(std::uint64_t number, const char* what) {
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string duration(std::uint64_t nanoseconds) {
    const auto n = static_cast<double>(nanoseconds);
    if (nanoseconds < 1000) return fmt::format("{} ns", nanoseconds);
    if (nanoseconds < 1000000) return fmt::format("{:.1f} us", n / 1e3);
    if (nanoseconds < 1000000000) return fmt::format("{:.1f} ms", n / 1e6);
    return fmt::format("{:.2f} s", n / 1e9);
}

}  // namespace tutti::tools

#include "itm/report.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "api/report/report.hpp"
#include "itm/block_counters.hpp"
#include "itm/code_addresses.hpp"
#include "observe/json.hpp"

namespace tutti::itm {
namespace {

using observe::json_writer;

struct switch_sum {
    std::uint64_t times = 0, accesses = 0, timed = 0, before = 0, whole = 0;
};

/// The sums of one block's counters over all contexts.
struct block_sum {
    std::uint64_t executions = 0, commits = 0, cancelled = 0, single_threaded = 0, nested = 0, lost = 0, alone = 0;
    std::map<const void*, std::uint64_t> waits;
    std::map<std::tuple<abort_cause, bool, const void*>, std::uint64_t> aborts;
    std::vector<std::pair<switch_key, switch_sum>> switches;  // few
};

using sums = std::map<const void*, block_sum>;

switch_sum& sum_of(std::vector<std::pair<switch_key, switch_sum>>& all, const switch_key& key) {
    for (auto& [known, sum] : all)
        if (known == key) return sum;
    return all.emplace_back(key, switch_sum{}).second;
}

sums add_up() {
    sums all;
    block_counters::for_each([&](const void* at, const block_entry& a) {
        block_sum& to = all[at];
        // Reads the parts before the total, so that concurrent counting never makes the sum of the parts larger than
        // the total.
        to.commits += a.commits.get() + a.single_threaded.get();
        to.cancelled += a.cancelled.get();
        to.single_threaded += a.single_threaded.get();
        to.nested += a.nested.get();
        to.lost += a.lost_ticks.get();
        to.alone += a.alone_ticks.get();
        a.waits.for_each([&](const void* with, const counter& c) {
            if (c.get() != 0) to.waits[with] += c.get();
        });
        a.aborts.for_each([&](const abort_key& k, const counter& c) {
            if (c.get() != 0) to.aborts[{k.cause, k.partial, k.with}] += c.get();
        });
        a.switches.for_each([&](const switch_key& k, const switch_count& c) {
            if (c.times.get() == 0) return;
            switch_sum& s = sum_of(to.switches, k);
            s.times += c.times.get();
            s.accesses += c.accesses.get();
            s.timed += c.timed.get();
            s.before += c.ticks_before.get();
            s.whole += c.ticks_whole.get();
        });
        to.executions += a.executions.get() + a.single_threaded.get();
    });
    std::erase_if(all, [](const auto& entry) {
        const block_sum& b = entry.second;
        return b.executions + b.nested == 0 && b.aborts.empty();
    });
    return all;
}

const char* name_of_reason(switch_reason r) noexcept {
    constexpr const char* names[switch_reason_count] = {"unsafe-operation", "no-clone", "from-begin", "restarts",
                                                        "library-call"};
    return names[static_cast<std::size_t>(r)];
}

class writer {
public:
    writer(sums all, json_writer& to) : all_{std::move(all)}, out_{to} {}

    void write() {
        out_.key("blocks").begin_array();
        for (const auto& [at, sum] : all_) write_block(at, sum);
        out_.end_array();
        write_objects();
    }

private:
    [[nodiscard]] static std::uint64_t nanoseconds(std::uint64_t ticks) {
        return static_cast<std::uint64_t>(static_cast<double>(ticks) * base::nanoseconds_per_tick());
    }

    void write_block(const void* at, const block_sum& b) {
        out_.begin_object();
        write_address("at", at);
        out_.field("executions", b.executions).field("commits", b.commits).field("cancelled", b.cancelled);
        out_.field("only_one", b.single_threaded)
            .field("nested", b.nested)
            .field("lost_nanoseconds", nanoseconds(b.lost));
        out_.field("alone_nanoseconds", nanoseconds(b.alone)).key("waits").begin_array();
        for (const auto& [with, ticks] : b.waits) {
            out_.begin_object();
            write_other(with);
            out_.field("nanoseconds", nanoseconds(ticks)).end_object();
        }
        out_.end_array().key("aborts").begin_array();
        for (const auto& [key, times] : b.aborts) {
            const auto& [cause, partial, with] = key;
            out_.begin_object().field("cause", name_of(cause)).field("partial", partial);
            write_other(with);
            out_.field("times", times).end_object();
        }
        out_.end_array().key("switches").begin_array();
        for (const auto& [key, s] : b.switches) write_switch(key, s);
        out_.end_array().end_object();
    }

    void write_switch(const switch_key& k, const switch_sum& s) {
        out_.begin_object().field("reason", name_of_reason(k.reason)).field("times", s.times);
        out_.field("accesses", s.accesses).field("timed", s.timed);
        out_.field("nanoseconds_before", nanoseconds(s.before)).field("nanoseconds_whole", nanoseconds(s.whole));
        if (k.reason == switch_reason::library_call) {
            out_.field("function", text_of(k.function)).field("why", text_of(k.why));
            out_.field("instead", text_of(k.instead));
        }
        write_address("where", k.where);
        write_address("callee", k.callee);
        out_.end_object();
    }

    static std::string_view text_of(const char* text) noexcept { return text != nullptr ? text : ""; }

    /// Writes the block's number in the list, or null if the block is unknown.
    void write_other(const void* with) {
        out_.key("with");
        const auto found = with != nullptr ? all_.find(with) : all_.end();
        if (found == all_.end()) out_.null();
        else out_.value(static_cast<std::uint64_t>(std::distance(all_.begin(), found)));
    }

    void write_address(const char* name, const void* address) {
        out_.key(name);
        if (address == nullptr) {
            out_.null();
            return;
        }
        const code_address l = resolve_address(address);
        const auto known = std::find(objects_.begin(), objects_.end(), l.object);
        const auto number = static_cast<std::uint64_t>(known - objects_.begin());
        if (known == objects_.end()) objects_.push_back(l.object);
        out_.begin_object().field("object", number).field("offset", l.offset).field("symbol", l.symbol).end_object();
    }

    void write_objects() {
        out_.key("objects").begin_array();
        for (const std::string& o : objects_) out_.value(o);
        out_.end_array();
    }

    sums all_;
    std::vector<std::string> objects_;
    json_writer& out_;
};

void write_part(json_writer& to) { writer{add_up(), to}.write(); }

[[gnu::constructor]] void register_part() { api::add_to_report(write_part); }

}  // namespace

void reset_report() noexcept {
    block_counters::reset();
    api::reset_report();
}

}  // namespace tutti::itm

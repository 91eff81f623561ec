// Writes the report as JSON: the blocks of the library, the status of each context, and the fields of other
// libraries.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <unordered_map>
#include <vector>

#include "api/report/report.hpp"
#include "api/report/statistics.hpp"
#include "base/clock.hpp"
#include "core/state/descriptor.hpp"
#include "tutti/algorithm.hpp"
#include "tutti/policy.hpp"

namespace tutti::api {
namespace {

using observe::json_writer;

constinit std::atomic<void (*)(json_writer&)> added_part{nullptr};

/// The time when counting began: the start of the process, as this library sees it.
const base::deadline counting_began = base::real_now();

std::string path_of_program() {
    std::string path(4096, '\0');
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
    path.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    return path;
}

/// Returns true if an attempt that aborts for this cause is the last attempt of its execution.
bool ends_execution(abort_cause cause) noexcept {
    switch (cause) {
        case abort_cause::explicit_cancel:
        case abort_cause::exception:
        case abort_cause::allocation:
        case abort_cause::usage: return true;
        default: return false;
    }
}

class writer {
public:
    explicit writer(std::vector<site_statistics> all) : all_{std::move(all)} {
        for (std::size_t i = 0; i < all_.size(); ++i) numbers_.emplace(all_[i].id, i);
    }

    std::string write(bool live) {
        out_.begin_object().field("format", "tutti-report").field("version", std::uint64_t{4});
        out_.field("program", path_of_program()).field("process", static_cast<std::uint64_t>(::getpid()));
        out_.field("algorithm", std::string_view{algorithm()}).field("policy", policy_in_force());
        out_.field("nanoseconds", static_cast<std::uint64_t>((base::real_now() - counting_began).count()));
        out_.key("sites").begin_array();
        for (const site_statistics& s : all_) write_site(s);
        out_.end_array();
        if (live) write_transactions();
        if (auto* const add = added_part.load(std::memory_order_acquire)) add(out_);
        out_.end_object();
        return out_.text() + '\n';
    }

private:
    void write_site(const site_statistics& s) {
        std::uint64_t cancelled = 0;
        for (std::size_t i = 0; i < s.aborts_by_cause.size(); ++i)
            if (ends_execution(static_cast<abort_cause>(i))) cancelled += s.aborts_by_cause[i];
        out_.begin_object().field("name", s.name).field("file", s.file).field("line", std::uint64_t{s.line});
        out_.field("function", s.function).field("cancelled", cancelled);
#define TUTTI_SITE_COUNTER(name) out_.field(#name, s.name);
#define TUTTI_SITE_COUNTERS(name)  // the arrays are summarised below
#include "observe/site_counters.def"
#undef TUTTI_SITE_COUNTER
#undef TUTTI_SITE_COUNTERS
        out_.field("irrevocable_reason", s.irrevocable_reason);
        out_.field("p50_nanoseconds", duration_percentile(s, 0.5))
            .field("p99_nanoseconds", duration_percentile(s, 0.99));
        out_.field("deadlines_met", sum_of(s.deadlines_met)).field("deadlines_missed", sum_of(s.deadlines_missed));
        out_.key("hardware_aborts").begin_array();
        for (std::size_t i = 0; i < s.hardware_aborts.size(); ++i) {
            if (s.hardware_aborts[i] == 0) continue;
            out_.begin_object().field("reason", name_of(static_cast<hardware_abort>(i)));
            out_.field("times", s.hardware_aborts[i]).end_object();
        }
        out_.end_array();
        out_.key("aborts").begin_array();
        for (std::size_t i = 0; i < s.aborts_by_cause.size(); ++i) {
            std::uint64_t unexplained = s.aborts_by_cause[i];
            const auto cause = static_cast<abort_cause>(i);
            for (const conflicting_site_statistics& r : s.conflicting_sites) {
                if (r.cause != cause) continue;
                write_aborts(cause, r.site, r.aborts);
                unexplained -= std::min(unexplained, r.aborts);  // r.aborts was read later, and may be larger
            }
            if (unexplained != 0) write_aborts(cause, std::nullopt, unexplained);
        }
        out_.end_array().end_object();
    }

    void write_aborts(abort_cause cause, std::optional<std::uint32_t> site, std::uint64_t times) {
        out_.begin_object().field("cause", name_of(cause)).field("ends", ends_execution(cause));
        write_site_number("with", site);
        out_.field("times", times).end_object();
    }

    /// Writes the status of contexts that run a block, wait, or sleep in retry. Reads each context while it changes.
    void write_transactions() {
        out_.key("transactions").begin_array();
        const std::uint32_t count = memory::status_record_count();
        for (std::uint32_t id = 0; id < count; ++id) {
            const core::descriptor& d = core::descriptor::of(memory::status_record_of(id));
            const core::word state = d.state.load(std::memory_order_acquire);
            const core::descriptor* other = d.shows_wait_for.load(std::memory_order_relaxed);
            if (other == nullptr) other = d.waits_for.load(std::memory_order_relaxed);
            const bool in_retry = d.shows_retry.load(std::memory_order_relaxed);
            if (!memory::is_running(state) && other == nullptr && !in_retry) continue;
            out_.begin_object().field("context", std::uint64_t{id});
            out_.field("thread", static_cast<std::uint64_t>(d.shows_thread.load(std::memory_order_relaxed)));
            out_.field("state", in_retry ? "retry" : memory::name_of(memory::status_of(state)));
            out_.field("transaction", memory::sequence_of(state)).field("attempt", std::uint64_t{d.counters.attempt()});
            const observe::site* const at = d.counters.entered();
            write_site_number("site", at != nullptr ? std::optional{at->id} : std::nullopt);
            out_.field("asked_to_abort", memory::is_running(state) && d.kill_request.load(std::memory_order_relaxed) ==
                                                                          memory::sequence_of(state));
            out_.field("suspended", d.suspended.load(std::memory_order_relaxed) != 0);
            out_.key("waits_for");
            if (other == nullptr) out_.null();
            else out_.value(std::uint64_t{other->id});
            out_.end_object();
        }
        out_.end_array();
    }

    /// Writes the block's index in the list, or null.
    void write_site_number(const char* key, std::optional<std::uint32_t> site) {
        out_.key(key);
        const auto found = site ? numbers_.find(*site) : numbers_.end();
        if (found == numbers_.end()) out_.null();
        else out_.value(static_cast<std::uint64_t>(found->second));
    }

    std::vector<site_statistics> all_;
    std::unordered_map<std::uint32_t, std::size_t> numbers_;  // index in the list, by id
    json_writer out_;
};

}  // namespace

void add_to_report(void (*write)(json_writer& to)) noexcept { added_part.store(write, std::memory_order_release); }

std::string report_text(bool live) {
    std::vector<site_statistics> all = statistics();
    // Blocks of the language have no line (itm/site.cpp), and have their own part of the report.
    std::erase_if(all, [](const site_statistics& s) { return s.line == 0; });
    return writer{std::move(all)}.write(live);
}

}  // namespace tutti::api

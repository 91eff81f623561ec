#include "api/configuration.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "algorithms/table.hpp"
#include "api/report/report.hpp"
#include "api/report/statistics_on_signal.hpp"
#include "base/panic.hpp"
#include "core/ports/deadline_schedule.hpp"
#include "core/ports/policy.hpp"
#include "memory/status_record.hpp"
#include "policies/deadline_schedule.hpp"
#include "policies/table.hpp"
#include "tutti/algorithm.hpp"
#include "tutti/policy.hpp"
#include "tutti/statistics.hpp"

namespace tutti {

constinit std::atomic<const core::policy*> core::chosen_policy{nullptr};

namespace {

using core::chosen_policy;

/// Returns true if this machine has the features that the algorithm needs.
bool is_supported(const core::instance& i) noexcept { return i.is_served == nullptr || i.is_served(); }

/// Returns `wanted`, or the algorithm that replaces it if this machine lacks a feature. Reports a replacement once.
const core::instance& supported_or_default(const core::instance& wanted) {
    if (is_supported(wanted)) return wanted;
    const core::instance& fallback = *algorithms::all().front();
    static std::atomic_flag reported = ATOMIC_FLAG_INIT;
    if (!reported.test_and_set()) {
        const std::string line = "tutti: this processor has no hardware transactions (RTM); " +
                                 std::string{fallback.name} + " runs instead of " + std::string{wanted.name} + '\n';
        std::fputs(line.c_str(), stderr);
    }
    return fallback;
}

const core::instance& algorithm_named(std::string_view name, const char* given_by) {
    if (const core::instance* found = algorithms::find(name)) return supported_or_default(*found);
    std::string message =
        "tutti: " + std::string{given_by} + ": unknown algorithm '" + std::string{name} + "'; valid are";
    for (const core::instance* i : algorithms::all()) message += ' ' + std::string{i->name};
    throw usage_error{message};
}

const core::policy& policy_named(std::string_view name, const char* given_by) {
    if (const core::policy* found = policies::find(name)) return *found;
    std::string message = "tutti: " + std::string{given_by} + ": unknown policy '" + std::string{name} + "'; valid are";
    for (const core::policy* p : policies::all()) message += ' ' + std::string{p->name};
    throw usage_error{message};
}

/// Returns the choice that the environment variable `variable` names, or the default.
template <class Choice>
const Choice& from_environment(const char* variable, const Choice& fallback,
                               const Choice& (*find)(std::string_view, const char*)) {
    const char* const name = std::getenv(variable);
    if (name == nullptr || *name == '\0') return fallback;
    try {
        return find(name, variable);
    } catch (const usage_error& e) {
        // An unknown name ends the program: transactions may run before main, where no caller could catch an exception.
        std::string message = e.what();
        base::panic(message.substr(message.find(' ') + 1).c_str());
    }
}

// The chosen algorithm; null until the first query. Constant-initialized, as the policy is, so that it is valid before
// any dynamic initialization.
constinit std::atomic<const core::instance*> chosen{nullptr};

/// Returns true if the policy `p` listens, because it handles the event `start`. `p` may be null.
bool has_start_event(const core::policy* p) noexcept { return p != nullptr && p->start != nullptr; }

/// Makes `p` the process's policy instead of `before`. Returns false if the process has another policy than `before`.
/// The thread that replaces a policy also removes the old policy's listener. So `listeners` is right even if several
/// threads choose at the same time.
bool replace_policy(const core::policy*& before, const core::policy& p) noexcept {
    if (has_start_event(&p)) core::listen();
    const bool done = chosen_policy.compare_exchange_strong(before, &p, std::memory_order_acq_rel);
    if (has_start_event(done ? before : &p)) core::stop_listening();
    return done;
}

const core::policy& process_policy() noexcept {
    const core::policy* p = chosen_policy.load(std::memory_order_acquire);
    if (p == nullptr) {
        const core::policy& first = from_environment("TUTTI_POLICY", *policies::all().front(), policy_named);
        if (replace_policy(p, first)) p = &first;
    }
    return *p;
}

// Reads TUTTI_STATISTICS and TUTTI_REPORT when the library is loaded. Prints the results, if requested, when the
// library is unloaded. The object is in this file because every program links this file, whether statically or not.
struct environment {
    environment() {
        const char* const given = std::getenv("TUTTI_STATISTICS");
        std::string_view remaining = given != nullptr ? given : "";
        bool counts = false;
        bool listens = false;
        while (!remaining.empty()) {
            const std::string_view word = remaining.substr(0, remaining.find(','));
            remaining.remove_prefix(std::min(word.size() + 1, remaining.size()));
            // An unknown value is an error, as it is for the other two variables.
            if (word != "off" && word != "on" && word != "report" && word != "signal") {
                const std::string message = "TUTTI_STATISTICS: unknown value '" + std::string{given} +
                                            "'; valid are off, or one or more of on report signal with commas between";
                base::panic(message.c_str());
            }
            counts = counts || word != "off";
            report = report || word == "report";
            listens = listens || word == "signal";
        }
        if (counts) enable_statistics(true);
        api::begin_report();
        if (listens) api::print_on_signals();
    }
    ~environment() {
        if (report) print_statistics(std::cerr);
        api::write_report();
    }
    bool report = false;
};
const std::ios_base::Init streams_outlive_the_report;
const environment environment_at_load;

}  // namespace

namespace core {

const instance& chosen_instance() noexcept {
    const instance* i = chosen.load(std::memory_order_acquire);
    if (i == nullptr) {
        process_policy();  // the first transaction reads the settings that this call makes
        const instance* const fresh = &from_environment("TUTTI_ALGORITHM", *algorithms::all().front(), algorithm_named);
        if (chosen.compare_exchange_strong(i, fresh, std::memory_order_acq_rel)) i = fresh;
    }
    return *i;
}

const policy& policy_of(const descriptor& d) noexcept {
    const tutti::policy wanted = d.run.how->policy;
    return wanted == tutti::policy::standard ? process_policy() : policies::number(wanted);
}

deadline_schedule schedule_of(base::deadline due, const schedule_inputs& seen, const deadline_tuning& tuning) noexcept {
    return policies::make_schedule(due, seen, tuning);
}

void choose_algorithm_for_test(std::string_view name) {
    chosen.store(&algorithm_named(name, "choose_algorithm_for_test"), std::memory_order_release);
}

}  // namespace core

void use_algorithm(std::string_view name) {
    const core::instance& wanted = algorithm_named(name, "use_algorithm");
    if (memory::status_record_count() != 0 && &core::chosen_instance() != &wanted) {
        throw usage_error{"tutti: use_algorithm: transactions have begun already; choose before the first one"};
    }
    chosen.store(&wanted, std::memory_order_release);
}

std::string_view algorithm() { return core::chosen_instance().name; }

std::vector<algorithm_description> available_algorithms() {
    std::vector<algorithm_description> all;
    for (const core::instance* i : algorithms::all()) {
        if (is_supported(*i)) all.push_back({i->name, i->summary});
    }
    return all;
}

void use_policy(std::string_view name) {
    const core::policy& wanted = policy_named(name, "use_policy");
    const core::policy* before = chosen_policy.load(std::memory_order_acquire);
    while (!replace_policy(before, wanted)) {}
}

std::string_view policy_in_force() { return process_policy().name; }

std::vector<policy_description> available_policies() {
    std::vector<policy_description> all;
    for (const core::policy* p : policies::all()) all.push_back({p->name, p->summary});
    return all;
}

}  // namespace tutti

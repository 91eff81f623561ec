#include "api/hooks/language.hpp"

#include <cstdlib>
#include <string>
#include <string_view>

#include "algorithms/snapshots.hpp"
#include "api/report/report.hpp"
#include "base/panic.hpp"
#include "core/conflict/conflict.hpp"
#include "core/conflict/conflicting_transaction.hpp"
#include "core/lifecycle/access_check.hpp"
#include "core/lifecycle/fork.hpp"
#include "core/lifecycle/registry.hpp"
#include "core/modes/serial.hpp"
#include "core/ports/algorithm.hpp"
#include "core/ports/policy.hpp"
#include "core/privatization/quiescence.hpp"
#include "core/rollback/deferred.hpp"
#include "core/rollback/signal.hpp"
#include "core/tokens/bias.hpp"
#include "hardware/rtm.hpp"
#include "policies/table.hpp"
#include "tutti/algorithm.hpp"

namespace tutti::api {
namespace {

void require_in_place(const core::instance& chosen) noexcept {
    if (chosen.in_place) return;
    const std::string message = "algorithm '" + std::string{chosen.name} +
                                "' cannot run language-level blocks, which need one that writes in place: "
                                "TUTTI_ALGORITHM=wt-etl, serial or global-lock";
    base::panic(message.c_str());
}

bool is_off(const char* value) noexcept {
    if (value == nullptr || *value == '\0' || std::string_view{value} == "off") return true;
    if (std::string_view{value} == "auto") return false;
    const std::string message = "TUTTI_HARDWARE: unknown value '" + std::string{value} + "'; valid are auto and off";
    base::panic(message.c_str());
}

const core::descriptor* current() noexcept { return static_cast<const core::descriptor*>(detail::current_transaction); }

void notify_policies(core::copying step) noexcept {
    for (const core::policy* p : policies::all()) {
        if (p->copy != nullptr) p->copy(step, current());
    }
}

bool open_without_listeners(core::descriptor& d, detail::frame& f, detail::call_site where, const options& how,
                            bool (*begin)(core::descriptor&)) {
    if (core::listeners_to_language.load(std::memory_order_relaxed) != 0) return false;
    d.run.where = where;
    d.run.how = &how;
    d.unwinding_threshold = d.exceptions_at_open = core::opened_by_language;
    d.frame_ = &f;
    if (begin(d)) return true;
    d.frame_ = nullptr;
    return false;
}

}  // namespace

void prepare_for_language() noexcept {
    const char* const value = std::getenv("TUTTI_ALGORITHM");
    // If transactions have run before this library was loaded (dlopen), the algorithm can no longer be changed. The
    // first block checks whether the algorithm is suitable.
    if ((value == nullptr || *value == '\0') && memory::status_record_count() == 0) use_algorithm("wt-etl");
    if (value != nullptr && *value != '\0') require_in_place(core::chosen_instance());
}

core::descriptor& attach_language() {
    auto& d = core::descriptor::of(detail::current_or_attach());
    require_in_place(*d.algorithm);
    core::use_plain_memory();
    return d;
}

bool open_as_biased_owner(core::descriptor& d, detail::frame& f, detail::call_site where, const options& how) {
    return open_without_listeners(d, f, where, how, core::begin_as_biased_owner);
}

bool open_alone(core::descriptor& d, detail::frame& f, detail::call_site where, const options& how) {
    return open_without_listeners(d, f, where, how, core::begin_alone);
}

void become_serial(core::descriptor& d) noexcept { core::become_serial(d); }

bool attempt_continues(core::descriptor& d) { return core::check_access(d) != core::access_check::attempt_over; }

void enter_language(core::descriptor& d) {
    const core::access_check found = d.healthy() ? core::access_check::proceed : core::check_access(d);
    d.slow_commit |= core::slow_commit_language;
    if (found == core::access_check::attempt_over || !d.algorithm->privatizes_by_waiting) return;
    if ((d.slow_commit & core::slow_commit_plain) != 0) return;
    try {
        core::enter_plain(d);
    } catch (const detail::unwind&) {
        // During the propagation of an exception, a destructor must not throw, so the signal is dropped. The attempt is
        // doomed anyway.
        if (found != core::access_check::during_unwind) throw;
    }
}

const core::descriptor* conflicting_descriptor(const core::descriptor& d, abort_cause cause) noexcept {
    return core::conflicting_descriptor(d, cause);
}

void resolve_conflict_outside(core::descriptor& d, core::descriptor& owner, detail::word state, bool owns_more) {
    core::resolve_conflict_outside(d, owner, state, owns_more);
}

void add_owned_resource(core::descriptor& d, core::owned_resource& p) {
    core::add_owned_resource(d, p);
    core::leave_hardware(d, hardware_abort::system_call);
    core::need_current_reads(d);
}

void release_owned_resources(core::descriptor& d) noexcept { core::release_owned_resources(d); }
void make_resources_effective(core::descriptor& d) noexcept { core::make_resources_effective(d); }

void record_allocation(core::descriptor& d, void* memory, detail::destroyer free) {
    core::defer(d, core::deferred::kind::allocated, memory, free);
}

void record_free(core::descriptor& d, void* memory, detail::destroyer free) {
    d.limbo.reserve(d.deferred_log.size() + 1);  // the commit itself must not run out of memory
    core::defer(d, core::deferred::kind::freed, memory, free);
}

void retire(void* object, detail::destroyer free) {
    if (memory::status_record_count() == 0) return free(object);  // no transaction has ever run
    auto& d = core::descriptor::of(detail::current_or_attach());
    d.limbo.reserve(d.deferred_log.size() + 1);  // one more entry than the running transaction's commit needs
    d.limbo.retire({object, free});
}

bool transactions_have_run() noexcept { return memory::status_record_count() != 0; }

void begin_fork_copy() noexcept {
    notify_policies(core::copying::begins);
    core::lock_registry();
}
void end_fork_copy() noexcept {
    core::unlock_registry();
    notify_policies(core::copying::is_over);
}
void reset_other_contexts() noexcept {
    core::forget_others(current());
    algorithms::snapshots::forget_others(current());
    notify_policies(core::copying::in_child);
}

bool hardware_is_usable(const core::descriptor& d) noexcept {
    static const bool wanted = !is_off(std::getenv("TUTTI_HARDWARE"));
    return wanted && !report_wanted() && hardware::rtm::exists() && !d.algorithm->one_at_a_time;
}

const detail::shared<detail::word>& serial_token() noexcept { return core::serial_token; }
const detail::shared<std::uint32_t>& listeners() noexcept { return core::listeners_to_language; }

void wait_for_serial_owner(core::descriptor& d) noexcept { core::wait_for_serial_owner(d); }
void try_stop_the_world(core::descriptor& d) noexcept { core::try_stop_the_world(d); }

const std::atomic<bool>& counting() noexcept { return observe::counting; }

void register_language_blocks(const core::language_blocks& blocks) noexcept {
    core::blocks_of_language.store(&blocks, std::memory_order_release);
}
void die_if_left_behind(const core::descriptor& d, std::uintptr_t stack) noexcept {
    core::die_if_left_behind(d, stack);
}
void die_left_behind(const core::descriptor& d) noexcept { core::die_left_behind(d); }
bool ends_cancellable_anywhere() noexcept { return core::ends_cancellable_anywhere(); }
void die_of_asynchronous_cancel(const core::descriptor& d) noexcept { core::die_of_asynchronous_cancel(d); }

void panic(const char* message) noexcept { base::panic(message); }

}  // namespace tutti::api

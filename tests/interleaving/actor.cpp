// The actions of threads outside of blocks, and on each other.
#include <stdexcept>
#include <string>

#include "api/hooks/language.hpp"
#include "base/futex.hpp"
#include "core/conflict/kill.hpp"
#include "core/ports/algorithm.hpp"
#include "core/privatization/quiescence.hpp"
#include "core/state/descriptor.hpp"
#include "world.hpp"

namespace interleaving {
namespace {

tutti::core::descriptor& descriptor_of(tutti::tx& t) { return tutti::core::descriptor::of(t); }

void wait_until_set(tutti::detail::shared<std::uint32_t>& flag) {
    while (flag.load(std::memory_order_acquire) == 0) tutti::base::spin_turn();
}

}  // namespace

bool actor::transact_as_biased_owner(void (*body)(block&)) {
    static const tutti::options ordinary{};
    auto& d = descriptor_of(tutti::detail::current_or_attach());
    tutti::detail::frame outermost{};
    const auto opens = [&] { return tutti::api::open_as_biased_owner(d, outermost, {}, ordinary); };
    expect_block();
    // The first call may only note how many transactions the other threads have begun, and fail. The second call
    // succeeds only if that number has not changed.
    if (!opens() && !opens()) {
        ended(false);
        return false;
    }
    enter_block(d);
    expect_no_handlers();
    block b{*this, d};
    body(b);
    ask_to_commit();
    if (!d.operations_->commit(d)) here().log.report_error("a serial block could not commit");
    d.serial = false;
    ended(true);
    return true;
}

bool actor::transact_serial(void (*body)(block&)) {
    static const tutti::options irrevocable{.mode = tutti::mode::irrevocable};
    auto& d = descriptor_of(tutti::detail::current_or_attach());
    tutti::detail::frame outermost{};
    expect_block();
    if (!tutti::api::open_alone(d, outermost, {}, irrevocable)) {
        ended(false);
        return false;
    }
    enter_block(d);
    expect_no_handlers();
    block b{*this, d};
    body(b);
    ask_to_commit();
    if (!d.operations_->commit(d)) here().log.report_error("a serial block could not commit");
    if (d.serial) here().log.report_error("a serial block is still serial after its end");
    ended(true);
    return true;
}

bool actor::transact_in_the_language(void (*body)(block&)) {
    static const tutti::options ordinary{};
    auto& d = descriptor_of(tutti::detail::current_or_attach());
    if (!d.algorithm->in_place || d.algorithm->one_at_a_time) return false;
    tutti::core::use_plain_memory();
    tutti::detail::frame outermost{};
    // The real runtime jumps past the frames of the body, which have no destructors either.
    outermost.receive = [](tutti::tx&) { throw tutti::detail::unwind{}; };
    expect_block();
    d.algorithm->open_plainly(d, outermost, {}, ordinary);
    for (bool again = false;; again = true) {
        try {
            if (again) static_cast<void>(tutti::detail::reopen(d));
            enter_block(d);
            block b{*this, d};
            body(b);
            ask_to_commit();
            if (d.operations_->commit(d)) break;
        } catch (const tutti::detail::unwind&) {
            continue;
        }
    }
    ended(true);
    return true;
}

void actor::expect_block() { here().log.expect(number_); }

void actor::enter_block(tutti::tx& t) {
    here().contexts[static_cast<std::size_t>(number_)] = &t;
    here().log.enter(number_);
    if (t.irrevocable()) here().log.irrevocable(number_);
}

void actor::expect_no_handlers() {
    // A transaction increments `decided` before `handled`, so this function loads `handled` first.
    const std::uint32_t handled = here().handled.load(std::memory_order_acquire);
    if (here().decided.load(std::memory_order_acquire) != handled)
        here().log.report_error("a block runs alone beside the handlers of an earlier one");
}

void actor::ask_to_commit() { here().log.ask_to_commit(number_); }
void actor::ended(bool committed) { here().log.ended(number_, committed); }

value actor::load(spot s) {
    world& in = here();
    const instant begin = in.log.now();
    value v = 0;
    if (s.is == spot::kind::wide_variable) {
        const wide copy = in.behind.load();
        if (!copy.whole()) in.log.report_error("a value was destroyed while it was loaded");
        v = copy.one;
    } else {
        v = in.variables[static_cast<std::size_t>(s.index)].load();
    }
    in.log.record_lone_access(number_, begin, operation::kind::read, world::place(s), v);
    return v;
}

void actor::store(spot s) {
    world& in = here();
    const instant begin = in.log.now();
    const value v = in.log.fresh(number_);
    if (s.is == spot::kind::wide_variable) {
        in.behind.store(wide{v});
    } else {
        in.variables[static_cast<std::size_t>(s.index)].store(v);
    }
    in.log.record_lone_access(number_, begin, operation::kind::write, world::place(s), v);
}

value actor::peek(spot s) {
    tutti::detail::interleaving_point();
    world& in = here();
    const instant begin = in.log.now();
    const value v = in.word(s);
    in.log.record_lone_access(number_, begin, operation::kind::read, world::place(s), v);
    return v;
}

void actor::poke(spot s) {
    tutti::detail::interleaving_point();
    world& in = here();
    const instant begin = in.log.now();
    const value v = in.log.fresh(number_);
    in.word(s) = v;
    in.log.record_lone_access(number_, begin, operation::kind::write, world::place(s), v);
}

bool actor::kill(int thread) {
    world& in = here();
    tutti::tx* const context = in.contexts[static_cast<std::size_t>(thread)];
    if (context == nullptr) return false;
    auto& victim = descriptor_of(*context);
    const auto seen = victim.state.load(std::memory_order_acquire);
    // No switch has happened since that load. If the victim is between two attempts, `attempt` is the attempt that was
    // rolled back.
    const int attempt = in.log.running(thread);
    const bool killed = tutti::core::kill(victim, seen);
    in.log.note(number_, killed ? "has killed another" : "could not kill");
    if (killed && attempt >= 0) in.log.doom(attempt);
    return killed;
}

void actor::evict(int thread) {
    world& in = here();
    tutti::tx* const context = in.contexts[static_cast<std::size_t>(thread)];
    const bool done = context != nullptr && tutti::core::evict(descriptor_of(*context));
    in.log.note(number_, done ? "has evicted another" : "could not evict");
}

void block::be_suspended() {
    world& in = here();
    in.log.note(actor_.number_, "is suspended");
    tutti::core::suspend(descriptor_of(tx_));
    in.suspended.store(1, std::memory_order_release);
    wait_until_set(in.awake);
    tutti::core::resume(descriptor_of(tx_));
    in.log.note(actor_.number_, "is resumed");
}

void block::let_time_pass(std::chrono::nanoseconds time) {
    tutti::core::suspend(descriptor_of(tx_));
    scheduler::clock().advance(time);
    tutti::core::resume(descriptor_of(tx_));
}

void actor::await_suspension() { wait_until_set(here().suspended); }
void actor::wake() { here().awake.store(1, std::memory_order_release); }

const std::vector<program>& all_programs() {
    static const std::vector<program> all = [] {
        std::vector<program> list;
        for (auto* some : {conflict_programs, mode_programs, nesting_programs, waiting_programs, memory_programs,
                           snapshot_programs}) {
            for (program& one : some()) list.push_back(std::move(one));
        }
        return list;
    }();
    return all;
}

const program& program_named(const char* name) {
    for (const program& one : all_programs()) {
        if (std::string_view{one.name} == name) return one;
    }
    throw std::out_of_range{"there is no program " + std::string{name}};
}

}  // namespace interleaving

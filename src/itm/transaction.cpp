// Begin, commit, cancel, and the switch to irrevocability.
#include <sys/single_threaded.h>
#include <unwind.h>

#include <cerrno>
#include <new>
#include <utility>

#include "core/ports/algorithm.hpp"
#include "core/tokens/bias.hpp"
#include "itm/block.hpp"
#include "itm/block_counters.hpp"
#include "itm/fatal_error.hpp"
#include "itm/signal_forwarding.hpp"
#include "itm/site.hpp"
#include "tutti/detail/runtime.hpp"
#include "tutti/options.hpp"

namespace tutti::itm {
namespace {

constexpr options ordinary{};
constexpr options irrevocable_at_once{.mode = mode::irrevocable};

void describe_open_block(const descriptor& d, const detail::frame* f, char* into, std::size_t size) noexcept {
    const runtime_state& s = runtime_state_of(d);
    const void* const latest =
        s.outermost->saved.resume != nullptr ? s.outermost->saved.resume : s.hardware.latest_begin();
    const void* const resume = f != nullptr ? static_cast<const block*>(f)->saved.resume : latest;
    if (resume == nullptr) return;
    describe(resume, into, size);
}
std::uintptr_t resume_of(const detail::frame& f) noexcept {
    return reinterpret_cast<std::uintptr_t>(static_cast<const block&>(f).saved.resume);
}
constexpr core::language_blocks blocks{receive_signal, resume_of, describe_open_block};

[[gnu::constructor]] void prepare() {
    api::register_language_blocks(blocks);
    api::prepare_for_language();
}

/// Ends the process if a jump has left an open block. There are two signs of such a jump. The function that opens
/// another block has a stack pointer above the open block's, or the same block begins again in the same frame.
void check_left_behind(const descriptor& d, const registers& at) noexcept {
    const auto stack = reinterpret_cast<std::uintptr_t>(at.frame);
    if (core::may_be_left_behind(d, stack)) [[unlikely]]
        api::die_if_left_behind(d, stack);
    if (!is_block(d.frame_)) return;
    const block& b = innermost(d);
    if (b.saved.resume == at.resume && b.stack == stack) [[unlikely]]
        api::die_left_behind(d);
}

/// Sets all fields except the registers. A final block does not need registers.
void describe_block(block& b, void* stack, void* resume, std::uint32_t properties, std::uint64_t id) noexcept {
    b.saved.resume = resume;
    b.stack = reinterpret_cast<std::uintptr_t>(stack);
    b.properties = properties;
    b.merged = 0;
    b.id = id;
    b.final = false;
    b.returned = false;
    b.receive = receive_signal;
}
void describe_block(block& b, const registers& at, std::uint32_t properties, std::uint64_t id) noexcept {
    describe_block(b, at.frame, at.resume, properties, id);
    b.saved = at;
    b.error = errno;
}

/// Returns the value that begin returns the first time.
std::uint32_t begun(block& b, std::uint32_t code) noexcept {
    b.returned = true;
    return code | save_live_variables;
}

/// Selects which version of the block's code runs. A block that needs no barriers runs the version without barriers.
std::uint32_t code_of(std::uint32_t properties, bool direct) noexcept {
    const std::uint32_t wanted = direct ? uninstrumented_code : instrumented_code;
    const std::uint32_t runs =
        (properties & wanted) != 0 ? wanted : properties & (instrumented_code | uninstrumented_code);
    return runs == uninstrumented_code ? run_uninstrumented : run_instrumented;
}

bool must_run_alone(std::uint32_t properties) noexcept {
    return (properties & instrumented_code) == 0 ||
           ((properties & does_go_irrevocable) != 0 && (properties & uninstrumented_code) != 0);
}

/// Returns true if the block may run code that cannot be rolled back, provided that no other transaction runs.
bool may_run_directly(std::uint32_t properties) noexcept {
    return (properties & (has_no_cancel | uninstrumented_code)) == (has_no_cancel | uninstrumented_code);
}

/// Opens a block that may run directly as the biased owner, if no other context begins a transaction; see
/// core/tokens/bias.hpp.
bool opens_as_biased_owner(descriptor& d, const runtime_state& s, block& b) {
    if (d.bias.blocks_until_next_try != 0) {
        --d.bias.blocks_until_next_try;
        return false;
    }
    return api::open_as_biased_owner(d, b, site_of(s, b.saved.resume), ordinary);
}

/// Prepares the outermost block of a transaction.
block& begin_outermost(runtime_state& s, bool direct) noexcept {
    reset_for_transaction(s, direct);
    s.serial_reason = nullptr;
    block& b = *s.outermost;
    b.parent = nullptr;
    return b;
}

/// Begins a block of the biased owner, if d is the owner. No registers are saved, because such a block never restarts.
std::uint32_t begin_fast_as_owner(descriptor& d, runtime_state& s, std::uint32_t properties, void* resume,
                                  void* stack) {
    if (d.bias.word_as_owner == 0 || d.bias.blocks_until_next_try != 0 || d.running() || s.counters != nullptr)
        return 0;
    block& b = begin_outermost(s, true);
    describe_block(b, stack, resume, properties, ++s.latest_id);
    b.final = true;
    if (!api::open_as_biased_owner(d, b, site_of(s, resume), ordinary)) return 0;
    return run_uninstrumented | save_live_variables;
}

/// Counts a block that runs alone because there are no other threads. A block that would run alone in any case is
/// counted separately.
TUTTI_COLD void record_biased(block_counters& counters, const void* block, bool would_run_alone) noexcept {
    if (!would_run_alone) return counters.record_single_threaded(block);
    counters.begin(block);
    counters.record_switch({switch_reason::from_begin, nullptr, nullptr});
}

/// Runs f, which may raise a signal for a block of the library. That block belongs to this descriptor or to one around
/// it. No block of the language that could receive the signal is open yet. The signal must not leave begin as an
/// exception, because the compiler assumes that begin does not throw.
template <class F>
void open_with_forwarding(descriptor& d, const runtime_state& s, const block* around, F&& f) {
    bool signalled = false;
    try {
        f();
    } catch (const detail::unwind&) {
        signalled = true;  // the signal is forwarded after the end of the handler
    }
    if (!signalled) return;
    if (s.counters != nullptr && around == nullptr) {
        // If the descriptor is idle, it receives a signal because another transaction waits for the transaction of the
        // descriptor around it.
        if (d.running()) s.counters->record_abort(d.cause, s.counters->conflicting_block(), false);
        else s.counters->record_abort(abort_cause::killed, nullptr, false);
    }
    forward_to_library(d);
}

/// Begins a block alone. Returns 0 if the block cannot run alone, but can run in software (HND2).
TUTTI_NOINLINE std::uint32_t begin_alone(descriptor& d, runtime_state& s, block& b) {
    if (s.counters != nullptr) s.counters->begin(b.saved.resume);
    const detail::call_site where = site_of(s, b.saved.resume);
    if (!api::open_alone(d, b, where, irrevocable_at_once)) {
        if (!must_run_alone(b.properties)) return 0;
        open_with_forwarding(d, s, nullptr, [&] { d.algorithm->open_plainly(d, b, where, irrevocable_at_once); });
        api::become_serial(d);
    }
    if (s.counters != nullptr) {
        s.counters->record_waits(d);
        s.counters->record_switch({switch_reason::from_begin, nullptr, nullptr});
        s.counters->record_alone();
    }
    s.direct = true;
    b.final = true;
    return begun(b, code_of(b.properties, true));
}

TUTTI_NOINLINE std::uint32_t begin_nested(descriptor& d, std::uint32_t properties, const registers& at) {
    check_left_behind(d, at);
    runtime_state& s = runtime_state_of(d);
    block* const around = next_block(d.frame_);
    if (around == nullptr) {
        reset_for_transaction(s, d.serial);
        describe_block(*s.outermost, at, properties, ++s.latest_id);
        if (d.run.attempt == 1) s.outermost->wants_serial = false;  // a later attempt may be due to this request
        if (s.counters != nullptr) s.counters->begin(at.resume);
    }
    if (!s.direct && must_run_alone(properties)) {
        open_with_forwarding(d, s, around, [&] {
            run_alone(d, "a block that has no instrumented code", {switch_reason::from_begin, at.resume, nullptr});
            release_resources(d);
        });
    }
    // If a block can be cancelled and is inside uninstrumented code, the compiler reports its code as uninstrumented.
    // But the block has barriers nevertheless.
    const bool can_end_alone = (properties & has_no_cancel) == 0;
    if (around == d.frame_ && (!can_end_alone)) {
        ++around->merged;
        if (s.counters != nullptr) s.counters->record_nested(at.resume);
        return code_of(properties, s.direct) | save_live_variables;
    }
    block& b = around != nullptr ? inner_block(*around) : *s.outermost;
    if (around != nullptr) describe_block(b, at, properties, ++s.latest_id);
    b.read_only = false;
    b.exceptions = mark_exceptions(d);
    open_with_forwarding(d, s, around, [&] {
        if (around == nullptr) api::enter_language(d);
        detail::open_nested(d, b);
    });
    if (s.counters != nullptr && around != nullptr) s.counters->record_nested(at.resume);
    b.was_direct = s.direct;
    // If a block of the library is between this block and the next one, that block may be cancelled. Its cancel undoes
    // only writes through barriers, so this block must use barriers.
    b.logs = can_end_alone || (around != b.parent && !must_run_alone(properties));
    s.direct = s.direct && !b.logs;
    return begun(b, code_of(properties, s.direct));
}

/// A block inside a hardware attempt is part of that attempt.
std::uint32_t begin_in_hardware(runtime_state& s, std::uint32_t properties) noexcept {
    if (!may_run_directly(properties)) hardware_context::leave();
    s.hardware.begin_nested();
    return run_uninstrumented | save_live_variables;
}

TUTTI_NOINLINE void commit_nested(descriptor& d, block& b) {
    runtime_state& s = runtime_state_of(d);
    if (b.merged != 0) {
        --b.merged;
        return;
    }
    if (next_block(b.parent) == nullptr) hold_leaving_exception(d);
    detail::close_nested(d, b);
    s.direct = s.direct || b.was_direct;
    if (b.was_direct) release_resources(d);
    if (s.counters != nullptr && next_block(d.frame_) == nullptr) s.counters->commit();
}

}  // namespace

descriptor& attach() noexcept {
    descriptor& d = api::attach_language();
    if (!has_runtime_state(d)) d.set_data_of_layer(new runtime_state{d, block_counters::make(d)});
    // Another thread of the process may begin blocks soon, and may call exit while this thread runs a block. Then the
    // output of a block without barriers could not be distinguished from other output. So this thread delays its next
    // try to become the biased owner.
    if (__libc_single_threaded == 0) d.bias.blocks_until_next_try = core::blocks_between_bias_tries;
    return d;
}

void run_alone(descriptor& d, const char* why, const switch_key& key) {
    runtime_state& s = runtime_state_of(d);
    s.serial_reason = why;
    if (!d.serial) {
        // The switch is counted once for an execution, however often the block restarts.
        if (s.counters != nullptr && !s.outermost->wants_serial) s.counters->record_switch(key);
        s.outermost->wants_serial = true;
        d.become_irrevocable(why);
        api::become_serial(d);
        if (s.counters != nullptr) s.counters->record_alone();
        s.outermost->wants_serial = false;
    }
    s.direct = true;
    // All blocks around a final block are final, so the loop stops at the first final block. Otherwise, repeated unsafe
    // operations in a deep block would walk to the outermost block each time.
    for (detail::frame* f = d.frame_; f != nullptr; f = f->parent) {
        if (is_block(f) && std::exchange(static_cast<block*>(f)->final, true)) break;
    }
}

}  // namespace tutti::itm

using namespace tutti::itm;

/// Begins quickly, without saved registers. Returns 0 if the caller has to call `tutti_itm_begin`.
extern "C" std::uint32_t tutti_itm_begin_quickly(std::uint32_t properties, void* resume, void* stack) noexcept {
    auto* const d = static_cast<descriptor*>(tutti::detail::current_transaction);
    if (d == nullptr || !has_runtime_state(*d) || !may_run_directly(properties)) return 0;
    runtime_state& s = runtime_state_of(*d);
    if (!s.hardware.is_usable()) return begin_fast_as_owner(*d, s, properties, resume, stack);
    return s.hardware.begin(*d, resume) ? run_uninstrumented | save_live_variables : 0;
}

extern "C" std::uint32_t tutti_itm_begin(std::uint32_t properties, const registers* at) noexcept {
    descriptor* known = static_cast<descriptor*>(tutti::detail::current_transaction);
    if (known == nullptr || !has_runtime_state(*known)) [[unlikely]]
        known = &attach();
    descriptor& d = *known;
    runtime_state& s = runtime_state_of(d);
    if (s.hardware.is_running()) return begin_in_hardware(s, properties);
    if (d.running()) return begin_nested(d, properties, *at);
    bool alone = must_run_alone(properties);
    if (s.hardware.is_usable() && may_run_directly(properties)) {
        using execution_path = hardware_context::execution_path;
        const execution_path path =
            s.hardware.choose_path(d, at->resume, alone ? execution_path::alone : execution_path::software);
        if (path == execution_path::hardware) return run_uninstrumented | save_live_variables;
        alone = path == execution_path::alone;
    }
    block& b = begin_outermost(s, false);
    describe_block(b, *at, properties, ++s.latest_id);
    b.wants_serial = false;
    b.exceptions = mark_exceptions(d);
    if (!s.hardware.is_usable() && (alone || may_run_directly(properties)) && opens_as_biased_owner(d, s, b)) {
        s.direct = true;
        b.final = true;
        if (s.counters != nullptr) [[unlikely]]
            record_biased(*s.counters, at->resume, alone);
        return begun(b, code_of(properties, true));
    }
    if (alone) [[unlikely]] {
        if (!must_run_alone(properties))
            s.serial_reason = "it failed in hardware, and a block with a __transaction_cancel would continue";
        if (const std::uint32_t code = begin_alone(d, s, b); code != 0) return code;
        s.serial_reason = nullptr;
    }
    if (s.counters != nullptr) [[unlikely]]
        s.counters->begin(at->resume);
    d.algorithm->open_plainly(d, b, site_of(s, at->resume), ordinary);
    if (s.counters != nullptr) [[unlikely]]
        s.counters->record_waits(d);
    return begun(b, run_instrumented);
}

TUTTI_NOINLINE static void commit_in_software() noexcept {
    descriptor& d = current();
    block& b = innermost(d);
    if (b.merged != 0 || b.parent != nullptr) return commit_nested(d, b);
    if (!or_die(b, "end", [&d] { return d.operations_->commit(d); })) [[unlikely]]
        receive_signal(d);
    d.serial = false;  // the period of a serial owner has already ended; that of the biased owner ends here
    runtime_state& s = runtime_state_of(d);
    if (s.counters != nullptr) [[unlikely]] {
        s.counters->commit();
        s.counters->resolve_new_addresses();
    }
}

TUTTI_ITM void _ITM_commitTransaction() noexcept {
    if (runtime_state& s = runtime_state_of(current()); s.hardware.is_running()) return s.hardware.end();
    commit_in_software();
}

TUTTI_ITM void _ITM_commitTransactionEH(void* exception) noexcept {
    descriptor& d = current();
    // If the block has already ended, a signal is passing here on its way to a block of the library, and there is
    // nothing to commit. There is one other case: the transaction was killed in a destructor that ran while the signal
    // passed. Then the attempt is doomed and its block is still open, but the check of the innermost frame below finds
    // the library's block.
    runtime_state& s = runtime_state_of(d);
    if (s.hardware.is_running()) return s.hardware.end();
    if (!is_block(d.frame_)) return;
    // If the unwinding has no exception class, the thread is ending.
    if (static_cast<const _Unwind_Exception*>(exception)->exception_class == 0 &&
        tutti::api::ends_cancellable_anywhere())
        tutti::api::die_of_asynchronous_cancel(d);
    s.leaving_exception = exception;
    _ITM_commitTransaction();
    s.leaving_exception = nullptr;
}

TUTTI_ITM void _ITM_abortTransaction(std::uint32_t why) noexcept {
    descriptor& d = current();
    if (runtime_state_of(d).hardware.is_running()) hardware_context::leave();
    if ((why & outer_cancel) != 0) {
        while (is_block(d.frame_->parent)) d.frame_ = d.frame_->parent;
    }
    const block& b = innermost(d);
    if (b.final) die_in_undo(d, b);
    or_die(b, (why & (user_retry | conflict)) != 0 ? "start over" : "be cancelled", [&] {
        if ((why & user_retry) != 0) tutti::detail::raise_retry(d);
        if ((why & conflict) != 0) tutti::detail::raise_restart(d);
        tutti::detail::raise_cancel(d);
    });
}

TUTTI_ITM void _ITM_changeTransactionMode(std::uint32_t) noexcept {
    if (runtime_state_of(current()).hardware.is_running())
        return;  // an operation that cannot run in hardware ends the attempt by itself
    descriptor& d = current();
    run_alone(d, "an operation that is not transaction-safe",
              {switch_reason::unsafe_operation, __builtin_return_address(0), nullptr});
    release_resources(d);
}

TUTTI_EXPORT void tutti_itm_run_alone(const char* why, const char* instead) {
    descriptor& d = current();
    const library_call& by = runtime_state_of(d).latest_call;
    run_alone(d, why, {switch_reason::library_call, by.where, nullptr, by.function, why, instead});
}

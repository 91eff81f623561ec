#include "core/rollback/user_code.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>

#include "base/panic.hpp"
#include "core/ports/algorithm.hpp"
#include "core/rollback/deferred.hpp"
#include "core/state/ancestry.hpp"
#include "core/state/fault_injection.hpp"

namespace tutti::core {
namespace {

void destroy(const deferred& e) noexcept {
    if (is_handler(e.what)) delete handler_of(e);
    else if (e.what != deferred::kind::discarded || !injected(fault::leak_allocations)) e.destroy(e.object);
}

descriptor* running_ancestor(descriptor& d) noexcept {
    descriptor* o = d.outer;
    while (o != nullptr && !o->running()) o = o->outer;
    return o;
}

/// Passes an entry to the log of `to`. Returns false if memory runs out. Then the caller has to destroy the object.
bool hand_over(descriptor& to, const deferred& e) noexcept {
    try {
        defer(to, is_handler(e.what) ? deferred::kind::over : e.what, e.object, e.destroy);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

/// Destroys the entries for which `holds` is true, and marks them as spent. The entries that were set aside come first,
/// in their order, and then the others, the newest first.
template <class Predicate>
void destroy_some(descriptor& d, memory::log<deferred>& entries, Predicate&& holds) noexcept {
    descriptor* const around = running_ancestor(d);
    if (around != nullptr) {
        // Entries are passed on in the reverse order, because the transaction around d destroys the newest entry first.
        const auto give = [&](deferred& e) {
            if (holds(e) && hand_over(*around, e)) e.what = deferred::kind::spent;
        };
        for (deferred& e : entries) give(e);
        for (std::size_t i = entries.aside(); i-- > 0;) give(entries.aside(i));
    }
    const idle_destructor_scope section{d};
    const auto end = [&](deferred& e) {
        if (holds(e)) destroy(std::exchange(e, {deferred::kind::spent, 0, nullptr, nullptr}));
    };
    for (std::size_t i = 0; i < entries.aside(); ++i) end(entries.aside(i));
    for (std::size_t i = entries.size(); i-- > 0;) end(entries[i]);
}

bool is_left(const deferred& e) noexcept { return e.what != deferred::kind::spent; }

bool is_of_nested_block(const deferred& e) noexcept {
    return e.what == deferred::kind::doomed || e.what == deferred::kind::discarded;
}

/// A nested block that the engine opens around destructors. Its mark separates the destructors' writes from earlier
/// writes. A signal that reaches this block finds no frame to jump to.
class destructors_block {
public:
    explicit destructors_block(descriptor& d) noexcept : d_{d} {
        f_.parent = d.frame_;
        f_.read_only = d.frame_->read_only;
        f_.mark = {d.writes.size(), d.overwritten.size(), d.deferred_log.size(), d.reads(), d.run.waits_made};
        d.frame_ = &f_;
    }
    /// Drops the destructors' reads if the destructors have written nothing. Such reads do not affect the transaction,
    /// and may refer to freed memory.
    ~destructors_block() {
        const bool changed = d_.pending != signal::none || d_.writes.size() != f_.mark.writes ||
                             d_.overwritten.size() != f_.mark.overwritten || d_.deferred_log.size() != f_.mark.deferred;
        if (!changed && !d_.strict()) d_.drop_reads(f_.mark.reads);
        d_.frame_ = f_.parent;
    }
    destructors_block(const destructors_block&) = delete;
    destructors_block& operator=(const destructors_block&) = delete;

private:
    descriptor& d_;
    detail::frame f_;
};

/// Releases a reference to an exception.
constexpr detail::destroyer drop_exception = [](void* object) {
    static_assert(sizeof(std::exception_ptr) == sizeof(void*));  // an exception_ptr is a pointer to the object
    reinterpret_cast<std::exception_ptr*>(&object)->~exception_ptr();
};

}  // namespace

void destroy_leftovers(descriptor& d, memory::log<deferred>& left) noexcept {
    destroy_some(d, left, is_left);
    left.clear();
    left.shrink_aside(0);
}

void run_after_commit(descriptor& d, memory::log<deferred>& after) {
    destroy_some(d, after, is_of_nested_block);
    if (injected(fault::reverse_handlers)) std::reverse(after.begin(), after.end());
    std::exception_ptr first;
    for (const deferred& e : after) {
        if (e.what != deferred::kind::on_commit) continue;
        TUTTI_ASSERT(is_idle(d), "on_commit handlers run when the descriptor is idle");
        try {
            handler_of(e)->run(d, abort_cause::none);
        } catch (const abi::__forced_unwind&) {
            // The thread exits and must not be delayed, so the remaining handlers do not run.
            d.threw_after_commit = !d.running_undo;
            destroy_leftovers(d, after);
            throw;
        } catch (...) {
            if (!first) first = std::current_exception();
        }
    }
    destroy_leftovers(d, after);
    if (!first) return;
    d.threw_after_commit = !d.running_undo;
    std::rethrow_exception(first);
}

void destroy_in_parent(descriptor& d, std::size_t from, std::size_t reads) noexcept {
    // Three cases are excluded. If the block has read something, the log names variables that a destructor may free. If
    // the block around promised to write nothing, a destructor may not write. In a strict attempt, the destructor would
    // mark its reads, and only the end of the attempt removes marks.
    const bool marks_reads = d.strict() && !d.algorithm->one_at_a_time;
    if (d.reads() != reads || d.frame_->read_only || marks_reads) return;
    TUTTI_ASSERT(d.running() && d.pending == signal::none && (d.slow_path & ~slow_path_timed) == 0,
                 "destructors run in a transaction that is healthy");
    const destructor_shield no_signal_leaves{d};
    memory::log<deferred>& entries = d.deferred_log;
    const std::size_t before = entries.size();
    // The loop uses an index, because a destructor may set aside more entries behind these, and the log may then move
    // in memory.
    const std::size_t to = entries.aside();
    for (std::size_t i = from; i < to; ++i) {
        if (entries.aside(i).what != deferred::kind::doomed) continue;
        const deferred one = std::exchange(entries.aside(i), {deferred::kind::spent, 0, nullptr, nullptr});
        const destructors_block around{d};
        one.destroy(one.object);
    }
    std::size_t kept = from;
    for (std::size_t i = from; i < entries.aside(); ++i) {
        if (is_left(entries.aside(i))) entries.aside(kept++) = entries.aside(i);
    }
    entries.shrink_aside(kept);
    if (injected(fault::lose_handlers_of_destructors)) entries.shrink(before);
}

void keep_exception(descriptor& d) noexcept {
    alignas(std::exception_ptr) unsigned char reference[sizeof(std::exception_ptr)];
    ::new (reference) std::exception_ptr{std::current_exception()};
    void* object = nullptr;
    std::memcpy(&object, reference, sizeof object);
    // If memory for the entry runs out, the reference is dropped. Then the handler destroys the exception, as if the
    // exception had not been kept.
    if (object != nullptr && !hand_over(d, {deferred::kind::doomed, 0, object, drop_exception})) drop_exception(object);
}

}  // namespace tutti::core

#include "core/lifecycle/left_behind.hpp"

#include <pthread.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/emergency_output.hpp"
#include "base/panic.hpp"
#include "core/lifecycle/ends.hpp"
#include "core/lifecycle/open_nesting.hpp"
#include "core/rollback/traced.hpp"
#include "core/state/critical.hpp"
#include "observe/site.hpp"
#include "tutti/errors.hpp"

namespace tutti::core {
namespace {

using text = std::array<char, 320>;

/// What the calling thread has last requested by pthread_setcanceltype.
struct cancel_type_requests {
    bool anywhere;  ///< the latest request was for asynchronous cancellation
    bool seen;      ///< there was a request after `seen` was cleared
};
constinit thread_local cancel_type_requests requests{};

bool is_of_language(const detail::frame& f) noexcept {
    const language_blocks* const language = blocks_of_language.load(std::memory_order_acquire);
    return language != nullptr && f.receive == language->receive;
}

/// Returns the name of a block. Does not read the frame of a block of the library, because that frame may have been
/// overwritten.
text name_of_block(const descriptor& d, const detail::frame* language_frame, bool in_language) noexcept {
    text name{};
    if (in_language) {
        blocks_of_language.load(std::memory_order_acquire)->name(d, language_frame, name.data(), name.size());
    } else if (d.run.where.slot != nullptr) {
        std::snprintf(name.data(), name.size(), "%s:%u", observe::file_of(d.run.where), observe::line_of(d.run.where));
    }
    return name;
}

/// Returns true if both addresses are on the stack of the calling thread, or of the calling context of the preemption
/// layer. Returns false for other contexts that have stacks of their own.
bool are_on_this_stack(const descriptor& d, std::uintptr_t a, std::uintptr_t b) noexcept {
    if (d.hooks != nullptr && d.hooks->stack_bytes != 0) {
        const auto from = reinterpret_cast<std::uintptr_t>(d.hooks->stack);
        return a - from < d.hooks->stack_bytes && b - from < d.hooks->stack_bytes;
    }
    pthread_attr_t attributes;
    if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return false;
    void* begin = nullptr;
    std::size_t size = 0;
    const bool known = ::pthread_attr_getstack(&attributes, &begin, &size) == 0;
    ::pthread_attr_destroy(&attributes);
    const auto from = reinterpret_cast<std::uintptr_t>(begin);
    return known && a - from < size && b - from < size;
}

[[noreturn]] void refuse(const descriptor& d, const detail::frame* language_frame) noexcept {
    const text name = name_of_block(d, language_frame, language_frame != nullptr);
    std::array<char, 640> message{};
    std::snprintf(message.data(), message.size(),
                  "the block at %s was left by a jump (longjmp), so it neither commits nor is rolled back; leave a "
                  "block by its end, an exception, or a cancel",
                  name.data());
    base::panic(message.data());
}

bool isolates(const descriptor& d) noexcept { return d.hooks != nullptr && d.hooks->isolates; }

/// Returns true if a jump to a function with that stack pointer leaves the block f of d.
bool leaves(const descriptor& d, const detail::frame& f, std::uintptr_t stack, std::uintptr_t resume) noexcept {
    if (stack < f.stack || !are_on_this_stack(d, f.stack, stack)) return false;
    // The target may be the function with the block itself. A library block is then left, because its body has a frame
    // of its own: a function that calls setjmp is not inlined. A block of the language is part of the function, and
    // stays open if the jump continues after the block's begin.
    const bool in_same_function_after_begin =
        is_of_language(f) && stack == f.stack && resume > blocks_of_language.load(std::memory_order_acquire)->resume(f);
    return !in_same_function_after_begin;
}

/// Leaves the innermost block of d as an exception would. The frames of the block are intact.
void leave_block(descriptor& d) noexcept {
    detail::frame& f = *d.frame_;
    if (is_of_language(f) || !isolates(d)) refuse(d, is_of_language(f) ? &f : nullptr);
    // A jump out of a signal handler that has interrupted a step of the engine cannot be handled.
    if (d.critical_depth.load(std::memory_order_relaxed) != 0) refuse(d, nullptr);
    outermost_of(d).left_by_jump = true;
    if (f.parent != nullptr) detail::fail_nested(d, f);
    else execution_abandon(d, d.pending != signal::none ? d.cause : abort_cause::usage);
}

/// Leaves each block that a jump to a function with that stack pointer would leave.
void leave_blocks(descriptor& innermost, std::uintptr_t stack, std::uintptr_t resume, bool with_pending) noexcept {
    for (descriptor* d = &innermost;;) {
        bool left = false;
        while (d->running() && (with_pending || d->pending == signal::none) && leaves(*d, *d->frame_, stack, resume)) {
            leave_block(*d);
            left = true;
        }
        // The jump also skips the end of open_nested.
        if (!left || d->running() || d->outer == nullptr) return;
        d = d->outer;
        leave_open_nested(*d);
    }
}

/// Rolls back the blocks of d without reading their frames or options, which may have been overwritten.
void abandon_without_frames(descriptor& d) noexcept {
    if (d.exceptions_at_open == opened_by_language) refuse(d, nullptr);
    static constexpr options usual{};
    detail::frame in_their_place;
    d.frame_ = &in_their_place;
    d.run.how = &usual;
    d.run.deadline_state.active = false;
    execution_abandon(d, abort_cause::usage);
}

}  // namespace

bool is_left_behind(const descriptor& d, std::uintptr_t stack) noexcept {
    const std::uintptr_t frame =
        is_of_language(*d.frame_) ? d.frame_->stack : reinterpret_cast<std::uintptr_t>(d.frame_);
    return frame < stack && are_on_this_stack(d, frame, stack);
}

void die_left_behind(const descriptor& d) noexcept { refuse(d, is_of_language(*d.frame_) ? d.frame_ : nullptr); }

void die_if_left_behind(const descriptor& d, std::uintptr_t stack) noexcept {
    if (is_left_behind(d, stack)) die_left_behind(d);
}

void refuse_to_nest_in_left_behind(descriptor& d) {
    if (is_of_language(*d.frame_) || !isolates(d)) die_left_behind(d);
    outermost_of(d).left_by_jump = true;
    throw usage_error{
        "tutti: an atomic block was left by a jump (longjmp, setcontext), and the procedure opens another one; leave a "
        "block by its end, an exception, or a cancel"};
}

void roll_back_blocks_left_by_jump(descriptor& innermost, std::uintptr_t stack, std::uintptr_t resume) noexcept {
    leave_blocks(innermost, stack, resume, false);
}

void roll_back_blocks_below(descriptor& innermost, std::uintptr_t stack) noexcept {
    // The function at `stack` continues. So a block that this function has opened itself stays open.
    leave_blocks(innermost, stack - 1, 0, true);
}

call_boundary::call_boundary() noexcept : of_{nullptr}, around_{nullptr} {
    if (detail::current_transaction == nullptr) return;
    of_ = &descriptor::of(*detail::current_transaction);
    around_ = of_->frame_;
    outermost_of(*of_).left_by_jump = false;
}

// Blocks that a procedure has left open are inside the blocks that were open before the call. The frames of those
// earlier blocks are intact, because they belong to the caller or lie further out.
bool call_boundary::left_block() noexcept {
    if (detail::current_transaction == nullptr) return false;
    descriptor* d = &descriptor::of(*detail::current_transaction);
    if (of_ == nullptr) of_ = &outermost_of(*d);  // the procedure began the first transaction of its thread
    while (d != of_ && d->outer != nullptr) {
        if (d->running()) abandon_without_frames(*d);
        descriptor& outer = *d->outer;
        outer.left_by_jump = true;
        detail::frame in_their_place;
        detail::frame* const open = std::exchange(outer.frame_, outer.running() ? &in_their_place : nullptr);
        leave_open_nested(outer);
        outer.frame_ = open;
        d = &outer;
    }
    bool& left = outermost_of(*d).left_by_jump;
    if (d->running() && d->frame_ != around_) {
        left = true;
        if (around_ == nullptr) abandon_without_frames(*d);
        else d->frame_ = around_;  // the block around the call has to fail, which rolls back everything
    }
    return left;
}

call_boundary::~call_boundary() { static_cast<void>(left_block()); }

void record_cancel_type(int type) noexcept { requests = {type == PTHREAD_CANCEL_ASYNCHRONOUS, true}; }

bool ends_cancellable_anywhere() noexcept {
    const bool asked = requests.anywhere;
    requests.seen = false;
    int type = PTHREAD_CANCEL_DEFERRED;
    const int error = ::pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    if (error != 0 || type != PTHREAD_CANCEL_ASYNCHRONOUS) return false;
    // The library intercepts the call above only if it also intercepts the program's calls. The library intercepts no
    // call if it is linked statically, or was loaded by a plug-in. Then the C library's answer decides, although a
    // system call with deferred cancellation may have set that answer.
    return asked || !requests.seen;
}

void die_of_asynchronous_cancel(const descriptor& d) noexcept {
    const detail::frame* const open = d.frame_;
    // If no block is open, d still has the site of the latest block of the library, and src/itm that of the latest
    // block of the language.
    const bool in_language = open != nullptr ? is_of_language(*open) : d.has_data_of(layer::language);
    const text name = name_of_block(d, open, in_language);
    std::array<char, 640> message{};
    std::snprintf(
        message.data(), message.size(),
        "tutti: a thread ended by asynchronous cancellation in, or next to, the block at %s, which may be half "
        "begun or half ended; call pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED) before atomic blocks\n",
        name[0] != '\0' ? name.data() : "an unknown place");
    // The message bypasses stdio, because a write of stdio waits forever in a thread that cancels itself.
    base::write_emergency_message(message.data());
    std::abort();
}

}  // namespace tutti::core

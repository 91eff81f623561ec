// The contexts of a scheduler, and the places that limit how many of them are admitted (CTX5).
//
// The pool has two lists of free contexts. A context that ran recently is kept for work that starts, because its stack
// and its transaction's logs are in the cache. Work that waits gets another context, if there is one.
//
// Thread safety: guarded by the scheduler's lock.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "preempt/context.hpp"

namespace tutti::preempt {

class context_pool {
public:
    context_pool(std::size_t places, std::size_t stack_bytes) : places_{places}, stack_bytes_{stack_bytes} {
        contexts_.reserve(places);
    }
    context_pool(const context_pool&) = delete;
    context_pool& operator=(const context_pool&) = delete;

    /// Creates a free context. @throws std::bad_alloc, std::system_error
    void add() {
        contexts_.push_back(std::make_unique<context>(stack_bytes_));
        push(unused_, *contexts_.back());
    }
    [[nodiscard]] std::span<const std::unique_ptr<context>> all() const noexcept { return contexts_; }
    [[nodiscard]] std::size_t places_taken() const noexcept { return places_taken_; }
    [[nodiscard]] bool is_place_free() const noexcept { return places_taken_ != places_; }

    /// Returns true if no context is free. If a place is free, all contexts are then used by work without a place, and
    /// `add` must precede `next_free`.
    [[nodiscard]] bool is_exhausted() const noexcept { return unused_ == nullptr && recently_run_ == nullptr; }
    /// Returns the context that `take` will return. REQUIRES: !is_exhausted()
    [[nodiscard]] context& next_free() noexcept {
        if (unused_ == nullptr) push(unused_, take_first(recently_run_));
        return *unused_;
    }
    /// Takes a free context. REQUIRES: !is_exhausted()
    [[nodiscard]] context& take() noexcept {
        static_cast<void>(next_free());
        return take_first(unused_);
    }
    /// Takes the free context that ran most recently, or returns null.
    [[nodiscard]] context* take_recently_run() noexcept {
        return recently_run_ == nullptr ? nullptr : &take_first(recently_run_);
    }
    /// Frees a context that has not run since it was taken.
    void free_unused(context& c) noexcept { free(unused_, c); }
    /// Frees a context that has just run.
    void free_recently_run(context& c) noexcept { free(recently_run_, c); }

    /// Gives the context a place. REQUIRES: is_place_free(), and the context has none.
    void take_place(context& c) noexcept {
        c.has_place = true;
        ++places_taken_;
    }
    void release_place(context& c) noexcept {
        if (std::exchange(c.has_place, false)) --places_taken_;
    }

private:
    static void push(context*& on, context& c) noexcept {
        c.next = on;
        on = &c;
    }
    static context& take_first(context*& of) noexcept {
        context& first = *of;
        of = static_cast<context*>(first.next);
        return first;
    }
    static void free(context*& on, context& c) noexcept {
        c.state = run_state::pooled;
        push(on, c);
    }

    const std::size_t places_, stack_bytes_;
    std::vector<std::unique_ptr<context>> contexts_;
    context* unused_ = nullptr;
    context* recently_run_ = nullptr;  // the latest one first
    std::size_t places_taken_ = 0;
};

}  // namespace tutti::preempt

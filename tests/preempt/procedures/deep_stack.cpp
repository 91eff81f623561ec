#include "preempt/procedures/deep_stack.hpp"

#include <cstdlib>

#include "tutti/interrupt.hpp"
#include "tutti/open_nesting.hpp"

// LeakSanitizer's function, if it exists.
extern "C" [[gnu::weak]] void __lsan_disable();

namespace procedures {
namespace {

/// Must be destroyed, whatever way out the procedure takes.
struct living {
    explicit living(deep_stack& d) : of{d} { of.live_objects.fetch_add(1); }
    ~living() { of.live_objects.fetch_sub(1); }
    deep_stack& of;
};

/// Recurses; `before` runs in every step. `kept` is used after the call, so that a compiler does not turn the recursion
/// into a loop.
template <class F>
[[gnu::noinline]] std::uint64_t step(std::uint64_t depth, F& before) {
    volatile std::uint64_t kept[8] = {depth};
    before();
    if (depth == ~std::uint64_t{0}) return 0;  // prevents the compiler from detecting an infinite recursion
    const std::uint64_t below = step(depth + 1, before);
    return below + kept[depth % 8];
}

const auto nothing = [] { asm volatile(""); };

/// Ends a transaction whose frames must be unchanged at the roll-back.
void hand_over(deep_stack& d, tutti::tx& t, volatile std::uint64_t& in_frame) {
    in_frame = seen_in_frame;
    t.on_abort([&d, &in_frame](tutti::abort_cause) { d.undone = in_frame; });
    d.of->set(t, d.of->get(t) + 1);
}

int recurse_and_compare(const void* a, const void* b, void* of_deep_stack) {
    volatile char wide[4096];  // so that few steps overflow the stack
    wide[0] = 0;
    recurse_through_qsort(of_deep_stack);
    return wide[0] + *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

}  // namespace

void on_termination(void* of_deep_stack) noexcept {
    static_cast<deep_stack*>(of_deep_stack)->terminations.fetch_add(1);
}

void recurse(void* of_deep_stack) noexcept {
    static_cast<deep_stack*>(of_deep_stack)->turns = step(0, nothing);
    static_cast<deep_stack*>(of_deep_stack)->ended.fetch_add(1);
}

void use_one_large_frame(void* of_deep_stack) noexcept {
    auto& d = *static_cast<deep_stack*>(of_deep_stack);
    const std::size_t bytes = 3'000'000 + d.turns.load();
    volatile char* const low = static_cast<char*>(__builtin_alloca(bytes));
    low[0] = 1;
    low[bytes - 1] = 1;
    d.ended.fetch_add(low[0]);
}

void recurse_allocating(void* of_deep_stack) noexcept {
    auto& d = *static_cast<deep_stack*>(of_deep_stack);
    if (__lsan_disable != nullptr) __lsan_disable();  // allocations are lost when the procedure is terminated
    const auto allocate = [] {
        void* volatile piece = std::malloc(100);
        std::free(piece);
    };
    d.turns = step(0, allocate);
    d.ended.fetch_add(1);
}

void recurse_reading(void* of_deep_stack) noexcept {
    auto& d = *static_cast<deep_stack*>(of_deep_stack);
    try {
        tutti::atomically([&](tutti::tx& t) {
            const living first{d};
            d.of->set(t, 1);
            const auto read = [&] {
                const living here{d};
                d.turns.fetch_add(static_cast<std::uint64_t>(d.of->get(t)));
            };
            static_cast<void>(step(0, read));
        });
        d.ended.fetch_add(1);
    } catch (const tutti::stack_overflow_error&) {
        d.threw.fetch_add(1);
    }
}

void recurse_owning(void* of_deep_stack) noexcept {
    auto& d = *static_cast<deep_stack*>(of_deep_stack);
    tutti::atomically([&](tutti::tx& t) {
        volatile std::uint64_t in_frame = 0;
        hand_over(d, t, in_frame);
        d.turns = step(0, nothing);
    });
    d.ended.fetch_add(1);
}

void recurse_open_nested(void* of_deep_stack) noexcept {
    auto& d = *static_cast<deep_stack*>(of_deep_stack);
    tutti::var<int> inner{0};
    tutti::atomically([&](tutti::tx& t) {
        volatile std::uint64_t in_frame = 0;
        hand_over(d, t, in_frame);
        tutti::open_nested(
            t,
            [&](tutti::tx& own) {
                inner.set(own, 1);
                d.turns = step(0, nothing);
            },
            [](tutti::tx&) {});
    });
    d.ended.fetch_add(1);
}

void recurse_through_qsort(void* of_deep_stack) noexcept {
    int two[2] = {2, 1};
    ::qsort_r(two, 2, sizeof(int), recurse_and_compare, of_deep_stack);
    static_cast<deep_stack*>(of_deep_stack)->turns = static_cast<std::uint64_t>(two[0]);
}

void recurse_to_the_floor(void* of_deep_stack) noexcept {
    auto& d = *static_cast<deep_stack*>(of_deep_stack);
    constexpr std::ptrdiff_t left = 1500;  // too little for any signal frame
    const auto here = static_cast<const char*>(__builtin_frame_address(0));
    const auto all = static_cast<std::size_t>(here - d.floor() - left);
    volatile char* const low = static_cast<char*>(__builtin_alloca(all));
    low[0] = 1;
    std::uint64_t turns = 0;
    while (!d.stop.load(std::memory_order_relaxed)) d.turns.store(++turns, std::memory_order_relaxed);
    d.ended.fetch_add(low[0]);
}

void write_through(void* of_pointer) noexcept {
    auto& p = *static_cast<pointer*>(of_pointer);
    *p.to = 1;
    p.done = true;
}

}  // namespace procedures

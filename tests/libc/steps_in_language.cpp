#include "steps.hpp"

extern "C" void _ITM_abortTransaction(std::uint32_t) __attribute__((noreturn, transaction_pure));
extern "C" int _ITM_inTransaction() __attribute__((transaction_pure));

namespace streams {
namespace {

int restarts_left = 0;

// A roll-back keeps answers and restarts, so the compiler must not instrument their writes.
[[gnu::transaction_pure, gnu::noinline]] void begin_attempt() {
    answers.clear();
    ended = {};
}
[[gnu::transaction_pure, gnu::noinline]] bool can_be_undone() {
    constexpr int irrevocable = 2;
    return _ITM_inTransaction() != irrevocable;
}
[[gnu::transaction_pure, gnu::noinline]] bool cancels_nested(bool is_planned) {
    return ended.nested_was_cancelled = is_planned && can_be_undone();
}
[[gnu::transaction_pure, gnu::noinline]] bool cancels(bool is_planned) {
    return ended.was_cancelled = is_planned && can_be_undone();
}
[[gnu::transaction_pure, gnu::noinline]] void note(long result) { answers.push_back(answer_of(result, nullptr, 0)); }
// Blocks of the language write in place.
[[gnu::transaction_pure, gnu::noinline]] void note_bytes(long result, std::size_t size) {
    answers.push_back(answer_of(result, got, size));
}
[[gnu::transaction_pure, gnu::noinline]] void note_line(long result) {
    std::size_t n = 0;
    while (got[n] != 0) ++n;
    note_bytes(result, n);
}
[[gnu::transaction_pure, gnu::noinline]] void restart_some_times() {
    if (restarts_left == 0 || !can_be_undone()) return;
    --restarts_left;
    constexpr std::uint32_t conflict = 4;
    _ITM_abortTransaction(conflict);
}

[[gnu::transaction_safe]] void run(FILE* f, const step* steps, std::size_t count) {
    for (std::size_t i = 0; i != count; ++i) {
        const step& s = steps[i];
#define TUTTI_CALL(name, ...) ::name(__VA_ARGS__)
#include "one_step.inc"
#undef TUTTI_CALL
    }
}

[[gnu::transaction_safe]] void run_nested(FILE* f, const step* steps, std::size_t count, bool is_cancelled) {
    __transaction_atomic {
        run(f, steps, count);
        if (cancels_nested(is_cancelled)) __transaction_cancel;
    }
}

}  // namespace

void run_in_language(FILE* f, const plan& p) {
    restarts_left = p.restarts;
    const step *const before = p.before.data(), *const nested = p.nested.data(), *const after = p.after.data();
    const std::size_t size_before = p.before.size(), size_nested = p.nested.size(), size_after = p.after.size();
    const bool nested_is_cancelled = p.nested_is_cancelled, is_cancelled = p.is_cancelled;
    if (is_cancelled || p.restarts != 0 || nested_is_cancelled) {
        __transaction_atomic {
            begin_attempt();
            run(f, before, size_before);
            run_nested(f, nested, size_nested, nested_is_cancelled);
            run(f, after, size_after);
            restart_some_times();
            if (cancels(is_cancelled)) __transaction_cancel;
        }
    } else {
        __transaction_atomic {
            begin_attempt();
            run(f, before, size_before);
            run(f, nested, size_nested);
            run(f, after, size_after);
        }
    }
}

}  // namespace streams

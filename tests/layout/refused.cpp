// Programs that the headers refuse with one message, chosen by REFUSED; without it, similar programs that are allowed.
#include <tutti/containers/bounded_queue.hpp>
#include <tutti/containers/broadcast.hpp>
#include <tutti/containers/hash_map.hpp>
#include <tutti/containers/hash_set.hpp>
#include <tutti/containers/one_shot.hpp>
#include <tutti/containers/ordered_map.hpp>
#include <tutti/containers/ordered_multimap.hpp>
#include <tutti/containers/ordered_set.hpp>
#include <tutti/containers/priority_queue.hpp>
#include <tutti/containers/queue.hpp>
#include <tutti/containers/vector.hpp>
#include <tutti/tutti.hpp>

#include <coroutine>
#include <functional>
#include <memory>

using tutti::tx;
using only_moved = std::unique_ptr<int>;

struct coroutine {
    struct promise_type {
        coroutine get_return_object() { return {}; }
        std::suspend_never initial_suspend() { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() {}
    };
};
inline coroutine suspended(tx&) { co_return; }
inline coroutine suspended_without() { co_return; }
inline constexpr auto suspended_lambda = [](tx&) -> coroutine { co_return; };
inline void nothing(tx&) {}
inline void unfailing(tx&) noexcept {}

inline only_moved make_only_moved(tx&) { return nullptr; }
inline void undo_only_moved(tx&, const only_moved&) {}

void program(tx& t) {
#if defined(REFUSED)
    REFUSED;
#else
    const auto one = [](tx&) { return 1; };
    tutti::atomically(one);
    tutti::atomically(nothing);
    tutti::atomically(std::function<int(tx&)>{one});
    tutti::checkpoint(t, nothing);
    tutti::or_else(t, nothing, nothing);
    tutti::open_nested(t, one, [](tx&, int) {});
    (void)tutti::open_nested(t, make_only_moved, nothing);
    // Signals that restart a block never leave these handlers.
    t.before_commit([]() noexcept {});
    t.at_commit([]() noexcept {});
    t.on_commit([]() noexcept {});
    t.on_abort([](tutti::abort_cause) noexcept {});
#endif
}

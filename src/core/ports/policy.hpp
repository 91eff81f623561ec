// The concept `policy`. A policy decides which of two conflicting transactions aborts or waits, and what the loser does
// before it tries again.
//
// The runtime calls a policy at events. A policy never touches logs or orecs. It answers a conflict with a verdict, and
// the runtime (core/conflict/conflict.hpp) acts on the verdict. Every event function except `conflict` may be null, and
// then costs nothing. All event functions are called on the thread that runs `self`.
//
//   event     when                                           may
//   start     an attempt begins, before its snapshot         announce a rank
//   conflict  self conflicts with `other`, which runs        read the ranks of both
//   abort     the attempt is rolled back                     announce a rank
//   pause     between two attempts, when self holds nothing  wait, through core/waiting/waiting.hpp; not after restart
//   end       the execution is over: committed or abandoned  release waiting transactions
#pragma once

#include <atomic>
#include <string_view>

#include "core/state/descriptor.hpp"

namespace tutti::core {

enum class verdict : std::uint8_t {
    abort_self,  ///< roll back, pause, run again
    kill_other,  ///< ask the other transaction to abort; if that is no longer possible, wait for it
    wait,  ///< wait in place for the end of the other's transaction. Becomes abort_self if the wait could close a cycle
};

/// The steps of a fork. During the fork, a policy locks the data that several threads share.
enum class copying : std::uint8_t {
    begins,
    in_child,  ///< the copy is still in progress; the child has only the thread that forked
    is_over    ///< in both processes
};

/// How a policy treats blocks of other processes, whose state it cannot read. src/cluster follows this setting.
struct remote_conflict_rules {
    enum class precedence_rule : std::uint8_t {
        none,      ///< never goes first
        age,       ///< after a loss, the older block goes first
        work,      ///< after a loss, the block that has opened more objects goes first
        priority,  ///< a block with a priority above 0 goes first
        deadline,  ///< the block with the earlier deadline goes first
        all,       ///< goes before every block that does not claim to go first
    };
    precedence_rule precedence = precedence_rule::none;
    bool may_wait = true;   ///< instead of aborting at once, requests for a while an object that another block holds
    bool may_pause = true;  ///< waits before the next attempt, longer after more losses
};

struct policy {
    std::string_view name;
    std::string_view summary;
    verdict (*conflict)(descriptor& self, descriptor& other, abort_cause where) noexcept;
    void (*pause)(descriptor& self) noexcept;
    void (*start)(descriptor& self) noexcept = nullptr;
    void (*abort)(descriptor& self) noexcept = nullptr;
    void (*end)(descriptor& self) noexcept = nullptr;
    /// Called when the process forks (core/lifecycle/fork.hpp). `self` is the descriptor of the forking thread, or null
    /// if the thread has no descriptor.
    void (*copy)(copying step, const descriptor* self) noexcept = nullptr;
    /// True if the runtime helps a transaction that keeps losing (core/conflict/contention_rank.hpp), which bounds its
    /// restarts.
    bool bounded = true;
    remote_conflict_rules remote{};
};

/// The policy of the process; null until the first call of policy_of.
extern TUTTI_EXPORT std::atomic<const policy*> chosen_policy;

/// Returns the policy of the block that `d` runs: the block's own, or that of the process.
[[nodiscard]] const policy& policy_of(const descriptor& d) noexcept;

/// The number of reasons why first attempts must begin out of line: statistics count transactions, or the process's
/// policy listens. Every begin reads this counter. Restarts, and blocks that name a policy, always begin out of line.
/// Blocks of the language have a counter of their own, because reports do not need their begins.
inline constinit detail::shared<std::uint32_t> listeners{0};
inline constinit detail::shared<std::uint32_t> listeners_to_language{0};

inline void listen_to_library() noexcept { listeners.fetch_add(1, std::memory_order_relaxed); }
inline void listen() noexcept {
    listen_to_library();
    listeners_to_language.fetch_add(1, std::memory_order_relaxed);
}
inline void stop_listening() noexcept {
    listeners.fetch_add(~std::uint32_t{0}, std::memory_order_relaxed);
    listeners_to_language.fetch_add(~std::uint32_t{0}, std::memory_order_relaxed);
}

}  // namespace tutti::core

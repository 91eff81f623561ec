// The concept `policy`: which of two transactions that meet gives way, and what the loser does before it tries again.
//
// A policy is told of events. It never touches logs or orecs; it answers a conflict with a verdict, and the runtime
// (core/conflict/conflict.hpp) carries it out. Every event but `conflict` may be null: what a policy does not listen to
// costs nothing. All of them are called on the thread that runs `self`.
//
//   event     when                                           may
//   start     an attempt begins, before its snapshot         announce a rank; wait a bounded time
//   conflict  self met `other`, which runs                   look at the ranks of both
//   abort     the attempt is rolled back                     announce a rank
//   pause     between two attempts, when self holds nothing  wait, through core/waiting/waiting.hpp; not after restart
//   end       the execution is over: committed or given up   release others
#pragma once

#include <atomic>
#include <string_view>

#include "core/state/descriptor.hpp"

namespace tutti::core {

enum class verdict : std::uint8_t {
    abort_self,  ///< roll back, pause, run again
    kill_other,  ///< ask the other to die; if it can no longer be killed, wait for it
    wait,  ///< wait in place for the end of the other's transaction. Becomes abort_self where it could close a cycle
};

/// The steps of a copy of the process, during which a policy locks what several threads share.
enum class copying : std::uint8_t {
    begins,
    in_child,  ///< it still is; only the thread that copies is here
    is_over    ///< in both
};

/// What a policy makes of the blocks of other processes, which it cannot look at: src/cluster acts by it.
struct distant_conduct {
    enum class claim : std::uint8_t {
        none,      ///< goes before nobody
        age,       ///< once it has lost, the older goes first
        work,      ///< once it has lost, whoever has opened more objects goes first
        priority,  ///< that above 0 goes first
        deadline,  ///< the earlier one goes first
        all,       ///< goes before everybody that makes no claim
    };
    claim by = claim::none;
    bool waits = true;   ///< asks for a while for what another has, rather than give way at once
    bool pauses = true;  ///< before the next attempt, the longer the more it has lost
};

struct policy {
    std::string_view name;
    std::string_view summary;
    verdict (*conflict)(descriptor& self, descriptor& other, abort_cause where) noexcept;
    void (*pause)(descriptor& self) noexcept;
    void (*start)(descriptor& self) noexcept = nullptr;
    void (*abort)(descriptor& self) noexcept = nullptr;
    void (*end)(descriptor& self) noexcept = nullptr;
    /// Another policy has become the process's.
    void (*leave)() noexcept = nullptr;
    /// The process is copied (core/lifecycle/fork.hpp); `self` is the descriptor of the thread that does so, if it has
    /// one.
    void (*copy)(copying step, const descriptor* self) noexcept = nullptr;
    /// Whether a transaction that keeps losing is helped out (core/conflict/contention_rank.hpp): its restarts are then
    /// bounded.
    bool bounded = true;
    /// Whether it needs to hear of the starts of first attempts only while it has called `listen` itself.
    bool listens_on_demand = false;
    distant_conduct abroad{};
};

/// The process's; null until policy_of has first been asked for it.
extern TUTTI_EXPORT std::atomic<const policy*> chosen_policy;

/// The policy of the block that `d` runs: its own, or the process's.
[[nodiscard]] const policy& policy_of(const descriptor& d) noexcept;

/// How many reasons there are to begin first attempts out of line: that transactions are counted, and that the
/// process's policy wants to hear of them. Every begin looks at it; restarts, and blocks that name a policy, go out of
/// line anyway. Those of blocks of the language are counted beside: a report is no reason for them.
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

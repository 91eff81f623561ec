// The concept `policy`: who gives way when two transactions meet.
//
// A policy is told of four events. It never touches logs or records; it answers a conflict with a verdict, and the
// runtime (core/conflict.hpp) carries it out. `start`, `commit` and `abort` may be null: what a policy does not listen
// to costs nothing.
#pragma once

#include <string_view>

#include "core/descriptor.hpp"

namespace tutti::core {

enum class verdict : std::uint8_t {
    abort_self,  ///< roll back, wait outside until the obstacle is gone, run again
    kill_other,  ///< ask the other to die; if it can no longer be killed, wait for it
    wait,  ///< wait in place for the end of the other's transaction. Becomes abort_self where it could close a cycle
};

struct policy {
    std::string_view name;
    verdict (*conflict)(descriptor& self, descriptor& other, abort_cause where) noexcept;
    void (*start)(descriptor& self) noexcept = nullptr;
    void (*commit)(descriptor& self) noexcept = nullptr;
    void (*abort)(descriptor& self, abort_cause cause) noexcept = nullptr;
};

[[nodiscard]] const policy& chosen_policy() noexcept;
/// Whether it wants to hear of starts, which every begin looks at.
extern const bool policy_listens;

}  // namespace tutti::core

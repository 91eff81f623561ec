#include "core/conflict/encounter.hpp"

#include <array>

namespace tutti::core {
namespace {

// The killer's number and one, or 0. Relaxed throughout: the answer is a hint.
constinit std::array<std::atomic<std::uint32_t>, 4096> killers{};

std::atomic<std::uint32_t>& entry_of(const descriptor& d) noexcept { return killers[d.id % killers.size()]; }

}  // namespace

void note_kill(const descriptor& victim, const descriptor& killer) noexcept {
    entry_of(victim).store(killer.id + 1, std::memory_order_relaxed);
}

std::uint32_t last_killer_of(const descriptor& victim) noexcept {
    return entry_of(victim).load(std::memory_order_relaxed) - 1;  // 0 becomes nobody
}

}  // namespace tutti::core

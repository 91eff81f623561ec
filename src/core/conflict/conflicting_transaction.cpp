#include "core/conflict/conflicting_transaction.hpp"

#include <array>

namespace tutti::core {
namespace {

// For each victim, the number of its killer plus 1, or 0. All accesses are relaxed, because the result is only a hint.
constinit std::array<std::atomic<std::uint32_t>, 4096> killers{};

std::atomic<std::uint32_t>& entry_of(const descriptor& d) noexcept { return killers[d.id % killers.size()]; }

const descriptor& descriptor_numbered(std::uint32_t id) noexcept {
    return descriptor::of(memory::status_record_of(id));
}

/// Finds a location that has changed since d read it, and returns the descriptor of its latest writer. May be called
/// after the attempt, because the read log is intact then.
const descriptor* overwriting_descriptor(const descriptor& d) noexcept {
    for (const orec* const* r = d.read_begin; r != d.read_next_; ++r) {
        const word seen = (*r)->load(std::memory_order_acquire);
        if (memory::is_locked(seen) && !d.owns(seen)) return &descriptor_numbered(memory::owner_of(seen));
        if (!memory::is_version(seen) || seen <= d.snapshot_bound || memory::written_by(seen, d.own_writer_)) continue;
        return memory::written_by(seen, memory::unknown_writer) ? nullptr
                                                                : &descriptor_numbered(memory::descriptor_of(seen));
    }
    return nullptr;
}

}  // namespace

void note_kill(const descriptor& victim, const descriptor& killer) noexcept {
    entry_of(victim).store(killer.id + 1, std::memory_order_relaxed);
}

const descriptor* conflicting_descriptor(const descriptor& d, abort_cause cause) noexcept {
    switch (cause) {
        case abort_cause::conflict_read_locked:
        case abort_cause::conflict_write_locked:
        case abort_cause::conflict_visible_read:
        case abort_cause::conflict_abstract_lock: return d.run.blocked_by.awaited;
        case abort_cause::validation: return overwriting_descriptor(d);
        case abort_cause::killed: {
            const std::uint32_t killer = entry_of(d).load(std::memory_order_relaxed);
            return killer != 0 ? &descriptor_numbered(killer - 1) : nullptr;
        }
        default: return nullptr;
    }
}

}  // namespace tutti::core

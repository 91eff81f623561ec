// A table of blocks that promised to write nothing, but could not run as unlogged readers. The next execution of such a
// block runs from its first attempt on as the last one ended, and so avoids restarts:
//
//   a participant voted on the block               it logs its reads
//   writers overtook it until it read a snapshot   it reads a snapshot, for a number of attempts. Then one attempt
//                                                  tries again without
//
// Thread safety: any thread may call any function. Blocks share the entries of the table. A block whose entry was
// overwritten only has more restarts at its next execution, so the order of loads and stores does not matter.
#pragma once

#include <array>
#include <atomic>

#include "core/rollback/signal.hpp"

namespace tutti::core {

enum class reader_prediction : std::uint8_t { none, logs, reads_snapshot };

struct predicted_block {
    std::atomic<const detail::site_slot*> site{nullptr};
    std::atomic<const char*> name{nullptr};
    std::atomic<std::uint32_t> snapshots_left{0};  // 0: the block logs its reads
};

inline constinit std::array<predicted_block, 64> predicted_blocks{};

/// The number of attempts that read a snapshot because an earlier execution had to.
inline constexpr std::uint32_t predicted_snapshots = 63;

[[nodiscard]] inline predicted_block& prediction_for(const detail::call_site& where) noexcept {
    return predicted_blocks[reinterpret_cast<std::uintptr_t>(where.slot) / sizeof(detail::site_slot) %
                            predicted_blocks.size()];
}

/// Returns true if `predict` may return something else than `none`.
[[nodiscard]] inline bool has_prediction(const detail::call_site& where) noexcept {
    return where.slot != nullptr && prediction_for(where).site.load(std::memory_order_relaxed) == where.slot;
}

/// Returns the prediction for a new attempt, and counts the attempt.
[[nodiscard]] inline reader_prediction predict(const execution& run) noexcept {
    if (!has_prediction(run.where)) return reader_prediction::none;
    predicted_block& b = prediction_for(run.where);
    if (b.name.load(std::memory_order_relaxed) != run.how->name) return reader_prediction::none;
    const std::uint32_t left = b.snapshots_left.load(std::memory_order_relaxed);
    if (left == 0) return reader_prediction::logs;
    if (left == 1) b.site.store(nullptr, std::memory_order_relaxed);
    else b.snapshots_left.store(left - 1, std::memory_order_relaxed);
    return reader_prediction::reads_snapshot;
}

inline void store_prediction(const execution& run, std::uint32_t snapshots) noexcept {
    if (run.where.slot == nullptr) return;
    predicted_block& b = prediction_for(run.where);
    b.snapshots_left.store(snapshots, std::memory_order_relaxed);
    b.name.store(run.how->name, std::memory_order_relaxed);
    b.site.store(run.where.slot, std::memory_order_relaxed);
}

/// Does what need_current_reads does, for a participant that votes on the transaction in every execution of the block.
inline void need_reads_for_vote(descriptor& d) {
    if (!d.logging) store_prediction(d.run, 0);
    need_current_reads(d);
}

/// Drops the prediction for the block, if there is one.
inline void forget_prediction(const execution& run) noexcept {
    if (has_prediction(run.where)) prediction_for(run.where).site.store(nullptr, std::memory_order_relaxed);
}

/// Records that writers have overtaken the block until it took a snapshot.
inline void note_snapshot_needed(const execution& run) noexcept { store_prediction(run, predicted_snapshots); }

}  // namespace tutti::core

// A record of how the hardware attempts of blocks have ended on one context.
//
// A block that makes a system call ends each of its hardware attempts. So does a block that touches more memory than
// the processor can keep apart. This table finds such blocks. It has two users: algorithms/hybrid.hpp for blocks of the
// library, and itm/hardware.hpp for blocks of the language.
//
// The table contains only blocks whose attempts have failed for a reason of their own. So a block that commits in
// hardware costs little. While the table is empty, the block reads only the number of entries. Otherwise it also reads
// four entries in one cache line. Its commits store nothing in the table. Contexts do not share these lines, because
// each context has its own table.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "tutti/detail/config.hpp"
#include "tutti/hardware.hpp"

namespace tutti::core {

/// The hardware attempts of one execution.
class hardware_trial {
public:
    /// Records that an attempt has ended for `why`. Returns true if another attempt of this execution would end in the
    /// same way.
    [[nodiscard]] bool ends_after(hardware_abort why) noexcept {
        switch (why) {
            case hardware_abort::conflict:
            case hardware_abort::busy: return false;
            // A first interrupt may be a coincidence. The cause of a second interrupt is the block itself.
            case hardware_abort::interrupt: {
                const bool again = interrupted_;
                interrupted_ = true;
                return again;
            }
            default: return true;
        }
    }

private:
    bool interrupted_ = false;
};

/// A block whose hardware attempts have failed. One of 2^level of its executions tries hardware. Each execution that
/// fails in hardware adds one to the level, up to `max_level`. Each hardware commit subtracts one.
class hardware_record {
public:
    static constexpr unsigned max_level = 6;

    /// Counts an execution that begins. Returns whether it tries hardware.
    [[nodiscard]] bool tries_hardware() noexcept {
        if (++begun_ < 1U << level_) return false;
        begun_ = 0;
        return true;
    }
    /// Returns the reason why the latest execution that tried hardware has failed there.
    [[nodiscard]] hardware_abort why() const noexcept { return why_; }
    /// Returns false and true alternately, starting with false. A caller that has two ways to run a block that fails in
    /// hardware alternates between them.
    [[nodiscard]] bool alternate() noexcept { return (alternations_++ & 1) != 0; }

private:
    friend class hardware_history;

    std::uintptr_t block_ = 0;  // meaningful while the level is not 0
    std::uint8_t level_ = 0;    // 0: the entry is free
    std::uint8_t begun_ = 0;    // executions since the latest one that tried
    std::uint8_t alternations_ = 0;
    hardware_abort why_ = hardware_abort::conflict;
};

/// The table of blocks whose hardware attempts have failed. A key identifies one block of a user. The key is an address
/// in the program that belongs to that block only. All calls are O(1).
class hardware_history {
public:
    using key = std::uintptr_t;

    /// Returns the entry of a block, or null if the block has not failed in hardware.
    [[nodiscard]] TUTTI_ALWAYS_INLINE hardware_record* find(key block) noexcept {
        return used_ == 0 ? nullptr : search(block);
    }
    /// Counts an execution that begins. Returns whether it tries hardware.
    [[nodiscard]] bool tries_hardware(key block) noexcept {
        hardware_record* const known = find(block);
        return known == nullptr || known->tries_hardware();
    }
    /// Records that the hardware attempts of an execution have failed for `why`, a reason of the block's own. Returns
    /// the block's entry. If the entry's set is full, it replaces the entry that tries hardware most often.
    hardware_record& note_failure(key block, hardware_abort why) noexcept {
        hardware_record* known = find(block);
        if (known == nullptr) {
            set& all = set_of(block);
            known = std::ranges::min_element(all, {}, &hardware_record::level_);
            used_ += known->level_ == 0 ? 1 : 0;
            *known = {};
            known->block_ = block;
        }
        known->level_ = static_cast<std::uint8_t>(std::min(known->level_ + 1U, hardware_record::max_level));
        known->begun_ = 0;
        known->why_ = why;
        return *known;
    }
    /// Records that an attempt of the block has committed in hardware. A caller may call this inside the attempt,
    /// because the processor undoes the record if it ends the attempt.
    void note_commit(key block) noexcept {
        hardware_record* const known = find(block);
        if (known != nullptr && --known->level_ == 0) --used_;
    }

private:
    static constexpr std::size_t ways = 4;
    static constexpr unsigned set_bits = 4;
    using set = std::array<hardware_record, ways>;

    [[nodiscard]] set& set_of(key block) noexcept {
        constexpr std::uint64_t golden = 0x9e3779b97f4a7c15U;
        return sets_[(std::uint64_t{block} * golden) >> (64 - set_bits)];
    }
    [[nodiscard]] hardware_record* search(key block) noexcept {
        for (hardware_record& h : set_of(block)) {
            if (h.block_ == block && h.level_ != 0) return &h;
        }
        return nullptr;
    }

    std::uint32_t used_ = 0;  // entries whose level is not 0
    alignas(64) std::array<set, std::size_t{1} << set_bits> sets_{};
};

}  // namespace tutti::core

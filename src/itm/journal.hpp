// What the blocks of one context did, for the report at exit (report.cpp). Made only while a report is wanted: a
// context without a journal pays one comparison in begin and one in commit.
//
// Thread safety: that of observe/counter.hpp.
//
// A block is named by the address that its begin returns to.
#pragma once

#include <array>
#include <utility>

#include "base/clock.hpp"
#include "itm/block.hpp"
#include "observe/counter.hpp"
#include "tutti/errors.hpp"

namespace tutti::itm {

using observe::counter;
using observe::tally;

/// Why a block could not be rolled back any more, or ran serially.
enum class switch_reason : std::uint8_t {
    unsafe_operation,  ///< an operation that is not transaction-safe; the compiler has named it
    no_clone,          ///< a call of a function without a transactional clone
    from_begin,        ///< every way through the block is unsafe, or it has no instrumented code
    restarts,          ///< it was restarted too often
    library_call,      ///< a call of a library that says so itself
};
inline constexpr std::size_t switch_reason_count = 5;

struct abort_key {
    abort_cause cause;
    bool partial;      ///< only a nested block ran again
    const void* with;  ///< the block that was in the way, or null: not known, or one of the library
    bool operator==(const abort_key&) const = default;
};

struct switch_key {
    switch_reason reason;
    const void* where;   ///< the code address behind the operation, or null
    const void* callee;  ///< the function without a clone, or null
    // Literals, of a library_call.
    const char* function = nullptr;
    const char* why = nullptr;
    const char* instead = nullptr;
    bool operator==(const switch_key&) const = default;
};

/// How often, and how late in the block: accesses of all, ticks of those that were timed.
struct switch_count {
    counter times;
    counter accesses;
    counter timed;
    counter ticks_before;
    counter ticks_whole;
};

/// One block.
struct account {
    counter executions;  ///< as an outermost block, or the outermost one of the language
    counter commits;
    counter cancelled;
    counter only_one;  ///< further executions, which committed: of the only thread that used transactions then
    counter nested;    ///< times that it was entered inside another
    counter lost_ticks;
    counter alone_ticks;                ///< that it ran with no other beside it
    tally<const void*, counter> waits;  ///< ticks, by the block that ran alone meanwhile, or null: not known
    tally<abort_key, counter> aborts;
    tally<switch_key, switch_count> switches;
};

class journal {
public:
    /// The journal of a context that has none, or null: no report is wanted, or there is no memory.
    static journal* make(const descriptor& owner) noexcept;

    void begin(const void* block) noexcept {
        now_ = account_of(block);
        switched_ = nullptr;
        if (now_ == nullptr) [[unlikely]]
            return;
        const std::uint64_t before = now_->executions.get();
        now_->executions.add_one();
        if (shown_.load(std::memory_order_relaxed) != block) shown_.store(block, std::memory_order_relaxed);
        // A clock read costs as much as all the rest: after the first ones, one of sixteen stands for all.
        started_ = 0;
        if (before < always_timed || before % sampling == 0) {
            started_ = base::ticks();
            weight_ = before < always_timed ? 1 : sampling;
        }
    }
    /// In the place of begin and commit: the biased owner's block cannot but commit, and takes little longer than its
    /// counting would.
    void note_only_one(const void* block) noexcept {
        now_ = nullptr;
        if (account* const a = account_of(block)) a->only_one.add_one();
    }
    void commit() noexcept {
        if (now_ == nullptr) [[unlikely]]
            return;
        now_->commits.add_one();
        if (switched_ != nullptr || alone_since_ != 0) [[unlikely]]
            end_switched();
    }
    void note_nested(const void* block) noexcept {
        if (account* const a = account_of(block)) a->nested.add_one();
    }
    /// The block, which may be one inside the outermost, is left without effect.
    void note_cancel(const void* block) noexcept {
        if (account* const a = account_of(block)) a->cancelled.add_one();
    }
    /// The attempt has been, or is about to be, rolled back. `partial`: only a nested block of it.
    void note_abort(abort_cause cause, const void* with, bool partial) noexcept;
    /// The block that was in the way of the attempt whose roll-back is under way, as far as can be seen: the other may
    /// have gone on to its next block. Null: none, or one of the library. Before the core has reopened anything.
    [[nodiscard]] const void* in_the_way() const noexcept;
    /// The next attempt of `block` begins; undo actions may have run others since.
    void begin_again(const void* block) noexcept;
    /// The transaction becomes irrevocable for `reason`.
    void note_switch(const switch_key& why) noexcept;
    /// d, which owns this, has begun: what it stood aside for.
    void note_waits(descriptor& d) noexcept {
        if (d.aside.ticks != 0) [[unlikely]]
            count_waits(d);
    }
    /// From here to its commit no other runs. After note_switch.
    void note_alone() noexcept { alone_since_ = base::ticks(); }
    /// Resolves the addresses that were seen for the first time. That takes locks of the dynamic linker, which a
    /// constructor that waits for this transaction may hold. REQUIRES: none runs.
    void name_what_is_new() noexcept {
        if (!unnamed_.empty()) [[unlikely]]
            name_all();
    }

    /// f(block, account) for every block of every context. The counters may be moving.
    template <class F>
    static void for_each(F&& f) {
        for (const journal* j = newest_.load(std::memory_order_acquire); j != nullptr; j = j->older_) {
            j->accounts_.for_each(f);
        }
    }
    /// Forgets what was counted. REQUIRES: no other thread runs.
    static void reset() noexcept;

private:
    static constexpr std::uint64_t always_timed = 64;
    static constexpr std::uint64_t sampling = 16;
    static constexpr std::size_t cached = 256;

    explicit journal(const descriptor& owner) noexcept : owner_{owner} {}

    account* account_of(const void* block) noexcept {
        const cache_line& c = cache_[reinterpret_cast<std::uintptr_t>(block) / 4 % cached];
        return c.block == block ? c.of : find(block);
    }
    account* find(const void* block) noexcept;
    void name_later(const void* address) noexcept;
    void name_all() noexcept;
    void end_switched() noexcept;
    void count_waits(descriptor& d) noexcept;
    static const void* shown_by(const descriptor& other) noexcept;

    struct cache_line {
        const void* block;
        account* of;
    };
    static std::atomic<journal*> newest_;

    const descriptor& owner_;
    std::atomic<const void*> shown_{nullptr};  // the block that the context is in, or was in last
    account* now_ = nullptr;                   // of the outermost block that runs
    switch_count* switched_ = nullptr;
    std::uint64_t started_ = 0;  // the attempt, in ticks; 0: not timed
    std::uint64_t weight_ = 1;
    std::uint64_t before_switch_ = 0;  // ticks of the attempt when it switched; 0: not timed
    std::uint64_t alone_since_ = 0;    // ticks; 0: it is not, or only for want of others
    std::uint64_t ended_ = 0;          // when the attempt before ended
    std::array<cache_line, cached> cache_{};
    tally<const void*, account> accounts_;
    memory::log<const void*> unnamed_;
    const journal* older_ = nullptr;
};

}  // namespace tutti::itm

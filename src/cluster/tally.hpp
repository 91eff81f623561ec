// Counts how the attempts of one context ended that touched objects of one node.
//
// The running attempts form a stack. An undo action of an attempt may run blocks of its own on the same context. These
// blocks end before the attempt has been rolled back.
//
// Thread safety: as in observe/counter.hpp. The stack belongs to the context.
#pragma once

#include <array>
#include <vector>

#include "observe/counter.hpp"
#include "tutti/cluster/status.hpp"

namespace tutti::cluster {

class tally {
public:
    void began(bool of_reader) {
        begins_.add_one();
        running_.push_back({rollback_reason::other, of_reader});
    }
    /// Counts the commit of an attempt whose begin was not counted.
    void passed() noexcept { passed_.add_one(); }
    /// Notes that the innermost attempt will be rolled back, and why.
    void doom(rollback_reason why) noexcept {
        if (!running_.empty()) running_.back().why = why;
    }
    /// Counts that the innermost attempt goes back to a nested block instead.
    void rewound() noexcept {
        rewinds_.add_one();
        doom(rollback_reason::other);
    }
    /// Counts the waits of the attempt. `shielded`: the attempt has excluded other transactions from the objects that
    /// it has opened.
    void contended(unsigned waits, bool shielded) noexcept {
        if (waits != 0) conflict_waits_.add(waits);
        if (shielded) protected_attempts_.add_one();
    }
    void committed() noexcept {
        commits_.add_one();
        if (!running_.empty()) running_.pop_back();
    }
    void rolled_back() noexcept {
        if (running_.empty()) return;  // the begin could not be noted for lack of memory
        const attempt a = running_.back();
        running_.pop_back();
        rolled_back_[static_cast<std::size_t>(a.why)].add_one();
        if (a.of_reader && is_defeat(a.why)) reader_aborts_.add_one();
    }

    void add_to(node_facts& sum) const noexcept {
        const std::uint64_t passed = passed_.get();
        sum.begins += begins_.get() + passed;
        sum.commits += commits_.get() + passed;
        sum.rewinds += rewinds_.get();
        sum.conflict_waits += conflict_waits_.get();
        sum.protected_attempts += protected_attempts_.get();
        sum.reader_aborts += reader_aborts_.get();
        for (std::size_t i = 0; i < rollback_reasons; ++i) sum.rolled_back[i] += rolled_back_[i].get();
    }

    /// Returns how many attempts run, each in an undo action of the one before.
    [[nodiscard]] std::size_t running() const noexcept { return running_.size(); }
    /// Returns why the innermost attempt will be rolled back.
    /// REQUIRES: an attempt runs.
    [[nodiscard]] rollback_reason doom() const noexcept { return running_.back().why; }

    /// Returns true if objects make the attempt start over. Returns false if the attempt ends, or starts over for
    /// another reason.
    [[nodiscard]] static constexpr bool is_defeat(rollback_reason r) noexcept {
        return r <= rollback_reason::variables;
    }

private:
    struct attempt {
        rollback_reason why;
        bool of_reader;
    };
    std::vector<attempt> running_;
    observe::counter begins_, commits_, passed_, reader_aborts_, rewinds_, conflict_waits_, protected_attempts_;
    std::array<observe::counter, rollback_reasons> rolled_back_;
};

}  // namespace tutti::cluster

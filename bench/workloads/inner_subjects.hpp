// The data of the transactions of the family `nesting`: a bank, and sets. A read-only step changes nothing; by default
// it is one in five.
//
// A subject has a small `operation`, and
//
//   draw(bits, middle)           an operation, from a random number; whether it is that of the middle step
//   apply(context&, operation)   runs it; returns what undo needs
//   undo(context&, operation, result)
//   invariant_sum(result)              a value that the invariant adds up
//   locks(operation)             the abstract locks for operations that do not commute
//   broken(invariant_sum)        the violated invariant when no thread runs any more, or an empty string
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include <tutti/open_nesting.hpp>

#include "harness/random.hpp"
#include "workloads/bank.hpp"
#include "workloads/sets.hpp"

namespace bench {

/// With `Posts`, the middle step is a payment to account 0, the bank itself. All transactions use that account, but at
/// different times.
template <class E, unsigned Accounts, bool Posts = false>
class inner_bank {
    using context = typename E::context;

public:
    struct operation {
        unsigned from, to;
        bool reads_only;
    };

    static operation draw(std::uint64_t bits, bool middle) {
        if (Posts && middle) return {below(Accounts, bits), 0, false};
        return {below(Accounts, bits), below(Accounts, bits >> 32), (bits >> 16) % 5 == 0};
    }
    long apply(context& c, const operation& o) {
        if (o.reads_only) return bank_.accounts[o.from].get(c) + bank_.accounts[o.to].get(c);
        bank_.transfer(c, o.from, o.to, 1);
        return 0;
    }
    void undo(context& c, const operation& o, long) {
        if (!o.reads_only) bank_.transfer(c, o.to, o.from, 1);
    }
    static long invariant_sum(long) { return 0; }
    /// Transfers commute with each other, because they do not read a balance. A transfer does not commute with a read.
    std::array<::tutti::abstract_lock, 2> locks(const operation& o) const {
        return {{{&bank_, std::min(o.from, o.to), !o.reads_only}, {&bank_, std::max(o.from, o.to), !o.reads_only}}};
    }
    std::string broken(std::int64_t) {
        const long total = E::read([this](context& c) { return bank_.total(c); });
        return total == Accounts * bank_.opening ? "" : "the total is " + std::to_string(total);
    }

private:
    bank<E, Accounts> bank_;
};

/// A step that does not only read inserts its key, or removes it if it is in the set. So the step always changes the
/// set.
template <class E, class Set, unsigned Keys, unsigned LookPercent = 20>
class inner_set {
    using context = typename E::context;

public:
    struct operation {
        long key;
        bool reads_only;
    };

    inner_set() : filled_{fill_half<E>(set_, Keys)} {}
    inner_set(const inner_set&) = delete;
    inner_set& operator=(const inner_set&) = delete;
    ~inner_set() { set_.clear(); }

    static operation draw(std::uint64_t bits, bool) {
        return {below(Keys, bits), below(100, bits >> 32) < LookPercent};
    }
    /// Returns by how much the set has grown.
    long apply(context& c, const operation& o) {
        if (o.reads_only) {
            benchmark::DoNotOptimize(set_.contains(c, o.key));
            return 0;
        }
        if (set_.insert(c, o.key)) return 1;
        set_.remove(c, o.key);
        return -1;
    }
    void undo(context& c, const operation& o, long) {
        if (!o.reads_only) apply(c, o);
    }
    static long invariant_sum(long grown) { return grown; }
    std::array<::tutti::abstract_lock, 1> locks(const operation& o) const {
        return {{{&set_, static_cast<std::uint64_t>(o.key), o.reads_only}}};
    }
    std::string broken(std::int64_t grown) const {
        const long left = set_.check();
        if (left < 0) return "the structure is broken";
        if (left == filled_ + grown) return "";
        return std::to_string(filled_ + grown) + " keys should be left, but there are " + std::to_string(left);
    }

private:
    Set set_;
    long filled_;
};

}  // namespace bench

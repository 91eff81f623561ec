// A bank of 1,024 accounts: four operations in five transfer between two accounts, one adds up all of them.
#pragma once

#include <string>
#include <string_view>

#include "harness/cases.hpp"
#include "harness/random.hpp"
#include "harness/worker.hpp"
#include "harness/worker_group.hpp"

namespace bench {

template <class E, unsigned Size = 1024>
struct bank {
    static constexpr unsigned size = Size;
    static constexpr long opening = 100;

    using account = typename E::template cell<long>;
    using context = typename E::context;

    bank() {
        for (account& a : accounts) {
            E::update([&a](context& c) { a.set(c, opening); });
        }
    }

    void transfer(context& c, unsigned from, unsigned to, long amount) {
        accounts[from].set(c, accounts[from].get(c) - amount);
        accounts[to].set(c, accounts[to].get(c) + amount);
    }

    long total(context& c) const {
        long sum = 0;
        for (const account& a : accounts) sum += a.get(c);
        return sum;
    }

    account accounts[size];
};

/// Runs one thread's part. The invariant sum counts wrong sums.
template <class E>
thread_result work_in_bank(bank<E>& b, unsigned index, const stop_flag& stop) {
    worker<E> w;
    random_numbers random{index + 2};
    thread_result done;
    done.operations = repeat(stop, [&] {
        const std::uint64_t bits = random();
        if (below(5, bits) == 0) {
            done.invariant_sum += w.read([&b](auto& c) { return b.total(c); }) != bank<E>::size * bank<E>::opening;
        } else {
            const unsigned from = bits >> 32 & (bank<E>::size - 1);
            const unsigned to = bits >> 48 & (bank<E>::size - 1);
            w.update([&b, from, to](auto& c) { b.transfer(c, from, to, 1); });
        }
    });
    done.bodies = w.bodies();
    return done;
}

template <class E>
outcome run_bank(const plan& how) {
    bank<E> b;
    outcome result =
        timed_round(how, [&b](unsigned index, const stop_flag& stop) { return work_in_bank<E>(b, index, stop); });
    const long total = E::read([&b](auto& c) { return b.total(c); });
    if (result.invariant_sum != 0) result.broken = "sums were wrong: " + std::to_string(result.invariant_sum);
    if (total != bank<E>::size * bank<E>::opening) result.broken = "the total is " + std::to_string(total);
    return result;
}

template <class E>
void add_bank(std::string_view family) {
    add_case<E>(family, "bank-1024", run_bank<E>);
}

}  // namespace bench

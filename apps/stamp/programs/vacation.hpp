// vacation: a travel agency's bookings, as transactions on four tables.
//
//   bookings     a customer reads some items of random kinds and books the most expensive free one of each kind
//   departures   a customer pays the bill and leaves, and the booked items become free
//   changes      items are added to the tables or removed
//
// Each table is an ordered map from numbers to records, so a transaction reads some hundred words and writes few. With
// low contention nearly all transactions are bookings over 90 % of the items with up to 2 queries. With high contention
// there are up to 4 queries, over 60 % of the items, and more departures and changes.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "stamp/program.hpp"
#include "stamp/programs/vacation_agency.hpp"

namespace stamp::vacation {

inline constexpr unsigned max_queries = 4;

struct mix {
    unsigned queries;        // maximum for a transaction
    unsigned range_percent;  // percentage of the numbers that queries use
    unsigned user_percent;   // percentage of the transactions that are bookings
};
inline constexpr mix low{2, 90, 98};
inline constexpr mix high{4, 60, 90};

template <class B>
class client {
    using context = typename B::context;

public:
    client(agency<B>& where, mix how, random_source random)
        : where_{where},
          how_{how},
          range_{std::max<std::size_t>(1, where.numbers() * how.range_percent / 100)},
          random_{random} {}

    void do_something() {
        if (random_.percent(how_.user_percent)) return book_some();
        if (random_.percent(50)) return depart();
        change_some();
    }
    /// Returns by how much the items of all tables have increased.
    [[nodiscard]] std::int64_t stock_added() const { return added_; }

private:
    static constexpr unsigned lot = 100;  // items added or removed at once

    struct query {
        booking what;
        bool add;
        unsigned price;
    };

    std::uint64_t some_number() { return random_.below(range_); }
    void draw_queries() {
        count_ = 1 + random_.below(how_.queries);
        for (unsigned i = 0; i < count_; ++i) {
            queries_[i] = {{random_.below(kinds), some_number()}, random_.percent(50), 50 + 10 * random_.below(5u)};
        }
    }

    void book_some() {
        draw_queries();
        const std::uint64_t who = some_number();
        B::atomically("vacation: booking", [&](context& t) {
            std::array<const query*, kinds> best{};
            std::array<unsigned, kinds> highest{};
            for (unsigned i = 0; i < count_; ++i) {
                const booking& b = queries_[i].what;
                const unsigned price = where_.price(t, b.kind, b.number);
                if (price <= highest[b.kind]) continue;
                highest[b.kind] = price;
                best[b.kind] = &queries_[i];
            }
            for (const query* q : best) {
                if (q != nullptr) where_.book(t, who, q->what);
            }
        });
    }
    void depart() {
        const std::uint64_t who = some_number();
        B::atomically("vacation: departure", [&](context& t) { where_.depart(t, who); });
    }
    void change_some() {
        draw_queries();
        added_ += B::atomically("vacation: change", [&](context& t) {
            std::int64_t added = 0;
            for (unsigned i = 0; i < count_; ++i) {
                const auto& [what, add, price] = queries_[i];
                if (add) {
                    where_.add(t, what.kind, what.number, lot, price);
                    added += lot;
                } else if (where_.reduce(t, what.kind, what.number, lot)) {
                    added -= lot;
                }
            }
            return added;
        });
    }

    agency<B>& where_;
    const mix how_;
    const std::size_t range_;
    random_source random_;
    std::array<query, max_queries> queries_;
    unsigned count_ = 0;
    std::int64_t added_ = 0;
};

template <class B>
run_outcome run(const run_settings& how, mix what) {
    agency<B> where{std::max<std::size_t>(1, how.size / 4)};
    std::int64_t stock = where.fill(random_source{how.seed});
    std::vector<std::int64_t> added(how.threads);
    run_outcome outcome = measured<B>(how, [&](group_worker& me) {
        client<B> c{where, what, random_source{how.seed, 1 + me.index}};
        const auto [first, last] = me.share(how.size);
        for (std::size_t i = first; i < last; ++i) c.do_something();
        added[me.index] = c.stock_added();
    });
    for (const std::int64_t a : added) stock += a;
    outcome.wrong = where.check();
    if (outcome.wrong.empty() && where.stock() != stock) {
        outcome.wrong = fmt::format("there are {} items instead of {}", where.stock(), stock);
    }
    return outcome;
}

template <class B>
run_outcome run_low(const run_settings& how) {
    return run<B>(how, low);
}
template <class B>
run_outcome run_high(const run_settings& how) {
    return run<B>(how, high);
}

}  // namespace stamp::vacation

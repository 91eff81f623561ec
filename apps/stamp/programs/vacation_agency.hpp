// The tables of vacation, and the operations on them inside transactions.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "stamp/random.hpp"
#include "stamp/structures/ordered_map.hpp"
#include "stamp/structures/sorted_list.hpp"

namespace stamp::vacation {

inline constexpr unsigned kinds = 3;  // cars, flights, rooms

/// An item on offer.
template <class B>
struct offer {
    using number = typename B::template shared<unsigned>;
    offer(unsigned count, unsigned each) : free{count}, price{each} {}
    number used{0}, free, price;
};

/// A booking of a customer.
struct booking {
    unsigned kind;
    std::uint64_t number;
    friend bool operator<(const booking& a, const booking& b) {
        return a.kind != b.kind ? a.kind < b.kind : a.number < b.number;
    }
    friend bool operator==(const booking&, const booking&) = default;
};

template <class B>
class agency {
    using context = typename B::context;
    using item = offer<B>;
    /// A customer's bookings, with the price of each.
    struct customer {
        sorted_list<B, booking, unsigned> booked;
    };

public:
    explicit agency(std::size_t numbers) : numbers_{numbers} {}
    agency(const agency&) = delete;
    agency& operator=(const agency&) = delete;
    ~agency() {
        for (const auto& table : offers_) table.for_each([](std::uint64_t, item* o) { delete o; });
        customers_.for_each([](std::uint64_t, customer* c) {
            c->booked.discard();
            delete c;
        });
    }

    [[nodiscard]] std::size_t numbers() const { return numbers_; }

    /// Fills in items and customers of all numbers, in random order. Returns the total number of items.
    std::int64_t fill(random_source random) {
        std::int64_t stock = 0;
        std::vector<std::uint64_t> order(numbers_);
        for (std::size_t i = 0; i < numbers_; ++i) order[i] = i;
        for (unsigned kind = 0; kind < kinds; ++kind) {
            random.shuffle(order);
            for (const std::uint64_t n : order) {
                const unsigned count = 100 * (1 + random.below(5u)), price = 50 + 10 * random.below(5u);
                B::atomically("vacation: input", [&](context& t) { add(t, kind, n, count, price); });
                stock += count;
            }
        }
        for (const std::uint64_t n : order) {
            B::atomically("vacation: input", [&](context& t) { find_or_add(t, n); });
        }
        return stock;
    }

    void add(context& t, unsigned kind, std::uint64_t number, unsigned count, unsigned price) {
        if (item* const o = offered(t, kind, number)) {
            o->free.set(t, o->free.get(t) + count);
            o->price.set(t, price);
        } else {
            offers_[kind].insert(t, number, B::template create<item>(t, count, price));
        }
    }
    /// Removes `count` items if they are free, and the whole offer if none is left. Returns true if they were free.
    bool reduce(context& t, unsigned kind, std::uint64_t number, unsigned count) {
        item* const o = offered(t, kind, number);
        if (o == nullptr || o->free.get(t) < count) return false;
        const unsigned free = o->free.get(t);
        if (free == count && o->used.get(t) == 0) {
            offers_[kind].remove(t, number);
            B::destroy(t, o);
        } else {
            o->free.set(t, free - count);
        }
        return true;
    }

    /// Returns null if there is no such offer.
    item* offered(context& t, unsigned kind, std::uint64_t number) const {
        item* const* const found = offers_[kind].find(t, number);
        return found != nullptr ? *found : nullptr;
    }
    /// Returns the price of a free item, or 0.
    unsigned price(context& t, unsigned kind, std::uint64_t number) const {
        item* const o = offered(t, kind, number);
        return o != nullptr && o->free.get(t) != 0 ? o->price.get(t) : 0;
    }
    void book(context& t, std::uint64_t who, const booking& what) {
        item* const o = offered(t, what.kind, what.number);
        if (o == nullptr || o->free.get(t) == 0) return;
        if (!find_or_add(t, who)->booked.insert(t, what, o->price.get(t))) return;  // each customer books an item once
        o->free.set(t, o->free.get(t) - 1);
        o->used.set(t, o->used.get(t) + 1);
    }
    /// Returns the bill.
    unsigned depart(context& t, std::uint64_t who) {
        customer* const* const found = customers_.find(t, who);
        if (found == nullptr) return 0;
        customer* const c = *found;
        unsigned bill = 0;
        c->booked.for_each(t, [&](const booking& b, unsigned price) {
            bill += price;
            give_back(t, b);
        });
        c->booked.clear(t);
        customers_.remove(t, who);
        B::destroy(t, c);
        return bill;
    }

    /// Returns the errors of the tables. REQUIRES: no other thread runs.
    [[nodiscard]] std::string check() const {
        std::map<booking, unsigned> booked;
        customers_.for_each(
            [&](std::uint64_t, customer* c) { c->booked.for_each([&](const booking& b, unsigned) { ++booked[b]; }); });
        std::string wrong;
        for (unsigned kind = 0; kind < kinds; ++kind) {
            std::uint64_t before = 0;
            offers_[kind].for_each([&](std::uint64_t number, const item* o) {
                if (number < before) wrong = fmt::format("table {} is out of order at {}", kind, number);
                before = number;
                const auto there = booked.find({kind, number});
                const unsigned known = there != booked.end() ? there->second : 0;
                if (o->used.load() != known) {
                    wrong = fmt::format("item {} of table {} is booked {} times, but customers have {} bookings of it",
                                        number, kind, o->used.load(), known);
                }
                if (there != booked.end()) booked.erase(there);
            });
        }
        if (!booked.empty() && wrong.empty()) wrong = "somebody has booked an item that no table has";
        return wrong;
    }
    /// Returns the number of items, free or not.
    [[nodiscard]] std::int64_t stock() const {
        std::int64_t sum = 0;
        for (const auto& table : offers_) {
            table.for_each([&](std::uint64_t, const item* o) { sum += o->used.load() + o->free.load(); });
        }
        return sum;
    }

private:
    /// Booked items stay on offer, so the offer is found. The check for null is for GCC 12, which cannot compile a
    /// block with a possible dereference of null: it inserts a trap there and then fails.
    void give_back(context& t, const booking& b) {
        item* const o = offered(t, b.kind, b.number);
        if (o == nullptr) return;
        o->used.set(t, o->used.get(t) - 1);
        o->free.set(t, o->free.get(t) + 1);
    }
    customer* find_or_add(context& t, std::uint64_t who) {
        if (customer* const* const found = customers_.find(t, who)) return *found;
        auto* const c = B::template create<customer>(t);
        customers_.insert(t, who, c);
        return c;
    }

    const std::size_t numbers_;
    std::array<ordered_map<B, item*>, kinds> offers_;
    ordered_map<B, customer*> customers_;
};

}  // namespace stamp::vacation

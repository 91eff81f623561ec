// Data that shows in which order calls ran, and procedures on it. Used in a shared object for `tutti serve`, and in
// test programs, where each service has data of its own.
#pragma once

#include <array>
#include <charconv>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <tutti/server/procedure.hpp>
#include <tutti/tutti.hpp>

namespace ledger {

struct data {
    std::array<tutti::var<std::uint64_t>, 64> cells;
    tutti::var<long> left{0}, right{0};
};

inline void dump(const std::shared_ptr<data>& d, tutti::server::snapshot_writer& to) {
    tutti::atomically([&](tutti::tx& t) {
        for (auto& c : d->cells) to.put(std::to_string(c.get(t)));
        to.put(std::to_string(d->left.get(t)));
        to.put(std::to_string(d->right.get(t)));
    });
}

inline void load(const std::shared_ptr<data>& d, tutti::server::snapshot_reader& from) {
    for (auto& c : d->cells) c.store(std::stoull(std::string{from.next().value()}));
    d->left.store(std::stol(std::string{from.next().value()}));
    d->right.store(std::stol(std::string{from.next().value()}));
}

inline std::shared_ptr<data> add(tutti::server::registry& server, bool with_snapshot = true) {
    auto d = std::make_shared<data>();
    // The result depends on the order of all calls that touch the two cells: other calls that overwrite y read x.
    server.add("mix", {}, [d](std::size_t to, std::size_t from) {
        return tutti::atomically([&](tutti::tx& t) {
            const std::uint64_t made = d->cells.at(to).get(t) * 31 + d->cells.at(from).get(t) + 1;
            d->cells.at(to).set(t, made);
            return made;
        });
    });
    // Overwrites a cell without reading it.
    server.add("put", {}, [d](std::size_t to, std::uint64_t value) { d->cells.at(to).store(value); });
    server.add("get", {.read_only = true}, [d](std::size_t from) { return d->cells.at(from).load(); });
    server.add("get_undeclared", {}, [d](std::size_t from) { return d->cells.at(from).load(); });
    server.add("all", {.read_only = true}, [d] {
        return tutti::atomically([&](tutti::tx& t) {
            std::vector<std::uint64_t> values;
            for (auto& c : d->cells) values.push_back(c.get(t));
            return values;
        });
    });
    // Two blocks: without a log, two transactions.
    server.add("both", {}, [d](long more) {
        tutti::atomically([&](tutti::tx& t) { d->left.set(t, d->left.get(t) + more); });
        tutti::atomically([&](tutti::tx& t) { d->right.set(t, d->right.get(t) + more); });
        return more;
    });
    server.add("sides", {.read_only = true}, [d] {
        return tutti::atomically([&](tutti::tx& t) { return std::pair{d->left.get(t), d->right.get(t)}; });
    });
    server.add("fail", {}, [d](std::size_t to) {
        d->cells.at(to).store(12345);
        throw std::runtime_error{"after it has written"};
    });
    server.add("lie", {.read_only = true}, [d](std::size_t to) { d->cells.at(to).store(1); });
    server.add("dice", {}, [d](const tutti::server::call& how, std::size_t to) {
        const auto made = static_cast<std::uint64_t>(how.now().time_since_epoch().count()) ^ how.seed;
        d->cells.at(to).store(made);
        return made;
    });
    server.add("clock", {}, [d](std::size_t to) {
        const auto made = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
        d->cells.at(to).store(made);
        return made;
    });
    // One cell for each client of a crash test, which makes its calls in order.
    server.add("next", {}, [d](std::size_t whose, std::uint64_t number) {
        return tutti::atomically([&](tutti::tx& t) {
            auto& last = d->cells.at(whose);
            if (last.get(t) + 1 != number) throw std::runtime_error{"it is not the next"};
            last.set(t, number);
            d->left.set(t, d->left.get(t) + 1);
            d->right.set(t, d->right.get(t) + 1);
            return number;
        });
    });
    if (with_snapshot) {
        server.at_snapshot(
            "ledger", [d](tutti::server::snapshot_writer& to) { dump(d, to); },
            [d](tutti::server::snapshot_reader& from) { load(d, from); });
    }
    return d;
}

}  // namespace ledger

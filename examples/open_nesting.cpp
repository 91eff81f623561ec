// A seat is booked at once, visible for all, while the trip around it is still being planned. If the trip is cancelled,
// the booking is undone. Two trips conflict on the name of a seat, not on the table of seats.
#include <cstdio>
#include <thread>
#include <tutti/containers/hash_map.hpp>
#include <tutti/tutti.hpp>
#include <vector>

namespace {

constexpr int seats = 40, travellers = 4, wishes = 200;

tutti::hash_map<int, int> booked;  // seat -> traveller
tutti::counter trips;              // every block adds to it without waiting

struct too_expensive {};

bool book(tutti::tx& t, int seat, int traveller) {
    return tutti::open_nested(
        t, {{&booked, static_cast<std::uint64_t>(seat)}},
        [&](tutti::tx& now) { return booked.insert(now, seat, traveller); },
        [seat](tutti::tx& undo, bool done) {
            if (done) booked.erase(undo, seat);
        });
}

void travel(int traveller, int wish) {
    tutti::atomically([&](tutti::tx& t) {
        const int there = wish % seats, back = (wish * 7 + traveller) % seats;
        if (there == back || !book(t, there, traveller)) return;
        if (!book(t, back, traveller)) throw too_expensive{};  // undoes the booking of the outward seat
        trips.add(t, 1);
    });
}

}  // namespace

int main() {
    {
        std::vector<std::jthread> threads;
        threads.reserve(travellers);
        for (int i = 0; i < travellers; ++i) {
            threads.emplace_back([i] {
                for (int k = 0; k < wishes; ++k) {
                    try {
                        travel(i, k * (i + 1));
                    } catch (const too_expensive&) {}
                }
            });
        }
    }
    const std::size_t taken = tutti::atomically([](tutti::tx& t) { return booked.size(t); });
    std::printf("%lld trips, %zu seats booked\n", static_cast<long long>(trips.load()), taken);
    return taken == 2 * static_cast<std::size_t>(trips.load()) ? 0 : 1;
}

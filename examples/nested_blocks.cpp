// Nested blocks: an inner block can be cancelled while the outer one continues.
#include <cstdio>
#include <stdexcept>
#include <tutti/tutti.hpp>

int main() {
    tutti::var<int> seats{2}, hotel_rooms{0}, bookings{0};

    const auto take_one = [](tutti::tx& t, tutti::var<int>& stock) {
        stock.set(t, stock.get(t) - 1);
        if (stock.get(t) < 0) tutti::cancel(t);  // this block then has no effect
    };

    // Books with a room if there is one, otherwise without: only the inner block is cancelled.
    tutti::atomically([&](tutti::tx& t) {
        take_one(t, seats);
        const bool with_room = tutti::try_atomically([&](tutti::tx& inner) { take_one(inner, hotel_rooms); });
        bookings.set(t, bookings.get(t) + 1);
        t.on_commit([=] { std::printf("booked a seat, %s\n", with_room ? "and a room" : "but no room was left"); });
    });

    // An exception that leaves a block rolls back the block. Outside of the outermost block, all effects are undone.
    try {
        tutti::atomically([&](tutti::tx& t) {
            take_one(t, seats);
            throw std::runtime_error{"the payment failed"};
        });
    } catch (const std::runtime_error& reason) {
        std::printf("nothing booked: %s\n", reason.what());
    }

    // A cancel that no enclosing block handles leaves atomically as an exception.
    try {
        tutti::atomically([&](tutti::tx& t) { take_one(t, hotel_rooms); });
    } catch (const tutti::cancelled&) {
        std::printf("no room without a hotel\n");
    }

    std::printf("seats left %d, rooms left %d, bookings %d\n", seats.load(), hotel_rooms.load(), bookings.load());
    return seats.load() == 1 && hotel_rooms.load() == 0 && bookings.load() == 1 ? 0 : 1;
}

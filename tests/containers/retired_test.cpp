// Objects that transactions have retired: one call destroys them all, and objects of ended threads are destroyed as
// well.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <thread>

#include "tutti/tutti.hpp"

namespace tutti::containers {
namespace {

std::atomic<int> alive{0};
struct counted {
    counted() { ++alive; }
    ~counted() { --alive; }
};
using pointer = std::shared_ptr<const counted>;

void replace(var<pointer>& in, int times) {
    for (int i = 0; i < times; ++i) in.store(std::make_shared<counted>());
}

TEST(retired, destroys_the_objects_of_all_threads) {
    var<pointer> x{std::make_shared<counted>()};
    std::promise<void> replaced, checked;
    std::thread other{[&] {
        replace(x, 10);
        replaced.set_value();
        checked.get_future().wait();
        replace(x, 10);  // the thread's limbo works as before
    }};
    replaced.get_future().wait();
    replace(x, 10);
    EXPECT_GT(alive.load(), 1);
    destroy_retired();
    EXPECT_EQ(alive.load(), 1);
    checked.set_value();
    other.join();
    destroy_retired();
    EXPECT_EQ(alive.load(), 1);
}

TEST(retired, cannot_be_destroyed_inside_a_transaction) {
    EXPECT_THROW(atomically([](tx&) { destroy_retired(); }), usage_error);
    int thrown = 0;
    struct waits_for_itself {
        int& thrown;
        ~waits_for_itself() {
            try {
                destroy_retired();
            } catch (const usage_error&) {
                ++thrown;
            }
        }
    };
    auto* const object = new waits_for_itself{thrown};
    atomically([&](tx& t) { destroy(t, object); });
    destroy_retired();
    EXPECT_EQ(thrown, 1);
}

TEST(retired, destroys_the_objects_of_an_ended_thread) {
    var<pointer> x{std::make_shared<counted>()};
    var<int> number{0};
    atomically([&](tx& t) {
        std::ignore = number.get(t);
        // This block delays the destruction of the objects that the thread retires.
        std::thread{[&] { replace(x, 10); }}.join();
    });
    EXPECT_GT(alive.load(), 1);
    for (int i = 0; i < 4; ++i) number.store(i);
    EXPECT_EQ(alive.load(), 1);
}

}  // namespace
}  // namespace tutti::containers

// An interruption that ends a block in a destructor, which an exception cannot leave.
//
// Catches an engine that lets destructors be interrupted, both those that it runs itself and those of its containers.
#include <memory>
#include <optional>
#include <thread>

#include "anomalies/flavour.hpp"
#include "tutti/containers/broadcast.hpp"
#include "tutti/interrupt.hpp"

namespace tutti::anomalies {
namespace {

/// An object whose destructor runs a block that is restarted once while the thread is interrupted. An interruptible
/// destructor would refuse the second attempt.
struct restarting {
    interruption* of;
    var<int>* ends;
    ~restarting() {
        atomically([this](tx& t) {
            if (t.attempt() == 1) {
                of->raise();
                restart(t);
            }
            ends->set(t, ends->get(t) + 1);
        });
        of->lower();
    }
};

class interruption_of_destructors_test : public suite {
protected:
    interruption here_;
    var<int> ends_{0}, v_{0};
};

TEST_F(interruption_of_destructors_test, spares_destructors_of_rolled_back_objects) {
    EXPECT_FALSE(try_atomically([&](tx& t) {
        (void)create<restarting>(t, &here_, &ends_);
        cancel(t);
    }));
    EXPECT_EQ(ends_.load(), 1);
}

TEST_F(interruption_of_destructors_test, spares_destructors_of_captured_data) {
    auto held = std::make_shared<restarting>(&here_, &ends_);
    atomically([&](tx& t) {
        v_.set(t, 1);
        t.on_abort([held] {});
        held = nullptr;  // after the call, which may start the block over
    });
    EXPECT_EQ(ends_.load(), 1);
}

TEST_F(interruption_of_destructors_test, spares_destructors_of_retired_objects) {
    for (int i = 0; i < 1200; ++i) {
        atomically([&](tx& t) { destroy(t, new restarting{&here_, &ends_}); });
    }
    EXPECT_GT(ends_.load(), 0);
}

// The listener's destructor has to wait for a block that has sent. The thread is interrupted meanwhile, and continues
// when that block has ended.
TEST_F(interruption_of_destructors_test, spares_destructors_of_listeners) {
    broadcast<int> channel;
    std::optional<broadcast<int>::listener> listening;
    listening.emplace(channel);
    std::atomic<int> stage{0};
    std::jthread sender{[&] {
        atomically([&](tx& t) {
            channel.send(t, 1);
            int not_yet = 0;
            stage.compare_exchange_strong(not_yet, 1);
            stage.notify_all();
            // Waits until the destructor below has most likely begun, or for a limited number of turns.
            for (int i = 0; i < 100 && stage == 1; ++i) {
                here_.raise();
                std::this_thread::yield();
            }
        });
        stage = 2;
        stage.notify_all();
    }};
    stage.wait(0);
    here_.raise();
    listening.reset();
    stage.wait(1);
    sender.join();
    here_.lower();
    atomically([&](tx& t) { channel.send(t, 2); });
}

}  // namespace
}  // namespace tutti::anomalies

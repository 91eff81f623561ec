// `retry` over objects: a block that sleeps has read a variable, its bell, and a change of an object rings it.
//
//   a block:   reads its bell | enrols it under the keys that it has read | asks whoever holds the objects whether they
//              are current | gives way: our own engine sleeps until the bell changes
//   the feed:  is told of a write | takes the bells enrolled under its key out | changes each
//
// No wake is lost: a write that takes effect after the feed was opened is told (backend.hpp, B5), and finds the bell,
// or came before the bell was enrolled, and so before the engine was asked. A bell that rings before the block sleeps
// makes its reads invalid, which `retry` looks at. When the feed breaks, every bell rings, and blocks look for
// themselves.
//
// The thread that rings waits for blocks: its commits do so in quiescence, for a lock, or for the turn of an algorithm
// that runs one block at a time. A block that enrols still runs, so it never waits for that thread: it opens the feed
// itself, which the engine bounds, and the thread turns to it when it has rung. What the new feed tells until then is
// kept in it.
//
// Thread safety: every member.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cluster/backend/backend.hpp"
#include "tutti/var.hpp"

namespace tutti::cluster {

using bell = tutti::var<std::uint64_t>;

class bells {
public:
    /// `open_feed` may be called by any thread that enrols, by one at a time. Null: not to be had now.
    explicit bells(std::function<std::unique_ptr<backend::feed>()> open_feed) : open_feed_{std::move(open_feed)} {}
    ~bells() { stop(); }

    /// Opens the feed first, if it is not. False: the engine cannot be reached.
    [[nodiscard]] bool enrol(bell& mine, std::span<const backend::check> keys);
    /// It need not ring any more. It may still, once, which wakes who sleeps for it to look again.
    void leave(bell& mine);
    /// It will not ring when this has returned. REQUIRES: no transaction of the caller runs, because a ring may wait in
    /// quiescence for that.
    void withdraw(bell& mine);
    /// Ends the thread, and rings nothing any more. REQUIRES: as withdraw; no block sleeps.
    void stop();

private:
    /// Whether a feed is open; opens one if none is, without the lock, because the engine may take its time.
    [[nodiscard]] bool hears(std::unique_lock<std::mutex>& hold);
    void listen();
    /// Rings for what it tells, until it breaks.
    void hear_out(backend::feed& from);
    void ring(std::unique_lock<std::mutex>& hold, const std::unordered_set<bell*>& which);
    void ring_all(std::unique_lock<std::mutex>& hold);
    void remove(bell* mine);

    const std::function<std::unique_ptr<backend::feed>()> open_feed_;
    std::mutex guard_;
    std::shared_ptr<backend::feed> feed_;
    std::unordered_map<backend::key, std::unordered_set<bell*>> by_key_;
    std::unordered_map<bell*, std::vector<backend::key>> by_bell_;
    std::unordered_set<bell*> ringing_;  // outside of the lock
    std::condition_variable rung_, opened_, renewed_;
    std::thread thread_;
    bool broken_ = true;  // there is no feed, or it has ended
    bool opening_ = false;
    unsigned refusals_ = 0;  // times that there was no feed to be had
    bool stopped_ = false;
};

}  // namespace tutti::cluster

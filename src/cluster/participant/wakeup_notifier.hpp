// `retry` over objects. Each enlistment has a wake-up variable (`wakeup_var`). A block that calls `retry` reads its
// wake-up variable, and sleeps until that variable changes. A change of an object that the block has read changes the
// variable.
//
//   a block:   reads its wake-up variable
//              subscribes the variable to the keys that the block has read
//              asks the holders of these objects whether the objects are current
//              sleeps: this process's engine wakes the block when the variable changes
//   the feed:  reports a write
//              the variables subscribed to the written key are removed
//              each of these variables is changed
//
// No wakeup is lost. The feed reports every write that takes effect after the feed was opened (backend.hpp, ENG5).
// Either the feed's report of a write finds the variable subscribed, or the write precedes the subscription. If the
// write precedes the subscription, it also precedes the block's query to the engine, so the answer shows the write. A
// variable that changes before the block sleeps invalidates the block's reads, and `retry` checks these reads. When the
// feed breaks, every variable changes, and every block checks its objects.
//
// The notifying thread waits for blocks, because its commits wait in quiescence, for a lock, or for their turn in an
// algorithm that runs one block at a time. A block that subscribes is still running, so it must not wait for the
// notifying thread. The block therefore opens the feed itself, and the engine bounds the time for this. The notifying
// thread reads the new feed once it has changed all variables. Until then, the feed keeps its reports.
//
// Thread safety: every member may be called from any thread.
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

using wakeup_var = tutti::var<std::uint64_t>;

class wakeup_notifier {
public:
    /// Stores `open_feed`. Any thread that subscribes may call `open_feed`, one thread at a time. `open_feed` returns
    /// null if a feed cannot be opened now.
    explicit wakeup_notifier(std::function<std::unique_ptr<backend::key_feed>()> open_feed)
        : open_feed_{std::move(open_feed)} {}
    ~wakeup_notifier() { stop(); }

    /// Subscribes `variable` to `keys`. Opens the feed first if none is open. Returns false if the engine cannot be
    /// reached.
    [[nodiscard]] bool subscribe(wakeup_var& variable, std::span<const backend::check> keys);
    /// Removes the variable. The notifying thread may still change the variable once, and wake the block that sleeps on
    /// it. The block then checks its objects again.
    void unsubscribe(wakeup_var& variable);
    /// Removes the variable. The variable does not change after this function returns.
    /// REQUIRES: the caller runs no transaction, because the notifying thread may wait in quiescence for such a
    /// transaction.
    void unsubscribe_and_wait(wakeup_var& variable);
    /// Ends the thread. No variable changes afterwards.
    /// REQUIRES: the caller runs no transaction, and no block sleeps.
    void stop();

private:
    /// Returns true if a feed is open. Opens a feed if no feed is open. Does not hold the lock while it opens the feed,
    /// because the engine may be slow.
    [[nodiscard]] bool ensure_feed(std::unique_lock<std::mutex>& hold);
    void run_feeds();
    /// Changes the variables subscribed to the keys that `from` reports, until the feed breaks.
    void drain_feed(backend::key_feed& from);
    void notify(std::unique_lock<std::mutex>& hold, const std::unordered_set<wakeup_var*>& variables);
    void notify_all(std::unique_lock<std::mutex>& hold);
    void remove(wakeup_var* variable);

    const std::function<std::unique_ptr<backend::key_feed>()> open_feed_;
    std::mutex guard_;
    std::shared_ptr<backend::key_feed> feed_;
    std::unordered_map<backend::key, std::unordered_set<wakeup_var*>> variables_by_key_;
    std::unordered_map<wakeup_var*, std::vector<backend::key>> keys_by_variable_;
    std::unordered_set<wakeup_var*> notifying_;  // the variables that are changed now, without the lock
    std::condition_variable notified_, open_finished_, feed_renewed_;
    std::thread thread_;
    bool broken_ = true;  // true if no feed was opened yet, or the feed has ended
    bool opening_ = false;
    unsigned failed_opens_ = 0;  // how often open_feed has returned null
    bool stopped_ = false;
};

}  // namespace tutti::cluster

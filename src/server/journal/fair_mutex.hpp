// A mutex whose holder cannot take it again before one that waits: who writes a snapshot takes the file again and
// again, and the journal's thread waits for the file in between.
//
// Thread safety: any thread.
#pragma once

#include <mutex>

namespace tutti::server::journal {

/// Two mutexes: a thread waits for `held_` while it has `turn_`. A thread that has released `held_` needs `turn_` to
/// take it again, and finds that with the one that waits.
class fair_mutex {
public:
    void lock() {
        const std::scoped_lock first{turn_};
        held_.lock();
    }
    void unlock() { held_.unlock(); }

private:
    std::mutex turn_, held_;
};

}  // namespace tutti::server::journal

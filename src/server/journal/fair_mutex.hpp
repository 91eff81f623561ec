// A mutex whose former owner cannot lock it again before a thread that is already waiting. The thread that writes a
// snapshot locks the log file again and again. The journal's thread must be able to lock the file in between.
//
// Thread safety: any thread.
#pragma once

#include <mutex>

namespace tutti::server::journal {

/// Consists of two mutexes: a thread waits for `held_` while it holds `turn_`. The former owner of `held_` needs
/// `turn_` before it can lock `held_` again, but the waiting thread holds `turn_`.
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

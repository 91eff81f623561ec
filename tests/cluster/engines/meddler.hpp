// Between a process and its kernel: disks that are slow, and a wall clock that jumps, for any program, also one that
// is linked statically or calls the kernel itself, as those in Go do.
//
// The process, and all that it starts, hand some of their system calls to a thread here (seccomp_unotify(2)), which
// lets them go on late, or answers in the kernel's place. A clock is usually read from a page of the kernel's
// (vdso(7)): where to find it is taken out of what the program is told at its start, so it has to ask.
//
// Thread safety: what tests set, any thread; a process is started by one thread at a time.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tutti::cluster::testing {

class meddler {
public:
    meddler();
    /// REQUIRES: processes that it stands before have ended; their calls would fail from now on.
    ~meddler();
    meddler(const meddler&) = delete;
    meddler& operator=(const meddler&) = delete;

    /// What has been written is on the disk so much later, from now on: fsync(2) and its like wait, one by one.
    void delay_disk(std::chrono::milliseconds by) noexcept { disk_.store(by.count()); }
    /// The wall clock is so far from the machine's, from now on.
    void set_clock(std::chrono::seconds off) noexcept { clock_.store(off.count()); }
    /// How many calls it has held up, and how many looks at the clock it has answered.
    [[nodiscard]] std::uint64_t delayed() const noexcept { return delayed_.load(); }
    [[nodiscard]] std::uint64_t looked() const noexcept { return looked_.load(); }

    /// How a process gets under it: the child calls `submit` last before it executes its program, and then the parent
    /// calls `adopt`. The child's is safe between fork and exec, and does not return if it fails.
    class introduction {
    public:
        introduction();
        ~introduction();
        introduction(const introduction&) = delete;
        introduction& operator=(const introduction&) = delete;
        void submit() const noexcept;

    private:
        friend class meddler;
        int parent_ = -1, child_ = -1;
    };
    /// Throws std::runtime_error where the system does not allow it.
    void adopt(introduction& by, pid_t child);

private:
    void answer_all();
    void answer(int listener);

    std::atomic<std::int64_t> disk_{0}, clock_{0};
    std::atomic<std::uint64_t> delayed_{0}, looked_{0};
    std::atomic<bool> over_{false};
    std::mutex guard_;
    std::vector<int> listeners_;  // one for each process, and what it starts
    std::thread thread_;
};

}  // namespace tutti::cluster::testing

// Records which call ran on which worker, and when: each such interval is a slice. Recording happens on request, and
// the result is a trace in Chrome's format (Google: "Trace Event Format"), which Perfetto opens. A trace shows for a
// real run what figure 2 of Silvestri et al., "Preemptive Software Transactional Memory", shows for an example.
//
// Thread safety: a worker's thread calls `begin` and `end` for that worker; any thread calls `start` and `stop`. Each
// worker's slices have their own lock, which is taken only during a recording.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace tutti::server {

class timeline {
public:
    /// Maximum number of slices for each worker. Later slices are dropped and counted.
    static constexpr std::size_t max_slices = 50'000;

    explicit timeline(unsigned workers) : lanes_(workers) {}

    /// Records that worker `w` starts or resumes a call. `name` must live as long as the server; `call` identifies the
    /// call.
    void begin(unsigned w, const char* name, int priority, std::uint64_t call) noexcept {
        if (is_recording_.load(std::memory_order_relaxed)) record_begin(w, name, priority, call);
    }
    /// Records that the worker stops running the call. The reason is "finished", "preempted" or "parked".
    void end(unsigned w, const char* how) noexcept {
        if (is_recording_.load(std::memory_order_relaxed)) record_end(w, how);
    }

    /// Starts a new recording. Discards the previous one.
    void start();
    /// Ends the recording. Returns the trace as JSON.
    [[nodiscard]] std::string stop();

private:
    using clock = std::chrono::steady_clock;
    struct slice {
        const char* name;
        const char* how;
        int priority;
        std::uint64_t call;
        clock::time_point from, to;
    };
    struct lane {
        std::mutex mutex;
        std::vector<slice> slices;
        slice current{};  // current slice; its name is null if there is none
        std::size_t dropped = 0;
    };
    void record_begin(unsigned w, const char* name, int priority, std::uint64_t call) noexcept;
    void record_end(unsigned w, const char* how) noexcept;

    std::mutex control_;  // serializes start and stop
    std::atomic<bool> is_recording_{false};
    std::deque<lane> lanes_;
    clock::time_point started_;
};

}  // namespace tutti::server

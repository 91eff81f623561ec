// libuv's loop with the three additions that a member needs: a clock, a callback after each turn, and calls from other
// threads.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>

#include <uv.h>

#include "cluster/replica/raft.hpp"

extern "C" {
#include <raft/uv.h>
}

namespace tutti::cluster::replica {

[[nodiscard]] inline uv_stream_t* stream(uv_tcp_t* s) noexcept { return reinterpret_cast<uv_stream_t*>(s); }

/// Sends bytes. Calls `sent` when they are sent, or the connection has ended. Returns false if they cannot be sent.
[[nodiscard]] bool write(uv_stream_t& to, std::string bytes, std::function<void()> sent = {});

class event_loop {
public:
    event_loop(unsigned clock_ms, std::function<void()> clock, std::function<void()> turn,
               std::function<void()> called);
    /// REQUIRES: all objects with handles on the loop still exist.
    ~event_loop();
    event_loop(const event_loop&) = delete;
    event_loop& operator=(const event_loop&) = delete;

    [[nodiscard]] uv_loop_t& raw() noexcept { return loop_; }
    void run() { ::uv_run(&loop_, UV_RUN_DEFAULT); }
    /// Makes the loop's thread run `called`. Any thread may call this function.
    void call() noexcept { ::uv_async_send(&async_); }
    /// Ends the clock, the callback after each turn, and the calls from other threads. `run` returns when the loop has
    /// no other handles any more.
    void close();

private:
    uv_loop_t loop_{};
    uv_timer_t timer_{};
    uv_check_t check_{};
    uv_async_t async_{};
    bool closed_ = false;
    std::function<void()> clock_, turn_, called_;
};

}  // namespace tutti::cluster::replica

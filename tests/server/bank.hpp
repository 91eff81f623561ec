// A server of the bank's procedures in this process, on ports that the system chooses. With TUTTI_TEST_THREADS in the
// environment, the server uses threads; otherwise, the default executor. The tests run with both.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>

#include "server/client.hpp"
#include "tutti/server/service.hpp"
#include "tutti/tutti.hpp"

namespace tutti::server {

/// Blocks the workers that call `gate` until the test opens it.
class gate {
public:
    void wait() {
        ++inside_;
        inside_.notify_all();
        open_.wait(false);
    }
    void open() {
        open_ = true;
        open_.notify_all();
    }
    /// Waits until `n` workers are in the gate.
    void await(int n) {
        for (int now = inside_; now < n; now = inside_) inside_.wait(now);
    }

private:
    std::atomic<int> inside_{0};
    std::atomic<bool> open_{false};
};

class bank_server {
public:
    explicit bank_server(settings how = {}, std::chrono::milliseconds time_limit_of_gate = {})
        : service_{with_port(std::move(how))} {
        service_.load(BANK_PROCEDURES);
        service_.procedures().add("gate", {.priority = 31, .time_limit = time_limit_of_gate}, [this] { held.wait(); });
        service_.start();
    }
    ~bank_server() { held.open(); }

    service* operator->() noexcept { return &service_; }
    [[nodiscard]] std::uint16_t port() const noexcept { return service_.port(); }

    gate held;

private:
    static settings with_port(settings how) {
        how.port = 0;
        if (std::getenv("TUTTI_TEST_THREADS") != nullptr) how.executor = execution::threads;
        return how;
    }
    service service_;
};

/// Returns the answer to a call from within the program, in RESP3.
inline std::string answer_of(bank_server& bank, std::string_view procedure, const call_options& how = {}) {
    const auto answered = std::make_shared<std::promise<std::string>>();
    bank->call_raw(procedure, {}, how,
                   [answered](std::string_view answer) { answered->set_value(std::string{answer}); });
    return answered->get_future().get();
}

/// Returns the number of runs of a transaction that is aborted once. The function that receives the call's answer runs
/// that transaction.
inline int attempts_after(bank_server& bank, std::string_view procedure) {
    const auto counted = std::make_shared<std::promise<int>>();
    bank->call_raw(procedure, {}, {}, [counted](std::string_view) {
        int attempts = 0;
        tutti::atomically([&](tutti::tx& t) {
            if (++attempts == 1) tutti::restart(t);
        });
        counted->set_value(attempts);
    });
    return counted->get_future().get();
}

}  // namespace tutti::server

// A client that runs sessions one after another, each with a random end.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "server/client.hpp"
#include "support/random.hpp"

namespace tutti::stress {

/// Counters of all clients.
struct account {
    std::atomic<std::uint64_t> answered{0};  // calls that ran and were confirmed
    std::atomic<std::uint64_t> refused{0};   // BUSY
    std::atomic<std::uint64_t> sessions{0};
    std::atomic<std::uint64_t> killed{0};  // sessions that the client killed
};

/// Prints the violation and the seed, and ends the program with status 1.
[[noreturn]] void violated(const std::string& what);

class stress_client {
public:
    stress_client(std::uint16_t port, std::size_t number, std::uint64_t seed, account& all);

    /// Runs one session from its start to its end.
    void attack();

private:
    enum class fate { orderly, half_closed, reset, silent, babbling };

    long ask(const std::vector<std::string>& words);
    std::string requests(std::size_t count);
    void take_answers(server::bare_socket& from);
    void check_done();
    void leave_unread(std::unique_ptr<server::bare_socket> talk);

    const std::uint16_t port_;
    const std::size_t number_;
    support::random dice_;
    account& all_;
    server::client control_;
    std::deque<std::unique_ptr<server::bare_socket>> silent_;
    long session_ = 0;

    // --- state of the session
    std::size_t next_ = 0;                   // number of the next new request
    std::deque<std::size_t> to_send_again_;  // refused requests
    std::deque<std::size_t> in_progress_;
    std::size_t done_ = 0;
    std::string text_;  // the beginning of an incomplete answer
};

}  // namespace tutti::stress

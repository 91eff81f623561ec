// A client's request, from the arrival of its last byte to its answer. The client's I/O thread creates and reuses the
// object. Between `submit` and `complete_request`, the request belongs to the executor and the worker that runs it.
//
// REQ1  A request is in its connection's order until it is answered, or until the connection is closed.
// REQ2  A submitted request is in its I/O thread's list of requests in progress until it is completed, even if its
//       connection is closed. So an accepted call runs even if its client has disconnected.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/calls/timed_call.hpp"
#include "server/protocol/byte_budget.hpp"
#include "server/protocol/call_budget.hpp"
#include "server/protocol/replication_command.hpp"

namespace tutti::server {

class account;
class connection;
class principal;
class request;

/// A client's claim at login, and the password verifier's result.
struct login_claim {
    enum class login_result : std::uint8_t { none, correct, wrong, unchecked, busy };

    account* who = nullptr;               ///< null: the user does not exist
    std::shared_ptr<principal> origin{};  ///< principal of the client's address
    std::string_view password;
    login_result state = login_result::none;
};

/// Receives completed requests from workers. Any thread may call `complete_request`.
class request_owner {
public:
    virtual void complete_request(request& done) noexcept = 0;
    /// Returns the budget for the bytes of requests and answers.
    [[nodiscard]] virtual byte_budget& budget() noexcept = 0;
    /// Returns the log of calls; null: calls are not logged.
    [[nodiscard]] virtual journal::journal* log() noexcept { return nullptr; }
    /// Returns the owner's sleep flag if the owner is a host of calls (journal::hold_until_durable), or null.
    [[nodiscard]] virtual const std::atomic<bool>* sleep_flag() const noexcept { return nullptr; }

protected:
    ~request_owner() = default;
};

class request final : public timed_call {
public:
    explicit request(request_owner& owner) noexcept : owner_{owner}, share_{owner.budget()} {
        logged.log = owner.log();
    }

    /// Copies the arguments, because the buffer that contains them is reused before the call runs.
    void set_words(std::span<const std::string_view> words) {
        std::size_t bytes = 0;
        for (const std::string_view w : words) bytes += w.size();
        text_.clear();
        text_.reserve(bytes);
        arguments.clear();
        for (const std::string_view w : words) {
            arguments.emplace_back(text_.data() + text_.size(), w.size());
            text_.append(w);
        }
        share_.set(bytes);
    }

    /// Returns the bytes of the request's arguments and answer. REQUIRES: the executor does not have the request.
    [[nodiscard]] std::size_t footprint() const noexcept { return text_.size() + answer.size(); }

    /// Returns the request to its I/O thread. REQUIRES: the executor does not have the request, because the executor
    /// itself returns its requests.
    void complete() noexcept { owner_.complete_request(*this); }

    /// Resets the request for reuse, and keeps little of its memory.
    void reset() {
        constexpr std::size_t kept = 4096;
        what = {};
        priority = 0;
        due = no_deadline;
        interruptions = 0;
        if (answer.capacity() > kept) std::string{}.swap(answer);  // an assignment would keep the memory
        std::string{}.swap(replaced_answer);
        if (text_.capacity() > kept) std::string{}.swap(text_);
        if (arguments.capacity() * sizeof(std::string_view) > kept) std::vector<std::string_view>{}.swap(arguments);
        answer.clear();
        arguments.clear();
        share_.set(0);
        clock.reset();
        reset_marks();
        reset_run();
        how_it_ended = call_outcome::ok;
        answered = is_long = discards_answer = false;
        charged = paid = 0;
        payer = nullptr;
        is_beyond_share = is_of_operator = false;
        key.clear();
        logged = {.log = logged.log};
        if (login.state != login_claim::login_result::none) login = {};
        if (deferred.what != replication_command::kind::none) deferred.reset();
        client = nullptr;
        is_client_gone.store(false, std::memory_order_relaxed);
        next_of_client = previous = next = nullptr;
    }

    bool answered = false;                    // `answer` may be sent
    std::string key;                          // its answer is cached under this key; empty: no key
    login_claim login;                        // set for a login
    replication_command deferred{*this};      // set for a request that the journal answers
    bool is_long = false;                     // when submitted, the call was not expected to be short
    bool discards_answer = false;             // `answer` is discarded, because the client wants no answer
    std::size_t charged = 0;                  // bytes charged to the request's connection
    principal* payer = nullptr;               // principal that the budget of calls charges, or null
    std::size_t paid = 0;                     // bytes counted in the budget of calls
    call_budget::share_kind paid_from{};      // part of the payer in which these bytes are counted
    bool is_beyond_share = false;             // the budget of calls has refused the call
    bool is_of_operator = false;              // the call runs regardless of the memory in use
    connection* client = nullptr;             // null: no client waits for the answer
    std::atomic<bool> is_client_gone{false};  // for the password verifier: `client` is null
    request* next_of_client = nullptr;        // next request of the same connection
    request* next_completed = nullptr;        // the request that was completed before this one
    request* previous = nullptr;              // among requests in progress
    request* next = nullptr;

private:
    [[nodiscard]] bool may_begin() const noexcept override { return is_of_operator || !share_.budget().is_used_up(); }
    [[nodiscard]] const std::atomic<bool>* owner_sleep_flag() const noexcept override { return owner_.sleep_flag(); }
    void ended() noexcept override {
        share_.set(text_.size() + answer.size());
        owner_.complete_request(*this);
    }

    request_owner& owner_;
    byte_share share_;
    std::string text_;
};

}  // namespace tutti::server

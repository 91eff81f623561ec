// A request of a client, from its last byte to its answer. Made, kept and used again by its I/O thread; between
// `submit` and `give_back` it is the executor's and its worker's.
//
//   R1  A request is in the order of its connection until it is answered, or until the connection is gone.
//   R2  One that was submitted is in its I/O thread's list of those under way until it is given back, whatever becomes
//       of its connection: an accepted call runs, also for a client that has left.
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
#include "server/protocol/question.hpp"

namespace tutti::server {

class account;
class connection;
class principal;
class request;

/// What a client says that it is, and what the doorkeeper says to that.
struct login_claim {
    enum class verdict : std::uint8_t { none, right, wrong, unseen, busy };

    account* who = nullptr;               ///< null: nobody has that name
    std::shared_ptr<principal> origin{};  ///< where its client comes from
    std::string_view password;
    verdict state = verdict::none;
};

/// What a worker hands a request back to. Any thread.
class giver {
public:
    virtual void give_back(request& done) noexcept = 0;
    /// What the bytes of requests and answers are taken from.
    [[nodiscard]] virtual byte_budget& budget() noexcept = 0;
    /// Where calls are logged; null: nowhere.
    [[nodiscard]] virtual journal::journal* log() noexcept { return nullptr; }
    /// As a host of calls (journal::holds); null: it is none.
    [[nodiscard]] virtual const std::atomic<bool>* sleeps() const noexcept { return nullptr; }

protected:
    ~giver() = default;
};

class request final : public timed_call {
public:
    explicit request(giver& home) noexcept : home_{home}, share_{home.budget()} { logged.log = home.log(); }

    /// Copies the arguments, whose bytes will be gone when it runs.
    void keep(std::span<const std::string_view> words) {
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

    /// Bytes of its arguments and its answer. REQUIRES: it is not with the executor.
    [[nodiscard]] std::size_t footprint() const noexcept { return text_.size() + answer.size(); }

    /// Back to its I/O thread. Not for what the executor has: that ends by itself.
    void give_back() noexcept { home_.give_back(*this); }

    /// As new, but for its memory, of which it keeps little.
    void recycle() {
        constexpr std::size_t kept = 4096;
        what = {};
        priority = 0;
        due = no_deadline;
        interruptions = 0;
        if (answer.capacity() > kept) std::string{}.swap(answer);  // an assignment keeps the memory
        std::string{}.swap(unsaid);
        if (text_.capacity() > kept) std::string{}.swap(text_);
        if (arguments.capacity() * sizeof(std::string_view) > kept) std::vector<std::string_view>{}.swap(arguments);
        answer.clear();
        arguments.clear();
        share_.set(0);
        clock.reset();
        reset_marks();
        forget_overdue();
        how_it_ended = ending::ok;
        answered = lasts = silent = false;
        charged = paid = 0;
        payer = nullptr;
        is_beyond_share = is_of_operator = false;
        key.clear();
        logged = {.log = logged.log};
        if (login.state != login_claim::verdict::none) login = {};
        if (asks.what != question::kind::none) asks.forget();
        from = nullptr;
        is_left.store(false, std::memory_order_relaxed);
        behind = previous = next = nullptr;
    }

    bool answered = false;             // `answer` may go out
    std::string key;                   // its answer is remembered under this, unless it is empty
    login_claim login;                 // of a request that asks to be let in
    question asks{*this};              // of one that the journal answers
    bool lasts = false;                // it was not expected to be brief when it was submitted
    bool silent = false;               // `answer` is thrown away: its client wants none
    std::size_t charged = 0;           // bytes, to its connection
    principal* payer = nullptr;        // for whom the budget of calls counts it, or null
    std::size_t paid = 0;              // bytes, of that budget
    bool is_beyond_share = false;      // that budget has refused it
    bool is_of_operator = false;       // it is run whatever the server holds
    connection* from = nullptr;        // null: no client waits for the answer
    std::atomic<bool> is_left{false};  // the same for the doorkeeper
    request* behind = nullptr;         // the next of its connection
    request* behind_given = nullptr;   // the one given back before it
    request* previous = nullptr;       // among those under way
    request* next = nullptr;

private:
    [[nodiscard]] bool may_begin() const noexcept override { return is_of_operator || !share_.of().used_up(); }
    [[nodiscard]] const std::atomic<bool>* host_sleeps() const noexcept override { return home_.sleeps(); }
    void ended() noexcept override {
        share_.set(text_.size() + answer.size());
        home_.give_back(*this);
    }

    giver& home_;
    byte_share share_;
    std::string text_;
};

}  // namespace tutti::server

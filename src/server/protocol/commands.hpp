// The requests of clients: CALL, and the commands that are answered at once.
//
// Thread safety: any thread may call const members.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "server/calls/timeline.hpp"
#include "server/protocol/accounts.hpp"
#include "server/protocol/remembered.hpp"
#include "server/protocol/request.hpp"
#include "server/protocol/session.hpp"
#include "server/protocol/slow_log.hpp"

namespace tutti::server {

class commands {
public:
    /// `info` makes the text of INFO. `most_queued` is the maximum number of bytes that a client may queue between
    /// MULTI and EXEC.
    commands(const catalog& procedures, std::string password, accounts& users, timeline& shown,
             client_directory& clients, remembered& answers, slow_log& slow, replicas others, std::size_t most_queued,
             std::function<std::string()> info)
        : procedures_{procedures},
          password_{std::move(password)},
          users_{users},
          shown_{shown},
          clients_{clients},
          answers_{answers},
          slow_{slow},
          others_{std::move(others)},
          most_queued_{most_queued},
          info_{std::move(info)} {}

    /// The next step for a request that was taken.
    enum class outcome : std::uint8_t { answer, submit, ask_door, ask_journal };

    /// Answers `r`, or makes it ready for the executor, the doorkeeper or the journal. REQUIRES: at least one word;
    /// r.arrived is set.
    [[nodiscard]] outcome take(session& who, std::span<const std::string_view> words, request& r) const;

    /// Returns true if the answer occupies an I/O thread for long, because it shows all procedures, clients or calls,
    /// or reads a file.
    [[nodiscard]] static bool is_costly(std::span<const std::string_view> words) noexcept;
    /// Returns true if a login shows whether a client has the rights of an operator. Some users have these rights, or
    /// else any client with the password.
    [[nodiscard]] bool tells_operators_by_login() const noexcept {
        return users_.has_operators() || (users_.empty() && !password_.empty());
    }
    /// Returns true if the caller must call `take` later, with the same words.
    [[nodiscard]] bool has_to_wait(const session& who, std::span<const std::string_view> words) const noexcept;

    /// Answers a request after the doorkeeper's verdict.
    void end_login(session& who, request& r) const;

private:
    using words = std::span<const std::string_view>;
    struct command;
    static const command list[17];  // all except CALL

    [[nodiscard]] outcome answer_or_prepare(session& who, words given, request& r) const;
    void answer_command(session& who, words given, reply& to) const;
    [[nodiscard]] bool asks_door(words given, request& r) const;
    void need_leader(const entry& which) const;
    [[nodiscard]] static bool may_ask(const session& who, words given, reply& to);
    [[nodiscard]] bool may_follow(const session& who, words given, reply& to) const;
    [[nodiscard]] bool take_call(session& who, words given, request& r) const;
    static void prepare(invocation what, words arguments, request& r);
    [[nodiscard]] bool execute(session& who, words given, request& r) const;
    [[nodiscard]] bool is_first(std::string_view key, request& r) const;
    void repeat_when_replicated(request& r) const;
    [[nodiscard]] bool answer_multi(session& who, words given, reply& to) const;
    void auth(session& who, words given, reply& to) const;
    void show_slow(words given, reply& to) const;
    void hello(session& who, words given, reply& to) const;
    [[nodiscard]] bool let_in(session& who, std::string_view name, std::string_view password) const noexcept;
    static void describe(words given, reply& to);
    [[nodiscard]] bool is_password(std::string_view given) const noexcept;

    const catalog& procedures_;
    const std::string password_;
    accounts& users_;
    timeline& shown_;
    client_directory& clients_;
    remembered& answers_;
    slow_log& slow_;
    const replicas others_;
    const std::size_t most_queued_;  // bytes, between MULTI and EXEC
    const std::function<std::string()> info_;
};

}  // namespace tutti::server

// Processes the requests of clients: CALL, and the commands that are answered at once.
//
// Thread safety: any thread may call const members.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "server/calls/catalog.hpp"
#include "server/calls/timeline.hpp"
#include "server/protocol/accounts.hpp"
#include "server/protocol/reply_cache.hpp"
#include "server/protocol/request.hpp"
#include "server/protocol/service_control.hpp"
#include "server/protocol/session.hpp"
#include "server/protocol/slow_log.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server {

class commands {
public:
    /// The parts of the server that commands use. All references must outlive the object of type `commands`.
    struct server_parts {
        const settings& how;
        const catalog& procedures;
        accounts& users;
        timeline& recorder;
        client_directory& clients;
        reply_cache& replies;
        slow_log& slow;
        service_control& control;
        journal::journal* log = nullptr;  ///< null: calls are not logged
    };

    explicit commands(const server_parts& given) : parts_{given} {}

    /// The next step for a processed request.
    enum class command_result : std::uint8_t { answer, submit, check_password, defer };

    /// Answers `r`, or prepares `r` for the executor, the password verifier or the journal. REQUIRES: at least one
    /// word; r.arrived is set.
    [[nodiscard]] command_result process(session& who, std::span<const std::string_view> words, request& r) const;

    /// Returns true if making the answer occupies an I/O thread for long, because the answer lists all procedures,
    /// clients or calls, or requires reading a file.
    [[nodiscard]] static bool is_costly(std::span<const std::string_view> words) noexcept;
    /// Returns true if a login shows whether a client has the rights of an admin. That is the case if some users have
    /// these rights, or if there are no users and each client with the password has them.
    [[nodiscard]] bool identifies_operators_by_login() const noexcept {
        return parts_.users.has_operators() || (parts_.users.empty() && !parts_.how.password.empty());
    }
    /// Returns true if the caller must call `process` later, with the same words.
    [[nodiscard]] bool must_be_delayed(const session& who, std::span<const std::string_view> words) const noexcept;

    /// Answers a request after the password verifier's check.
    void finish_login(session& who, request& r) const;

private:
    using words = std::span<const std::string_view>;
    struct command;
    static const command list[17];  // all commands that COMMAND lists, except CALL, MULTI, EXEC and DISCARD

    [[nodiscard]] command_result answer_or_prepare(session& who, words given, request& r) const;
    void answer_command(session& who, words given, reply& to) const;
    [[nodiscard]] bool needs_password_check(words given, request& r) const;
    void require_leader(const procedure_entry& which) const;
    [[nodiscard]] static bool check_rights(const session& who, words given, reply& to);
    [[nodiscard]] bool may_follow(const session& who, words given, reply& to) const;
    [[nodiscard]] bool prepare_call(session& who, words given, request& r) const;
    static void prepare(invocation what, words arguments, request& r);
    [[nodiscard]] bool execute(session& who, words given, request& r) const;
    [[nodiscard]] bool is_first_use(std::string_view key, request& r) const;
    void repeat_when_replicated(request& r) const;
    [[nodiscard]] bool answer_multi(session& who, words given, reply& to) const;
    void auth(session& who, words given, reply& to) const;
    void answer_slow_log(words given, reply& to) const;
    void hello(session& who, words given, reply& to) const;
    [[nodiscard]] bool log_in(session& who, std::string_view name, std::string_view password) const noexcept;
    static void describe(words given, reply& to);
    [[nodiscard]] bool is_password(std::string_view given) const noexcept;

    const server_parts parts_;
};

}  // namespace tutti::server

// Writes a call to the log if and only if the call's transaction commits.
//
// A logged call is one transaction, from the begin of its procedure to its end. Blocks inside of the procedure are
// nested in that transaction. If the transaction has written something, a participant joins it at the end of its body.
// The participant's vote reserves the call's record in the log. The vote takes place after every lock is held, and
// before the last validation of the reads (journal.hpp, JRN3). So the log never contains half a call, or a call without
// an effect.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "server/calls/invocation.hpp"
#include "server/journal/journal.hpp"
#include "server/journal/record.hpp"
#include "tutti/tx.hpp"

namespace tutti::core {
class descriptor;
}

namespace tutti::server {

/// Thrown if a call may write, but the log cannot store the call. The call has no effect.
class log_unwritable_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Thrown if a call writes while this server accepts no calls that write, for example because it does not lead. The
/// call has no effect.
class not_leader_error : public log_unwritable_error {
public:
    using log_unwritable_error::log_unwritable_error;
};

class log_participant final : public participant {
public:
    /// `answer` contains the call's answer once the body has ended. All arguments must live until the call has ended.
    log_participant(log_context& how, const invocation& i, const call& as, std::span<const std::string_view> arguments,
                    const std::string& answer)
        : how_{how}, what_{i}, as_{as}, arguments_{arguments}, answer_{answer} {}

    /// Joins the transaction, at the end of its body. May end by a signal of the transaction.
    void join(tx& t);

    vote prepare() override;
    void commit() noexcept override;
    void abort() noexcept override;

private:
    [[nodiscard]] bool has_written() const noexcept;
    /// Reserves a record, and fills it in if the transaction's reads are still valid. Otherwise skips the record and
    /// returns false.
    [[nodiscard]] bool reserve_record(std::span<const journal::recorded_call> parts);
    [[nodiscard]] bool reserve_record_of_all();
    [[noreturn]] void refuse() const;
    [[noreturn]] static void refuse_too_long(std::size_t bytes);
    void skip_record() noexcept;

    log_context& how_;
    const invocation& what_;
    const call& as_;
    std::span<const std::string_view> arguments_;
    const std::string& answer_;
    core::descriptor* descriptor_ = nullptr;
    journal::reserved_record reserved_;  // record that is not complete yet
    std::unique_ptr<journal::stored_reply> reply_;
};

}  // namespace tutti::server

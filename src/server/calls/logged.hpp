// How a call gets into the log: with the transaction that it is, or not at all.
//
// A logged call is one transaction, from its procedure's begin to its end; blocks inside are nested in it. At the end
// of its body it joins as a participant, if it has written something, and takes its place in the log by its vote:
// after every lock is held, and before the reads are validated for the last time (journal.hpp, J3). So there is never
// half a call in the log, nor one that had no effect.
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

/// The log cannot be written, so what would write something does not run.
class log_unwritable : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// This server does not lead, so what would write something does not run.
class leads_elsewhere : public log_unwritable {
public:
    using log_unwritable::log_unwritable;
};

class log_entry final : public participant {
public:
    /// `answer` is what the call answers, once its body has ended. All live until the call has.
    log_entry(logging& how, const invocation& i, const call& as, std::span<const std::string_view> arguments,
              const std::string& answer)
        : how_{how}, what_{i}, as_{as}, arguments_{arguments}, answer_{answer} {}

    /// At the end of the body. May leave by a signal of the transaction.
    void join(tx& t);

    vote prepare() override;
    void commit() noexcept override;
    void abort() noexcept override;

private:
    [[nodiscard]] bool wrote() const noexcept;
    /// Draws, and fills in the record if the reads stand. Else false, and it has left a hole.
    [[nodiscard]] bool take_place(std::span<const journal::part> parts);
    [[nodiscard]] bool take_place_of_all();
    [[noreturn]] void refuse() const;
    [[noreturn]] static void refuse_so_long(std::size_t bytes);
    void leave_hole() noexcept;

    logging& how_;
    const invocation& what_;
    const call& as_;
    std::span<const std::string_view> arguments_;
    const std::string& answer_;
    core::descriptor* descriptor_ = nullptr;
    journal::place drawn_;  // that is not handed over
    std::unique_ptr<journal::kept_answer> kept_;
};

}  // namespace tutti::server

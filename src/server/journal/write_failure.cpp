#include "server/journal/write_failure.hpp"

#include <new>
#include <utility>

namespace tutti::server::journal {

std::string write_failure::text() const {
    const std::scoped_lock lock{mutex_};
    return text_;
}

void write_failure::enter(const log_store_error& why) noexcept {
    if (!why.is_retryable()) is_final_ = true;
    const bool is_known = exists_.exchange(true) && why.is_retryable();
    try {
        std::string line = why.what();
        if (is_final_) line += "; the server writes no more to the log until it is restarted";
        if (!is_known) log_(true, line);
        const std::scoped_lock lock{mutex_};
        text_ = std::move(line);
    } catch (const std::bad_alloc&) {
        // There is no memory for the text, so the failure is not described.
    }
}

void write_failure::leave() noexcept {
    if (!exists_.load()) return;
    exists_.store(false);
    {
        const std::scoped_lock lock{mutex_};
        text_.clear();
    }
    try {
        log_(false, "the log can be written again; no calls were lost");
    } catch (const std::bad_alloc&) {
        // There is no memory for the message.
    }
}

}  // namespace tutti::server::journal

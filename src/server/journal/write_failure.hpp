// Whether the journal can write its file. A retryable failure ends when a later attempt succeeds. Any other failure is
// final: the journal writes no more.
//
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>

#include "server/journal/log_store.hpp"

namespace tutti::server::journal {

class write_failure {
public:
    /// `log` is called when the file can no longer be written, and when it can be written again. `log` must outlive
    /// this object.
    explicit write_failure(const std::function<void(bool failed, const std::string&)>& log) : log_{log} {}

    /// Returns true if the file cannot be written now.
    [[nodiscard]] bool exists() const noexcept { return exists_.load(); }
    /// Does the same without ordering later accesses.
    [[nodiscard]] bool exists_relaxed() const noexcept { return exists_.load(std::memory_order_relaxed); }
    /// Returns true if the journal writes no more.
    [[nodiscard]] bool is_final() const noexcept { return is_final_.load(); }
    /// Returns a description of the failure, or an empty string if there is none.
    [[nodiscard]] std::string text() const;

    /// Records that writing has failed. Reports the failure unless it is known already.
    void enter(const log_store_error& why) noexcept;
    /// Records that the file can be written. Reports it if there was a failure.
    void leave() noexcept;
    /// Makes `exists` return true from now on, because the journal ends, and calls that it cannot write still wait.
    void enter_at_end() noexcept { exists_.store(true); }

private:
    const std::function<void(bool, const std::string&)>& log_;
    std::atomic<bool> exists_{false}, is_final_{false};
    mutable std::mutex mutex_;
    std::string text_;  // guarded by mutex_
};

}  // namespace tutti::server::journal

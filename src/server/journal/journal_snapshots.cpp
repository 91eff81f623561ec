// Stores the journal's snapshots: the calling thread adds the parts, and the journal's thread replaces the previous
// snapshot by the new one.
#include "server/journal/journal.hpp"

namespace tutti::server::journal {

void journal::begin_snapshot() {
    for (bool more = true; more;) change_snapshot([&](log_store& file) { more = file.drop_replaced(); });
    change_snapshot([](log_store& file) { file.begin_snapshot(); });
}

void journal::change_snapshot(const std::function<void(log_store&)>& what) {
    try {
        with_file([&](log_store& file) {
            what(file);
            file.checkpoint_if_long();
        });
    } catch (const log_store_error& e) {
        if (!e.is_retryable()) failure_.enter(e);  // the error also affects calls, like a failed fsync
        throw;
    }
}

std::string journal::store_snapshot(std::uint64_t position) {
    std::unique_lock lock{mutex_};
    if (ending_) return "the server is shutting down";
    snapshot_to_store_ = position;
    store_result_.reset();
    is_woken_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return store_result_.has_value(); });
    const std::string how = *store_result_;
    lock.unlock();
    return how.empty() ? drop_replaced() : how;
}

std::string journal::store_snapshot(const snapshot& s) {
    begin_snapshot();
    change_snapshot([&](log_store& file) { file.add_parts(s.parts); });
    return store_snapshot(s.position);
}

std::string journal::store_snapshot_at_end(std::uint64_t position) {
    std::string failed = finish_snapshot(position);
    if (!failed.empty()) return failed;
    not_in_snapshot_.store(position);
    return drop_replaced();
}

void journal::write_snapshot() noexcept {
    std::uint64_t position = 0;
    {
        const std::scoped_lock lock{mutex_};
        // The calls that the snapshot contains must be in the log before the snapshot is stored. Otherwise a start
        // would find these calls twice, or a gap before the snapshot.
        const bool ready =
            snapshot_to_store_ && (failure_.is_final() || failure_.exists() || durable_.load() >= *snapshot_to_store_);
        if (!ready) return;
        position = *snapshot_to_store_;
    }
    std::string how = failure_.exists() ? error() : finish_snapshot(position);
    if (how.empty()) not_in_snapshot_.store(position + 1);  // the snapshot itself has reserved `position`
    {
        const std::scoped_lock lock{mutex_};
        snapshot_to_store_.reset();
        store_result_ = std::move(how);
    }
    changed_.notify_all();
}

std::string journal::finish_snapshot(std::uint64_t position) noexcept {
    try {
        const std::scoped_lock lock{file_mutex_};
        store_.finish_snapshot(position, how_.replication_backlog);
        bytes_to_replay_.store(store_.bytes());
        return {};
    } catch (const log_store_error& e) {
        if (!e.is_retryable()) failure_.enter(e);
        return e.what();
    } catch (const std::exception& e) {
        return e.what();
    }
}

/// Drops the data that the snapshot replaced. The snapshot is already stored. If dropping fails now, the next snapshot
/// drops the rest.
std::string journal::drop_replaced() noexcept {
    try {
        for (bool more = true; more;) change_snapshot([&](log_store& file) { more = file.drop_replaced(); });
    } catch (const log_store_error& e) {
        if (!e.is_retryable()) return e.what();
    } catch (const std::exception&) {
        // There is no memory for the text of the error.
    }
    return {};
}

}  // namespace tutti::server::journal

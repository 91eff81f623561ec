// How a journal keeps snapshots: the calling thread adds the parts, and the journal's thread makes the exchange.
#include "server/journal/journal.hpp"

namespace tutti::server::journal {

void journal::begin_snapshot() {
    for (bool more = true; more;) change_snapshot([&](store& file) { more = file.drop_some(); });
    change_snapshot([](store& file) { file.begin_snapshot(); });
}

void journal::change_snapshot(const std::function<void(store&)>& what) {
    try {
        with_file([&](store& file) {
            what(file);
            file.tidy();
        });
    } catch (const store_error& e) {
        if (!e.may_try_again()) enter_trouble(e);  // as after a failed fsync, calls are affected, too
        throw;
    }
}

std::string journal::keep(std::uint64_t position) {
    std::unique_lock lock{mutex_};
    if (ending_) return "the server is ending";
    to_keep_ = position;
    kept_.reset();
    rung_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return kept_.has_value(); });
    const std::string how = *kept_;
    lock.unlock();
    return how.empty() ? drop_what_was_replaced() : how;
}

std::string journal::keep(const snapshot& s) {
    begin_snapshot();
    change_snapshot([&](store& file) { file.add_parts(s.parts); });
    return keep(s.position);
}

std::string journal::keep_at_end(std::uint64_t position) {
    std::string failed = finish_snapshot(position);
    if (!failed.empty()) return failed;
    not_in_snapshot_.store(position);
    return drop_what_was_replaced();
}

void journal::write_snapshot() noexcept {
    std::uint64_t position = 0;
    {
        const std::scoped_lock lock{mutex_};
        // The calls that the snapshot holds must be in the log before the snapshot is. Otherwise a start would find
        // them twice, or a gap before the snapshot.
        const bool ready = to_keep_ && (broken_ || in_trouble_.load() || durable_.load() >= *to_keep_);
        if (!ready) return;
        position = *to_keep_;
    }
    std::string how = in_trouble_.load() ? trouble() : finish_snapshot(position);
    if (how.empty()) not_in_snapshot_.store(position + 1);  // `position` is the snapshot's own
    {
        const std::scoped_lock lock{mutex_};
        to_keep_.reset();
        kept_ = std::move(how);
    }
    changed_.notify_all();
}

std::string journal::finish_snapshot(std::uint64_t position) noexcept {
    try {
        const std::scoped_lock lock{file_mutex_};
        store_.finish_snapshot(position, how_.backlog);
        bytes_to_replay_.store(store_.bytes());
        return {};
    } catch (const store_error& e) {
        if (!e.may_try_again()) enter_trouble(e);
        return e.what();
    } catch (const std::exception& e) {
        return e.what();
    }
}

/// Drops what the snapshot replaced. The snapshot is kept already, so the next snapshot drops whatever fails now.
std::string journal::drop_what_was_replaced() noexcept {
    try {
        for (bool more = true; more;) change_snapshot([&](store& file) { more = file.drop_some(); });
    } catch (const store_error& e) {
        if (!e.may_try_again()) return e.what();
    } catch (const std::exception&) {
        // There is no memory.
    }
    return {};
}

}  // namespace tutti::server::journal

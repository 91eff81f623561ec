#include "server/protocol/reply_cache.hpp"

namespace tutti::server {

reply_cache::state reply_cache::begin(std::string_view key, std::size_t call, std::string& answer, instant now) {
    const std::scoped_lock lock{mutex_};
    trim(now);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
        const cached_reply& e = *found->second;
        if (e.call != call) return state::another_call;
        if (!e.answered) return state::in_progress;
        answer = e.answer;
        return state::answered;
    }
    add(key, call, now);
    return state::fresh;
}

void reply_cache::store(std::string_view key, std::string_view answer, instant now) {
    const std::scoped_lock lock{mutex_};
    finish(by_key_.find(key)->second, answer, now);
}

void reply_cache::restore(std::string_view key, std::size_t call, std::string_view answer, instant since) {
    const std::scoped_lock lock{mutex_};
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
        if (!found->second->answered) return;
        erase(found->second);
    }
    finish(add(key, call, since), answer, since);
}

reply_cache::iterator reply_cache::add(std::string_view key, std::size_t call, instant now) {
    in_progress_.push_back({std::string{key}, {}, call, now});
    const iterator made = std::prev(in_progress_.end());
    try {
        by_key_.emplace(made->key, made);
    } catch (...) {
        in_progress_.erase(made);
        throw;
    }
    return made;
}

void reply_cache::finish(iterator which, std::string_view answer, instant now) {
    try {
        which->answer = answer;
    } catch (...) {
        by_key_.erase(which->key);
        in_progress_.erase(which);
        throw;
    }
    which->since = now;
    which->answered = true;
    answered_.splice(answered_.end(), in_progress_, which);
    bytes_ += which->key.size() + which->answer.size();
    trim(now);
}

void reply_cache::remove(std::string_view key) noexcept {
    const std::scoped_lock lock{mutex_};
    const auto found = by_key_.find(key);
    const iterator which = found->second;
    by_key_.erase(found);
    in_progress_.erase(which);
}

void reply_cache::trim(instant now) noexcept {
    while (!answered_.empty() && (answered_.size() > limits_.answers || bytes_ > limits_.bytes ||
                                  now - answered_.front().since > limits_.time)) {
        erase(answered_.begin());
    }
}

void reply_cache::erase(iterator which) noexcept {
    bytes_ -= which->key.size() + which->answer.size();
    by_key_.erase(which->key);
    answered_.erase(which);
}

}  // namespace tutti::server

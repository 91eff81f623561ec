#include "server/protocol/remembered.hpp"

namespace tutti::server {

remembered::state remembered::begin(std::string_view key, std::size_t call, std::string& answer, instant now) {
    const std::scoped_lock lock{mutex_};
    trim(now);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
        const entry& e = *found->second;
        if (e.call != call) return state::another_call;
        if (!e.answered) return state::under_way;
        answer = e.answer;
        return state::answered;
    }
    add(key, call, now);
    return state::fresh;
}

void remembered::keep(std::string_view key, std::string_view answer, instant now) {
    const std::scoped_lock lock{mutex_};
    settle(by_key_.find(key)->second, answer, now);
}

void remembered::learn(std::string_view key, std::size_t call, std::string_view answer, instant since) {
    const std::scoped_lock lock{mutex_};
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
        if (!found->second->answered) return;
        drop(found->second);
    }
    settle(add(key, call, since), answer, since);
}

remembered::place remembered::add(std::string_view key, std::size_t call, instant now) {
    under_way_.push_back({std::string{key}, {}, call, now});
    const place made = std::prev(under_way_.end());
    try {
        by_key_.emplace(made->key, made);
    } catch (...) {
        under_way_.erase(made);
        throw;
    }
    return made;
}

void remembered::settle(place which, std::string_view answer, instant now) {
    try {
        which->answer = answer;
    } catch (...) {
        by_key_.erase(which->key);
        under_way_.erase(which);
        throw;
    }
    which->since = now;
    which->answered = true;
    answered_.splice(answered_.end(), under_way_, which);
    bytes_ += which->key.size() + which->answer.size();
    trim(now);
}

void remembered::forget(std::string_view key) noexcept {
    const std::scoped_lock lock{mutex_};
    const auto found = by_key_.find(key);
    const place which = found->second;
    by_key_.erase(found);
    under_way_.erase(which);
}

void remembered::trim(instant now) noexcept {
    while (!answered_.empty() &&
           (answered_.size() > most_.answers || bytes_ > most_.bytes || now - answered_.front().since > most_.time)) {
        drop(answered_.begin());
    }
}

void remembered::drop(place which) noexcept {
    bytes_ -= which->key.size() + which->answer.size();
    by_key_.erase(which->key);
    answered_.erase(which);
}

}  // namespace tutti::server

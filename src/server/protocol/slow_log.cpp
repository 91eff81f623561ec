#include "server/protocol/slow_log.hpp"

#include <algorithm>
#include <utility>

namespace tutti::server {
namespace {

constexpr std::size_t max_words = 32, max_word_bytes = 128;  // Redis's limits

std::int64_t microseconds_in(std::chrono::nanoseconds time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

}  // namespace

std::vector<std::string> slow_log::cut(std::span<const std::string_view> words) {
    std::vector<std::string> kept;
    const std::size_t whole = words.size() > max_words ? max_words - 1 : words.size();
    for (const std::string_view w : words.first(whole)) {
        kept.emplace_back(w.substr(0, max_word_bytes));
        if (w.size() > max_word_bytes)
            kept.back() += "... (" + std::to_string(w.size() - max_word_bytes) + " more bytes)";
    }
    if (whole < words.size()) kept.push_back("... (" + std::to_string(words.size() - whole) + " more arguments)");
    return kept;
}

void slow_log::add(const timed_call& c, std::chrono::nanoseconds ran, instant now, std::string address,
                   std::string client) {
    std::vector<std::string_view> words{"CALL", c.what.entry->definition.name};
    if (c.what.queued_calls.empty()) {
        words.insert(words.end(), c.arguments.begin(), c.arguments.end());
    } else {
        words = {"EXEC"};
        auto next = c.arguments.begin();
        for (const invocation::queued_call& p : c.what.queued_calls) {
            words.push_back(p.entry->definition.name);
            const auto end = next + static_cast<std::ptrdiff_t>(p.arguments);
            words.insert(words.end(), next, end);
            next = end;
        }
    }
    const auto today = std::chrono::system_clock::now().time_since_epoch();
    slow_call e{.time = std::chrono::duration_cast<std::chrono::seconds>(today).count(),
                .ran = ran,
                .waited = now - c.arrived - ran,
                .priority = c.priority,
                .interruptions = c.interruptions,
                .how = c.how_it_ended,
                .words = cut(words),
                .address = std::move(address),
                .client = std::move(client)};
    const std::scoped_lock lock{mutex_};
    e.id = next_id_;
    newest_first_.push_front(std::move(e));
    ++next_id_;
    if (newest_first_.size() > max_calls_) newest_first_.pop_back();
}

void slow_log::write(std::size_t count, reply& to) const {
    const std::scoped_lock lock{mutex_};
    const std::size_t shown = std::min(count, newest_first_.size());
    to.list(shown);
    for (std::size_t i = 0; i < shown; ++i) {
        const slow_call& e = newest_first_[i];
        to.list(10);
        to.integer(static_cast<std::int64_t>(e.id));
        to.integer(e.time);
        to.integer(microseconds_in(e.ran));
        to.list(e.words.size());
        for (const std::string& w : e.words) to.text(w);
        to.text(e.address);
        to.text(e.client);
        // Redis has only the six fields above. The additional fields below are not nested, because some clients read
        // them as text.
        to.integer(e.priority);
        to.integer(e.interruptions);
        to.integer(microseconds_in(e.waited));
        to.text(code_of(e.how));
    }
}

std::size_t slow_log::size() const {
    const std::scoped_lock lock{mutex_};
    return newest_first_.size();
}

void slow_log::reset() noexcept {
    const std::scoped_lock lock{mutex_};
    newest_first_.clear();
}

}  // namespace tutti::server

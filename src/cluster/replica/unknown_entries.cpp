#include "cluster/replica/unknown_entries.hpp"

#include <algorithm>

namespace tutti::cluster::replica {
namespace {

constexpr std::uint64_t ring_size = durable_contents::ring_size;

}  // namespace

bool unknown_entries::is_at(const logged_entry& e, std::uint64_t index) const noexcept {
    if (index == 0 || index > record_->promises.last) return false;
    const std::optional<std::uint64_t> written = record_->digest_of(index);
    return written && *written == entry_digest(index, e.term, static_cast<unsigned>(e.type), e.bytes);
}

/// Returns the entry's index in the ring, or 0 if it is not there.
std::uint64_t unknown_entries::find(const logged_entry& e) {
    const std::uint64_t last = record_->promises.last;
    for (std::uint64_t back = 0; back < std::min(last, ring_size) && left_ != 0; ++back, --left_) {
        if (is_at(e, last - back)) return last - back;
    }
    return 0;
}

void unknown_entries::count(const logged_entry& e) {
    ++count_;
    before_.push_back(e);
}

void unknown_entries::set_position(std::uint64_t index) {
    at_ = index;
    maybe_ = 0;
    is_behind_ = index == record_->promises.last;
    for (; !before_.empty() && is_at(before_.back(), --index); before_.pop_back()) --count_;
    before_.clear();
}

void unknown_entries::add(const logged_entry& e) {
    if (record_ == nullptr) {
        ++count_;
        return;
    }
    if (e.run != run_) end_segment();
    run_ = e.run;
    if (at_ != 0 && is_at(e, at_ + 1)) return set_position(at_ + 1);
    at_ = 0;
    if (maybe_ != 0 && is_at(e, maybe_ + 1)) return set_position(maybe_ + 1);
    maybe_ = e.type == entry_type::command ? find(e) : 0;
    if (maybe_ != 0 && !is_behind_) return set_position(maybe_);
    count(e);
}

void unknown_entries::end_segment() {
    at_ = maybe_ = run_ = 0;
    is_behind_ = false;
    before_.clear();
}

}  // namespace tutti::cluster::replica

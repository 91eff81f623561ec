// Fast-path attempts: how they begin, commit, and become ordinary attempts.
#include <array>

#include "cluster/participant/enlistment.hpp"
#include "cluster/participant/peer_node.hpp"
#include "core/ports/policy.hpp"
#include "tutti/cluster/serializer.hpp"

namespace tutti::cluster {

// Begins a fast-path attempt if the attempt meets all conditions below. An open bound means that the attempt is sound
// and not irrevocable (DSC2 of core::descriptor), because a kill closes the bounds. An open `logged_bound_` also means
// that the attempt's algorithm logs reads by their orecs. A flag of `slow_commit` or `slow_path` is set if
// this is a later attempt, or if the attempt has deferred something. A first attempt has lost no conflict, so it still
// has the default rules for conflicts (api::join_attempt). The attempt does not run alone: only a block of the language
// begins alone, and this block would be nested in that block.
detail::fast_path_attempt* enlistment::open_fast_path() noexcept {
    core::descriptor& d = descriptor_;
    if (!may_use_fast_path_ || fast_path_.is_running() || (d.slow_commit | d.slow_path) != 0 ||
        d.logged_bound_.load(std::memory_order_relaxed) == 0 || d.read_next_ != d.read_begin ||
        d.frame_->parent != nullptr || d.frame_->read_only || d.outer != nullptr ||
        d.run.how->policy != tutti::policy::standard ||
        core::chosen_policy.load(std::memory_order_relaxed) != default_contention_policy_ ||
        rpc_client_.is_recording() || !d.deferred_log.has_room()) [[unlikely]]
        return nullptr;
    join_alone();
    fast_path_.begin(*d.frame_, protocol_node_.clock.now());
    d.companion_data_ = &fast_path_;
    return &fast_path_;
}

void enlistment::leave_fast_path() noexcept {
    may_use_fast_path_ = false;
    is_default_contention_ = true;
    fast_path_.end();
    set_may_write(fast_path_.writes());
    transaction_.take_over(fast_path_);
    counters_.count_begin(false);  // needs no memory, because the previous announced attempt has left capacity
    rpc_client_.set_attempt(transaction_.name().sequence);
    rpc_client_.on_attempt_begin();
}

void enlistment::check_fast_path_next() noexcept {
    if (!named_locks_.empty() || subscribed_ || !reopen_.empty() || has_steps() || counters_.running() != 0) return;
    named_locks_.begin_execution();
    wasted_opens_ = 0;
    validated_ = 0;
    variables_are_newer_ = had_reservations_ = false;
    // Once a slot is made for an entry, the slot stays with that entry.
    for (std::size_t i = fast_path_.entries(); i != detail::fast_path_attempt::max_objects; ++i) {
        void* const kept = transaction_.entry_data_of(i);
        if (kept == nullptr) break;
        fast_path_.add_entry(*static_cast<detail::slot*>(kept));
    }
    fast_path_.read_holders();
    may_use_fast_path_ = transaction_.is_clean();
}

bool enlistment::commit_one_phase() noexcept {
    if (!fast_path_.is_running()) return false;
    if (fast_path_.writes()) return commit_in_place();
    finish_fast_path();
    return true;
}

bool enlistment::commit_in_place() noexcept {
    static_assert(detail::fast_path_attempt::max_objects <= object_directory::max_local_objects);
    std::array<object_directory::in_place_write, detail::fast_path_attempt::max_objects> spots;
    std::size_t count = 0;
    for (const detail::fast_path_object& o : fast_path_.opened()) {
        object_directory::in_place_write& s = spots[count++];
        s.at = static_cast<seqlock_object*>(o.source);
        s.word = o.word;
        if (o.written) s.written = o.into->value->copied();
        else s.written.at = nullptr;
    }
    std::uint64_t version = 0;
    if (!protocol_node_.objects.commit_in_place({spots.data(), count}, version)) return false;
    finish_fast_path();
    return true;
}

}  // namespace tutti::cluster

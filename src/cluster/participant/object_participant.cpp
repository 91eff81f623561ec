#include "cluster/participant/object_participant.hpp"

#include <algorithm>

#include "cluster/ordering/fault_injection.hpp"
#include "tutti/cluster/serializer.hpp"

namespace tutti::cluster {

detail::slot& object_participant::open_to_write(const object_id& id, detail::location_hint& found) {
    api::require_access(descriptor_);
    if (descriptor_.frame_->read_only) {
        throw usage_error{"tutti: a read-only block writes an object; begin the block without read_only"};
    }
    detail::slot& s = open(id, found);
    set_may_write();
    if (descriptor_.frame_->parent != nullptr) save_overwritten(s);
    return s;
}

bool object_participant::join() {
    core::descriptor& d = descriptor_;
    const bool is_default_contention = api::join_attempt(d, *this);
    joined_attempt_ = d.own_sequence;
    counters_.count_begin(tutti::detail::only_reads(*d.run.how));
    may_write_ = false;
    steps_.clear();
    if (d.run.attempt == 1) conflicts_in_a_row_ = 0;
    return is_default_contention;
}

void object_participant::add_step(std::size_t known) {
    steps_.push_back(known);  // pushed before the log's entry, so that the log never has more steps than this list
    try {
        api::begin_step(descriptor_, *this);
    } catch (...) {
        steps_.pop_back();
        throw;
    }
}

const tutti::detail::frame* object_participant::rollback_target(std::size_t valid_prefix, std::size_t known) {
    // Consider the last step that began with at most `valid_prefix` open objects. Either this step has opened the next
    // object, or was to open it, or the outermost block has opened that object, before or after the step.
    const auto after = std::ranges::upper_bound(steps_, valid_prefix);
    if (after == steps_.begin()) return nullptr;
    const auto step = static_cast<std::size_t>(after - steps_.begin()) - 1;
    return api::rollback_target(descriptor_, *this, step, valid_prefix == known);
}

void object_participant::drop_step() noexcept {
    drop_objects(steps_.back());
    steps_.pop_back();
}

void object_participant::save_overwritten(detail::slot& s) {
    if (injected(fault::keep_overwritten_copy)) return;
    descriptor_.on_abort(
        [&s, exists = s.exists, written = s.written, value = s.decoded ? s.value->clone() : nullptr]() mutable {
            s.exists = exists;
            s.written = written;
            s.decoded = value != nullptr;
            if (value == nullptr || (s.value && s.value->take_back(std::move(*value)))) return;
            s.value = std::move(value);
        });
}

}  // namespace tutti::cluster

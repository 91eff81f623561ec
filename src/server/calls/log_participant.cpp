#include "server/calls/log_participant.hpp"

#include <utility>

#include "api/hooks/data_participant.hpp"

namespace tutti::server {

bool log_participant::has_written() const noexcept {
    // A serial transaction writes to memory directly and has no write set, so it may have written.
    return !descriptor_->writes.empty() || descriptor_->serial;
}

void log_participant::join(tx& t) {
    descriptor_ = &core::descriptor::of(t);
    // Functions that are registered to run before the commit may still write.
    const bool may_write = (descriptor_->slow_commit & core::slow_commit_handlers) != 0;
    if (has_written() || may_write) t.join(*this);
}

vote log_participant::prepare() {
    if (!has_written()) return vote::commit;
    if (how_.log->has_error() || !how_.log->followers().accepts_writes()) [[unlikely]]
        refuse();
    const journal::recorded_call alone{what_.entry->definition.name, arguments_.size()};
    return (what_.queued_calls.empty() ? reserve_record({&alone, 1}) : reserve_record_of_all()) ? vote::commit
                                                                                                : vote::restart;
}

void log_participant::refuse() const {
    if (how_.log->has_error()) throw log_unwritable_error{how_.log->error()};
    throw not_leader_error{how_.log->followers().write_refusal_reason()};
}

bool log_participant::reserve_record_of_all() {
    std::vector<journal::recorded_call> parts;
    for (const invocation::queued_call& p : what_.queued_calls)
        parts.push_back({p.entry->definition.name, p.arguments});
    return reserve_record(parts);
}

bool log_participant::reserve_record(std::span<const journal::recorded_call> parts) {
    const std::size_t bytes = journal::encoded_size(parts, arguments_);
    if (!how_.key.empty()) {
        reply_ = std::make_unique<journal::stored_reply>(std::string{how_.key}, how_.key_call, answer_,
                                                         how_.log->reply_times().now());
    }
    if (!how_.log->has_room_for(bytes, reply_.get())) [[unlikely]]
        refuse_too_long(bytes + answer_.size());
    try {
        reserved_ = how_.log->reserve_record(bytes, reply_.get());
    } catch (const journal::log_closed_error&) {
        refuse();
    }
    // From here on nothing fails or waits (JRN1).
    if (!api::reads_are_valid(*descriptor_)) {
        skip_record();
        return false;
    }
    journal::encode({.position = reserved_.position,
                     .time = as_.began,
                     .seed = as_.seed,
                     .answer = journal::checksum(answer_),
                     .priority = as_.priority,
                     .protocol = static_cast<int>(what_.spoken),
                     .is_exec = !what_.queued_calls.empty()},
                    parts, arguments_, reserved_.bytes);
    return true;
}

void log_participant::refuse_too_long(std::size_t bytes) {
    throw log_unwritable_error{"the arguments and the answer of this call are too long for a record of the log, " +
                               std::to_string(bytes) + " bytes"};
}

void log_participant::commit() noexcept {
    if (reserved_.position == 0) return;
    how_.awaited_position = reserved_.position + 1;
    how_.log->submit_record(std::exchange(reserved_, {}), std::move(reply_));
}

void log_participant::abort() noexcept { skip_record(); }

void log_participant::skip_record() noexcept {
    if (reserved_.position != 0) how_.log->skip_record(std::exchange(reserved_, {}), std::move(reply_));
}

}  // namespace tutti::server

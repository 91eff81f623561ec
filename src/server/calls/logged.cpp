#include "server/calls/logged.hpp"

#include <utility>

#include "api/data_participant.hpp"

namespace tutti::server {

bool log_entry::wrote() const noexcept {
    // A serial transaction writes to memory without a write set.
    return !descriptor_->writes.empty() || descriptor_->serial;
}

void log_entry::join(tx& t) {
    descriptor_ = &core::descriptor::of(t);
    // Functions that run before the commit may still write.
    const bool may_write = (descriptor_->slow_commit & core::slow_commit_handlers) != 0;
    if (wrote() || may_write) t.join(*this);
}

vote log_entry::prepare() {
    if (!wrote()) return vote::commit;
    if (how_.log->in_trouble() || !how_.log->others().takes_writes()) [[unlikely]]
        refuse();
    const journal::part alone{what_.which->what.name, arguments_.size()};
    return (what_.parts.empty() ? take_place({&alone, 1}) : take_place_of_all()) ? vote::commit : vote::restart;
}

void log_entry::refuse() const {
    if (how_.log->in_trouble()) throw log_unwritable{how_.log->trouble()};
    throw leads_elsewhere{how_.log->others().why_no_writes()};
}

bool log_entry::take_place_of_all() {
    std::vector<journal::part> parts;
    for (const invocation::part& p : what_.parts) parts.push_back({p.which->what.name, p.arguments});
    return take_place(parts);
}

bool log_entry::take_place(std::span<const journal::part> parts) {
    const std::size_t bytes = journal::encoded_size(parts, arguments_);
    if (!how_.key.empty()) {
        kept_ = std::make_unique<journal::kept_answer>(std::string{how_.key}, how_.key_stands_for, answer_,
                                                       how_.log->times().now());
    }
    if (!how_.log->takes(bytes, kept_.get())) [[unlikely]]
        refuse_so_long(bytes + answer_.size());
    try {
        drawn_ = how_.log->draw(bytes, kept_.get());
    } catch (const journal::draws_no_more&) {
        refuse();
    }
    // From here on nothing fails or waits (J1).
    if (!api::reads_are_valid(*descriptor_)) {
        leave_hole();
        return false;
    }
    journal::encode({.position = drawn_.position,
                     .time = as_.began,
                     .seed = as_.seed,
                     .answer = journal::checksum(answer_),
                     .priority = as_.priority,
                     .protocol = static_cast<int>(what_.spoken),
                     .together = !what_.parts.empty()},
                    parts, arguments_, drawn_.bytes);
    return true;
}

void log_entry::refuse_so_long(std::size_t bytes) {
    throw log_unwritable{"the log has no room for a call whose arguments and answer are as long as these, " +
                         std::to_string(bytes) + " bytes"};
}

void log_entry::commit() noexcept {
    if (drawn_.position == 0) return;
    how_.awaits = drawn_.position + 1;
    how_.log->hand_over(std::exchange(drawn_, {}), std::move(kept_));
}

void log_entry::abort() noexcept { leave_hole(); }

void log_entry::leave_hole() noexcept {
    if (drawn_.position != 0) how_.log->leave_hole(std::exchange(drawn_, {}), std::move(kept_));
}

}  // namespace tutti::server

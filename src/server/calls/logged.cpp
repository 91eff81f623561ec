#include "server/calls/logged.hpp"

#include <utility>

#include "api/companion.hpp"
#include "server/journal/record.hpp"

namespace tutti::server {

bool log_entry::wrote() const noexcept {
    // A serial transaction writes to memory without a log.
    return !descriptor_->writes.empty() || descriptor_->serial;
}

void log_entry::join(tx& t) {
    descriptor_ = &core::descriptor::of(t);
    // What runs before the commit may still write.
    const bool may_write = (descriptor_->slow_commit & core::slow_commit_handlers) != 0;
    if (wrote() || may_write) t.join(*this);
}

std::unique_ptr<journal::slip> log_entry::written() const {
    auto s = std::make_unique<journal::slip>();
    journal::record r{.time = as_.began,
                      .seed = as_.seed,
                      .priority = as_.priority,
                      .protocol = static_cast<int>(what_.spoken),
                      .together = !what_.parts.empty(),
                      .answer = journal::checksum(answer_),
                      .parts = {},
                      .arguments = {arguments_.begin(), arguments_.end()}};
    for (const invocation::part& p : what_.parts) r.parts.push_back({p.which->what.name, p.arguments});
    if (what_.parts.empty()) r.parts.push_back({what_.which->what.name, arguments_.size()});
    s->record = journal::encode(r);
    if (!how_.key.empty()) s->answer = {std::string{how_.key}, how_.key_stands_for, answer_, as_.began};
    return s;
}

vote log_entry::prepare() {
    if (!wrote()) return vote::commit;
    if (how_.log->in_trouble()) throw log_unwritable{how_.log->trouble()};
    if (!how_.log->others().takes_writes()) throw log_unwritable{how_.log->others().why_no_writes()};
    auto made = written();
    if (!how_.log->takes(*made)) {
        throw log_unwritable{"the log has no room for a call whose arguments and answer are as long as these, " +
                             std::to_string(made->record.size() + answer_.size()) + " bytes"};
    }
    // From here on nothing fails, and nothing waits (J1).
    made->position = how_.log->draw();
    journal::set_position(made->record, made->position);
    drawn_ = std::move(made);
    if (!api::reads_stand(*descriptor_)) {
        leave_hole();
        return vote::restart;
    }
    return vote::commit;
}

void log_entry::commit() noexcept {
    if (!drawn_) return;
    how_.awaits = drawn_->position + 1;
    how_.log->hand_over(std::move(drawn_));
}

void log_entry::abort() noexcept { leave_hole(); }

void log_entry::leave_hole() noexcept {
    if (!drawn_) return;
    drawn_->record.clear();
    drawn_->answer.reset();
    how_.log->hand_over(std::move(drawn_));
}

}  // namespace tutti::server

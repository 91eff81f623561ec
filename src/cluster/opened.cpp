#include "cluster/opened.hpp"

#include "api/companion.hpp"
#include "tutti/cluster/serializer.hpp"

namespace tutti::cluster {

bool opened::join() {
    core::descriptor& d = descriptor_;
    if (joined()) return false;
    api::join_attempt(d, *this);
    attempt_ = d.own_sequence;
    tally_.began(d.run.how->read_only);
    used_ = 0;
    if (d.run.attempt == 1) defeats_ = 0;
    return true;
}

detail::slot& opened::add(const object_id& id, const std::string& bytes, bool exists) {
    if (used_ == slots_.size()) slots_.emplace_back();
    detail::slot& s = slots_[used_++];
    s.entry = nullptr;
    s.id = id;
    s.bytes = &bytes;
    s.exists = exists;
    s.written = false;
    s.value.reset();
    return s;
}

void opened::note_for_undo(detail::slot& s) {
    if (descriptor_.frame_->parent == nullptr) return;  // with the outermost block everything goes
    descriptor_.on_abort([&s, exists = s.exists, written = s.written,
                          value = std::shared_ptr<detail::value_holder>{s.value ? s.value->clone() : nullptr}] {
        s.exists = exists;
        s.written = written;
        s.value = value ? value->clone() : nullptr;
    });
}

}  // namespace tutti::cluster

#include "server/journal/incoming_snapshot.hpp"

#include <utility>

#include "server/journal/journal.hpp"

namespace tutti::server::journal {
namespace {

// The size limits the time to write a batch to some milliseconds, because a group of calls may have to wait for that
// write.
constexpr std::size_t bytes_in_batch = std::size_t{256} << 10, parts_in_batch = 500;

}  // namespace

incoming_snapshot::incoming_snapshot(journal& to) : to_{to} { to_.begin_snapshot(); }

void incoming_snapshot::put(std::string part) {
    bytes_ += part.size();
    batch_bytes_ += part.size();
    batch_.push_back(std::move(part));
    if (batch_bytes_ >= bytes_in_batch || batch_.size() >= parts_in_batch) flush();
}

void incoming_snapshot::truncate(std::uint64_t count) {
    if (count >= written_) {
        if (count < this->count()) batch_.resize(count - written_);
        return;
    }
    batch_.clear();
    batch_bytes_ = 0;
    to_.change_snapshot([&](log_store& file) { file.truncate_parts(count); });
    written_ = count;
}

void incoming_snapshot::flush() {
    if (batch_.empty()) return;
    to_.change_snapshot([&](log_store& file) { file.add_parts(batch_); });
    written_ += batch_.size();
    batch_.clear();
    batch_bytes_ = 0;
}

}  // namespace tutti::server::journal

#include "core/state/descriptor.hpp"

#include <algorithm>
#include <cstdlib>

namespace tutti::core {

descriptor::descriptor() {
    memory::register_status_record(*this);
    writer = memory::writer_of(id);
    if (writer != memory::unknown_writer) own_writer_ = writer;
    self_lock = memory::make_lock(id, 0);
    random = (id + 1) * 0x9E3779B97F4A7C15U | 1;
}

void descriptor::grow_reads() {
    if (!resize_reads(std::max<std::size_t>(1024, 2 * read_capacity()))) throw std::bad_alloc{};
    if (read_capacity() * sizeof *read_begin > memory::kept_bytes) slow_commit |= slow_commit_large;
}

bool descriptor::resize_reads(std::size_t capacity) noexcept {
    const auto used = static_cast<std::size_t>(read_next_ - read_begin);
    // NOLINTNEXTLINE(bugprone-suspicious-realloc-usage): the old block stays ours when it fails
    void* const moved = std::realloc(static_cast<void*>(read_begin), capacity * sizeof *read_begin);
    if (moved == nullptr) return false;
    read_begin = static_cast<const orec**>(moved);
    read_next_ = read_begin + used;
    read_end_ = read_begin + capacity;
    return true;
}

}  // namespace tutti::core

#include "server/journal/tail.hpp"

#include <algorithm>
#include <utility>

namespace tutti::server::journal {
namespace {

// Several short calls share a chunk. A call that does not fit gets its own chunk.
constexpr std::size_t usual_bytes = std::size_t{256} << 10;
constexpr std::size_t usual_marks = 4096;

}  // namespace

struct tail::chunk {
    explicit chunk(std::size_t size) : room{size}, bytes{std::make_unique_for_overwrite<char[]>(size)} {}

    const std::size_t room;
    std::unique_ptr<char[]> bytes;
    std::unique_ptr<mark[]> marks = std::make_unique<mark[]>(usual_marks);
    std::uint64_t first = 0;            // the position of the first mark
    std::atomic<chunk*> next{nullptr};  // its `first` is the end of this chunk

    // Used by the call that reserves.
    std::size_t used = 0, count = 0;
};

tail::~tail() {
    delete spare_.load(std::memory_order_relaxed);
    for (chunk* c = first_; c != nullptr;) {
        for (std::size_t i = 0; i < c->count; ++i) {
            if (c->first + i >= taken_) delete c->marks[i].answer;
        }
        delete std::exchange(c, c->next.load(std::memory_order_relaxed));
    }
}

void tail::begin(std::uint64_t position) {
    chunk* const fresh = new chunk{usual_bytes};
    // Each place in the old chunks is marked and taken, so no call and no answer needs them (T3).
    for (chunk* c = first_; c != nullptr;) delete std::exchange(c, c->next.load(std::memory_order_relaxed));
    first_ = last_ = fresh;
    offset_ = 0;
    first_->first = taken_ = position;
}

tail::chunk& tail::extend(std::size_t bytes) {
    // Acquire: the journal's thread, which put the chunk here, has finished reading its marks.
    chunk* c = bytes > usual_bytes ? nullptr : spare_.exchange(nullptr, std::memory_order_acquire);
    if (c == nullptr) c = new chunk{std::max(bytes, usual_bytes)};
    c->first = last_->first + last_->count;
    c->used = c->count = 0;
    c->next.store(nullptr, std::memory_order_relaxed);
    last_->next.store(c, std::memory_order_release);  // pairs with the load in look
    last_ = c;
    return *c;
}

place tail::reserve(std::size_t bytes) {
    chunk* c = last_;
    if (c->count == usual_marks || c->room - c->used < bytes) c = &extend(bytes);
    mark& m = c->marks[c->count];
    m.answer = nullptr;
    m.state.store(0, std::memory_order_relaxed);  // released together with the position (T2)
    const place at{c->first + c->count, c->bytes.get() + c->used, bytes, &m};
    ++c->count;
    c->used += bytes;
    return at;
}

stretch tail::look(std::uint64_t upto, std::size_t most) noexcept {
    stretch found;
    if (taken_ >= upto) return found;
    const chunk* behind = first_->next.load(std::memory_order_acquire);
    while (behind != nullptr && behind->first <= taken_) {
        chunk* const over = std::exchange(first_, first_->next.load(std::memory_order_relaxed));
        offset_ = 0;
        // Release: see extend. One spare chunk is enough, because the journal's thread takes faster than calls reserve,
        // unless the disk is full.
        if (over->room != usual_bytes) delete over;
        else delete spare_.exchange(over, std::memory_order_acq_rel);
        behind = first_->next.load(std::memory_order_acquire);
    }
    const std::uint64_t end = behind == nullptr ? upto : std::min(upto, behind->first);
    const mark* m = first_->marks.get() + (taken_ - first_->first);
    for (const mark* const last = m + (end - taken_); m != last && found.reserved < most; ++m) {
        const std::uint64_t state = m->state.load(std::memory_order_acquire);
        if (state == 0) break;
        const bool is_hole = (state & mark::hole) != 0;
        if (is_hole && found.positions != 0) break;
        ++found.positions;
        found.reserved += state >> mark::bits;
        found.answer = m->answer;
        if (is_hole) {
            found.cut = (state & mark::cut) != 0;
            return found;
        }
        if (found.answer != nullptr) break;
    }
    found.records = {first_->bytes.get() + offset_, found.reserved};
    return found;
}

void tail::take(const stretch& found) noexcept {
    taken_ += found.positions;
    offset_ += found.reserved;
}

}  // namespace tutti::server::journal

#include "server/journal/log_buffer.hpp"

#include <algorithm>
#include <utility>

namespace tutti::server::journal {
namespace {

// The usual size of a chunk, which several short calls share. A call that does not fit into such a chunk gets its own
// chunk.
constexpr std::size_t usual_bytes = std::size_t{256} << 10;
constexpr std::size_t usual_states = 4096;

}  // namespace

struct log_buffer::chunk {
    explicit chunk(std::size_t size) : free_bytes{size}, bytes{std::make_unique_for_overwrite<char[]>(size)} {}

    const std::size_t free_bytes;
    std::unique_ptr<char[]> bytes;
    std::unique_ptr<record_state[]> states = std::make_unique<record_state[]>(usual_states);
    std::uint64_t first = 0;            // the position of the first state
    std::atomic<chunk*> next{nullptr};  // the `first` of that chunk is the end of this chunk

    // Only the call that is reserving a position uses these members.
    std::size_t used = 0, count = 0;
};

log_buffer::~log_buffer() {
    delete spare_.load(std::memory_order_relaxed);
    for (chunk* c = first_; c != nullptr;) {
        for (std::size_t i = 0; i < c->count; ++i) {
            if (c->first + i >= consumed_) delete c->states[i].answer;
        }
        delete std::exchange(c, c->next.load(std::memory_order_relaxed));
    }
}

void log_buffer::begin(std::uint64_t position) {
    chunk* const fresh = new chunk{usual_bytes};
    // Each record in the old chunks is complete and consumed, so no call and no answer needs the chunks (LBF3).
    for (chunk* c = first_; c != nullptr;) delete std::exchange(c, c->next.load(std::memory_order_relaxed));
    first_ = last_ = fresh;
    offset_ = 0;
    first_->first = consumed_ = position;
}

log_buffer::chunk& log_buffer::extend(std::size_t bytes) {
    // Acquire: pairs with the exchange in find_complete(). The journal's thread finished reading the states of a chunk
    // before it put the chunk into spare_. So the states may be overwritten.
    chunk* c = bytes > usual_bytes ? nullptr : spare_.exchange(nullptr, std::memory_order_acquire);
    if (c == nullptr) c = new chunk{std::max(bytes, usual_bytes)};
    c->first = last_->first + last_->count;
    c->used = c->count = 0;
    c->next.store(nullptr, std::memory_order_relaxed);
    last_->next.store(c, std::memory_order_release);  // pairs with the load in find_complete
    last_ = c;
    return *c;
}

reserved_record log_buffer::reserve(std::size_t bytes) {
    chunk* c = last_;
    if (c->count == usual_states || c->free_bytes - c->used < bytes) c = &extend(bytes);
    record_state& m = c->states[c->count];
    m.answer = nullptr;
    m.value.store(0, std::memory_order_relaxed);  // released together with the position (LBF2)
    const reserved_record at{c->first + c->count, c->bytes.get() + c->used, bytes, &m};
    ++c->count;
    c->used += bytes;
    return at;
}

complete_range log_buffer::find_complete(std::uint64_t upto, std::size_t max_bytes) noexcept {
    complete_range found;
    if (consumed_ >= upto) return found;
    const chunk* behind = first_->next.load(std::memory_order_acquire);
    while (behind != nullptr && behind->first <= consumed_) {
        chunk* const over = std::exchange(first_, first_->next.load(std::memory_order_relaxed));
        offset_ = 0;
        // Release: pairs with the acquire in extend(). One spare chunk is enough, because the journal's thread consumes
        // faster than calls reserve, unless the disk is full.
        if (over->free_bytes != usual_bytes) delete over;
        else delete spare_.exchange(over, std::memory_order_acq_rel);
        behind = first_->next.load(std::memory_order_acquire);
    }
    const std::uint64_t end = behind == nullptr ? upto : std::min(upto, behind->first);
    const record_state* m = first_->states.get() + (consumed_ - first_->first);
    for (const record_state* const last = m + (end - consumed_); m != last && found.reserved < max_bytes; ++m) {
        const std::uint64_t state = m->value.load(std::memory_order_acquire);
        if (state == 0) break;
        const bool is_hole = (state & record_state::hole) != 0;
        if (is_hole && found.positions != 0) break;
        ++found.positions;
        found.reserved += state >> record_state::bits;
        found.answer = m->answer;
        if (is_hole) {
            found.cut = (state & record_state::cut) != 0;
            return found;
        }
        if (found.answer != nullptr) break;
    }
    found.records = {first_->bytes.get() + offset_, found.reserved};
    return found;
}

void log_buffer::consume(const complete_range& found) noexcept {
    consumed_ += found.positions;
    offset_ += found.reserved;
}

}  // namespace tutti::server::journal

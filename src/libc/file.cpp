#include "libc/file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

#include "api/hooks/language.hpp"
#include "base/errno_guard.hpp"
#include "base/futex.hpp"
#include "base/short_sleep.hpp"
#include "libc/all_streams.hpp"
#include "libc/context_state.hpp"
#include "libc/file_layout.hpp"
#include "libc/file_overlay.hpp"
#include "tutti/detail/runtime.hpp"

// glibc exports this function, but declares it in no header.
extern "C" void _IO_doallocbuf(FILE*);

namespace tutti::libc {

using base::errno_guard;

namespace {

saved_file_state state_of_file(const FILE* f) noexcept {
    return {f->_flags,         f->_mode,         f->_IO_read_ptr,  f->_IO_read_end, f->_IO_read_base,
            f->_IO_write_base, f->_IO_write_ptr, f->_IO_write_end, f->_offset,      f->_IO_buf_base};
}

void restore_pointers(FILE* f, const saved_file_state& p) noexcept {
    f->_IO_read_ptr = p.read_ptr;
    f->_IO_read_end = p.read_end;
    f->_IO_read_base = p.read_base;
    f->_IO_write_base = p.write_base;
    f->_IO_write_ptr = p.write_ptr;
    f->_IO_write_end = p.write_end;
    f->_offset = p.offset;
}

constexpr off64_t unknown_offset = -1;  // glibc's _IO_pos_BAD

/// Empties the buffer.
void empty_buffer(FILE* f) noexcept {
    char* const at = f->_IO_buf_base;
    f->_IO_read_ptr = f->_IO_read_end = f->_IO_read_base = at;
    f->_IO_write_base = f->_IO_write_ptr = f->_IO_write_end = at;
    f->_offset = unknown_offset;
}

/// Empties the buffer and moves the kernel's position to the program's position.
void empty_buffer_at(FILE* f, off64_t position) noexcept {
    empty_buffer(f);
    f->_offset = ::lseek64(f->_fileno, position, SEEK_SET);
}

/// Returns the pointer into the buffer at `to` that corresponds to the pointer `pointer` into the buffer at `from`.
char* moved_to(char* pointer, const char* from, char* to) noexcept {
    return pointer != nullptr ? to + (pointer - from) : nullptr;
}

/// Returns the overlay of the owned file, or null. O(owned streams).
file_overlay* overlay_of(const owned_stream* t) noexcept {
    const FILE* const f = t->file;
    for (; t != nullptr; t = t->older) {
        if (t->file == f && t->overlay != nullptr) return t->overlay;
    }
    return nullptr;
}

/// Writes the overlay to the file. If this fails, records the error in the stream, as glibc does for output that it has
/// accepted.
void apply_overlay(owned_stream& t) noexcept {
    const std::unique_ptr<file_overlay> overlay{std::exchange(t.overlay, nullptr)};
    if (overlay == nullptr) return;
    const errno_guard saved_errno;
    FILE* const f = t.file;
    if (!overlay->apply(f->_fileno)) f->_flags |= in_error;
    if (f->_offset != unknown_offset) f->_offset = overlay->position();
}

/// The buffer of a stream in memory never shrinks in glibc, so the image fits into the current buffer.
void restore_image(const owned_stream& t) noexcept {
    FILE* const f = t.file;
    const saved_file_state& p = t.saved_state;
    char* const to = f->_IO_buf_base;
    std::memcpy(to, t.image, t.image_size);
    f->_flags = p.flags;
    f->_mode = p.mode;
    f->_offset = p.offset;
    f->_IO_read_ptr = moved_to(p.read_ptr, p.buffer, to);
    f->_IO_read_end = moved_to(p.read_end, p.buffer, to);
    f->_IO_read_base = moved_to(p.read_base, p.buffer, to);
    f->_IO_write_base = moved_to(p.write_base, p.buffer, to);
    f->_IO_write_ptr = moved_to(p.write_ptr, p.buffer, to);
    // glibc expects zeros after the end of the image, because it writes zeros there when it enlarges the buffer.
    const bool to_the_end = p.write_end == p.buffer + t.image_size;
    f->_IO_write_end = to_the_end ? f->_IO_buf_end : moved_to(p.write_end, p.buffer, to);
    std::memset(to + t.image_size, 0, static_cast<std::size_t>(f->_IO_buf_end - to) - t.image_size);
}

/// Restores all fields that do not depend on the position in the file.
void restore_state(const owned_stream& t) noexcept {
    FILE* const f = t.file;
    // If a buffer was allocated after the record was made, the buffer stays, with the flags that glibc set for it.
    const int kept = t.saved_state.buffer != nullptr ? 0 : of_buffer;
    f->_flags = (t.saved_state.flags & ~kept) | (f->_flags & kept);
    f->_mode = t.saved_state.mode;
    if (t.position_moved) f->_flags &= ~putting;
    else restore_pointers(f, t.saved_state);
}

void restore(const owned_stream& t) noexcept {
    if (t.image != nullptr) return restore_image(t);
    restore_state(t);
    if (!t.position_moved) return;
    const errno_guard saved_errno;
    if (file_overlay* const overlay = overlay_of(&t); overlay != nullptr) {
        overlay->undo_to(t.writes_before);
        overlay->seek(t.position);
        empty_buffer(t.file);
        t.file->_offset = t.position;
    } else {
        empty_buffer_at(t.file, t.position);
    }
}

/// Acquires glibc's lock. If a thread outside of transactions holds the lock, in a call or by flockfile, that thread
/// may be waiting for the transaction. Therefore the transaction restarts after some time, which releases what it owns.
/// A transaction that cannot be killed waits for the lock.
void lock(tx& t, FILE* f) {
    constexpr int spins = 200, sleeps = 50;
    for (int i = 0; i != spins; ++i) {
        if (::ftrylockfile(f) == 0) return;
        base::spin_turn();
    }
    if (descriptor::of(t).cannot_be_killed()) return ::flockfile(f);
    for (int i = 0; i != sleeps; ++i) {
        base::short_sleep_for(200'000);
        if (::ftrylockfile(f) == 0) return;
    }
    detail::raise_restart(t);
}

owned_stream* find(const context_state& s, const FILE* f) noexcept {
    owned_stream* at = s.newest;
    while (at != nullptr && at->file != f) at = at->older;
    return at;
}

/// Makes a record and registers its undo action. The record is not armed, because registering may leave the frame.
/// Returns null if there is no memory for the record.
owned_stream* prepare_owned_stream(descriptor& d, context_state& s, FILE* f, bool outermost) {
    // attempt_continues leaves the frame if a signal is pending.
    if (!d.healthy()) static_cast<void>(api::attempt_continues(d));
    owned_stream* fresh = s.idle;
    try {
        d.deferred_log.reserve_one();
        if (fresh == nullptr) fresh = new owned_stream;
        else s.idle = fresh->older;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
    fresh->file = f;
    fresh->index = d.deferred_log.size();
    fresh->position_moved = fresh->final = fresh->armed = false;
    fresh->outermost = outermost;
    fresh->word = nullptr;
    fresh->next_with_word = nullptr;
    fresh->overlay = nullptr;
    fresh->writes_before = 0;
    fresh->context = &s;
    api::add_owned_resource(d, *fresh);
    return fresh;
}

/// Arms the record: from now on a roll-back restores the FILE from the record. REQUIRES: the transaction holds glibc's
/// lock.
owned_stream* arm(context_state& s, owned_stream* prepared) noexcept {
    prepared->saved_state = state_of_file(prepared->file);
    prepared->older = s.newest;
    prepared->armed = true;
    s.newest = prepared;
    return prepared;
}

/// Makes the transaction the owner of `f`. Returns null if there is no memory for the record.
owned_stream* own_first(tx& t, context_state& s, FILE* f) {
    descriptor& d = descriptor::of(t);
    stop_at_exit();
    owned_stream* const prepared = prepare_owned_stream(d, s, f, true);
    if (prepared == nullptr) return nullptr;
    conflict_word& word = conflict_word_of(f);
    if (acquire_word(d, word, s.newest != nullptr)) {
        prepared->word = &word;  // from now on, the record releases the word
        refresh_snapshot(d);
    }
    lock(t, f);
    arm(s, prepared);  // nothing between lock() and arm() leaves the frame
    // Partner: the acquire in for_each_other_stream. Only the word's owner changes the list.
    prepared->next_with_word = prepared->word == nullptr ? word.streams.load(std::memory_order_relaxed) : nullptr;
    word.streams.store(prepared, std::memory_order_release);
    return prepared;
}

/// Makes a record for the innermost block. REQUIRES: the transaction owns `f`.
owned_stream* own_in_inner_block(tx& t, context_state& s, FILE* f) {
    owned_stream* const prepared = prepare_owned_stream(descriptor::of(t), s, f, false);
    return prepared != nullptr ? arm(s, prepared) : nullptr;
}

/// Returns true if glibc's unlocked functions handle the stream as the header describes.
bool is_ordinary(const FILE* f) noexcept {
    // The kind of stream is checked first, because glibc leaves the descriptor and the offset of a stream in memory
    // undefined.
    return !is_in_memory(f) && f->_fileno >= 0 && f->_mode <= 0 && f->_markers == nullptr &&
           (f->_flags & in_backup) == 0;
}

/// Saves an image of a stream of bytes in memory. Returns false for any other stream, if there is no memory for the
/// image, or if characters were put back.
bool keep_image(owned_stream& t) noexcept {
    const FILE* const f = t.file;
    if (!is_in_memory(f) || f->_mode > 0 || f->_markers != nullptr || (f->_flags & in_backup) != 0) return false;
    t.image_size = static_cast<std::size_t>(f->_IO_buf_end - f->_IO_buf_base);
    t.image = static_cast<char*>(std::malloc(t.image_size + 1));
    if (t.image == nullptr) return false;
    std::memcpy(t.image, f->_IO_buf_base, t.image_size);
    return true;
}

bool has_overlays(const context_state& s) noexcept {
    const owned_stream* at = s.newest;
    while (at != nullptr && at->overlay == nullptr) at = at->older;
    return at != nullptr;
}

/// Returns the overlay that holds output for the file. Returns null if no output of the transaction is deferred for the
/// file.
const file_overlay* find_overlay(const context_state& s, const struct stat& about) noexcept {
    for (const owned_stream* at = s.newest; at != nullptr; at = at->older) {
        if (at->overlay != nullptr && at->overlay->stands_for(about)) return at->overlay;
    }
    return nullptr;
}

}  // namespace

void write_deferred_output(descriptor& d) noexcept {
    context_state* const s = state_of_attempt(d);
    if (s == nullptr) return;
    for (owned_stream* at = s->newest; at != nullptr; at = at->older) at->make_effective();
}

bool write_deferred_output_to(tx& t, const struct stat& about) {
    const context_state* const s = state_of_attempt(descriptor::of(t));
    if (s == nullptr || find_overlay(*s, about) == nullptr) return false;
    become_irrevocable(t, "a file that output of this block waits for is used beside its stream",
                       "use the stream alone in the block");
    return true;
}

void owned_stream::unlock() noexcept {
    apply_overlay(*this);
    std::free(image);
    image = nullptr;
    if (armed && outermost) ::funlockfile(file);
    if (word != nullptr) {
        word->streams.store(nullptr, std::memory_order_relaxed);
        libc::release(*word);
    }
    older = context->idle;
    context->idle = this;
}

void owned_stream::release() noexcept {
    context->newest = nullptr;  // because all owned streams are released together
    unlock();
}

void owned_stream::make_effective() noexcept {
    if (overlay == nullptr) return;
    apply_overlay(*this);
    for (owned_stream* at = context->newest; at != nullptr; at = at->older) {
        if (at->file == file) at->final = true;
    }
}

void owned_stream::undo(descriptor&) noexcept {
    if (armed) {
        delete std::exchange(overlay, nullptr);
        if (!final) restore(*this);
        context->newest = older;
    }
    unlock();
}

void owned_stream::undo_in_child() const noexcept {
    if (!armed || final) return;
    if (image != nullptr) return restore_image(*this);
    restore_state(*this);
    if (position_moved) empty_buffer(file);
}

file::file(tx& t, FILE* f) : t_{t}, f_{f} {
    if (runs_without_barriers(t)) return;
    descriptor& d = descriptor::of(t);
    context_state* const s = d.hooks == nullptr && is_known_layout() ? state_of(d) : nullptr;
    if (s == nullptr) {
        libc::become_irrevocable(t, "a stream, where transactions can own none", "use streams outside of blocks here");
        return;
    }
    owned_stream* at = find(*s, f);
    if (at == nullptr) at = own_first(t, *s, f);
    else if (d.frame_->parent != nullptr && at->index < d.frame_->mark.deferred) at = own_in_inner_block(t, *s, f);
    if (at != nullptr && (is_ordinary(f) || at->image != nullptr || (!at->final && keep_image(*at)))) {
        owned_ = at;
        // A transaction that has become irrevocable may still have an overlay of this file, which a cancelled inner
        // block left.
        if (at->final && overlay() != nullptr) write_deferred_output(d);
        struct stat about;
        if (!at->final && !in_memory() && overlay() == nullptr && has_overlays(*s) &&
            ::fstat(f->_fileno, &about) == 0 && find_overlay(*s, about) != nullptr)
            before_irreversible_call("a second stream of a file that output of this block waits for",
                                     "use one stream for the file, or two blocks");
        return;
    }
    if (at != nullptr) at->final = true;
    libc::become_irrevocable(t, "a stream of wide characters, of fmemopen, or with characters put back",
                             "use an ordinary stream of bytes, or this one outside of blocks");
}

bool file::must_outlive_transaction() const noexcept {
    const context_state* const s = state_of_attempt(descriptor::of(t_));
    return s != nullptr && find(*s, f_) != nullptr;
}

bool file::has_room(const char* bytes, std::size_t size) noexcept {
    if (f_->_IO_buf_base == nullptr) _IO_doallocbuf(f_);  // calls fstat once, which also detects a terminal
    if ((f_->_flags & unbuffered) != 0) return size == 0;
    const bool by_line = (f_->_flags & line_buffered) != 0;
    if (by_line && size != 0 && (bytes == nullptr || std::memchr(bytes, '\n', size) != nullptr)) return false;
    const char* begin = f_->_IO_write_ptr;
    const char* end = by_line ? f_->_IO_buf_end : f_->_IO_write_end;
    const auto whole = static_cast<std::size_t>(f_->_IO_buf_end - f_->_IO_buf_base);
    if ((f_->_flags & putting) == 0 || f_->_IO_write_base == nullptr) {
        // glibc appends output after the bytes that were read, or at the buffer's start. glibc writes output directly
        // if it would fill the buffer; if the buffer is very small, glibc writes all output directly.
        constexpr std::size_t small = 128;
        begin =
            f_->_IO_read_ptr == nullptr || f_->_IO_read_ptr == f_->_IO_buf_end ? f_->_IO_buf_base : f_->_IO_read_ptr;
        end = f_->_IO_buf_end;
        if (size >= whole || whole < small) return false;
    }
    return end >= begin && size <= static_cast<std::size_t>(end - begin);
}

std::size_t file::available() const noexcept {
    if ((f_->_flags & putting) != 0) return 0;
    return static_cast<std::size_t>(f_->_IO_read_end - f_->_IO_read_ptr);
}

std::size_t file::pending() const noexcept {
    return (f_->_flags & putting) != 0 ? static_cast<std::size_t>(f_->_IO_write_ptr - f_->_IO_write_base) : 0;
}

owned_stream& file::outermost() const noexcept {
    owned_stream* last = nullptr;
    for (owned_stream* at = owned_; at != nullptr; at = at->older) {
        if (at->file == f_) last = at;
    }
    return *last;
}

/// Returns how many of the pending bytes were pending before the transaction.
std::size_t file::committed() const noexcept {
    const owned_stream& first = outermost();
    for (const owned_stream* at = owned_; at != nullptr; at = at->older) {
        if (at->file == f_ && (at->position_moved || at->final)) return 0;
    }
    if ((first.saved_state.flags & putting) == 0 || pending() == 0) return 0;
    return static_cast<std::size_t>(first.saved_state.write_ptr - first.saved_state.write_base);
}

/// Writes the committed bytes. Afterwards the buffer begins with the transaction's own bytes, and every record is
/// adjusted.
bool file::write_committed() noexcept {
    char* const end = outermost().saved_state.write_ptr;
    const auto own = static_cast<std::size_t>(f_->_IO_write_ptr - end);
    f_->_IO_write_ptr = end;
    const bool written = ::fflush_unlocked(f_) == 0;  // leaves the bytes after `end` in place
    std::memmove(f_->_IO_write_base, end, own);
    for (owned_stream* at = owned_; at != nullptr; at = at->older) {
        if (at->file != f_) continue;
        const auto offset = at->saved_state.write_ptr - end;
        const int flags = at->saved_state.flags;
        at->saved_state = state_of_file(f_);
        at->saved_state.flags = flags | (f_->_flags & in_error);
        at->saved_state.write_ptr = f_->_IO_write_base + offset;
    }
    f_->_IO_write_ptr = f_->_IO_write_base + own;
    return written;
}

bool file::before_output(const char* bytes, std::size_t size) {
    if (in_memory()) return true;
    // Output would be put into the buffer after the bytes that were read, and overwrite bytes that were read ahead. A
    // roll-back or a seek back would need these bytes.
    const bool holds_input = (f_->_flags & putting) == 0 && f_->_IO_read_end != f_->_IO_buf_base;
    if (holds_input && (available() != 0 || is_regular())) {
        before_moving();
        if (!owned_->final) unread_input();
    }
    if (owned_->final || has_room(bytes, size)) return true;
    if (overlay() != nullptr) {
        move_output_to_overlay();
        if (owned_->final || has_room(bytes, size)) return true;
    }
    if (committed() != 0) {
        if (!write_committed()) return false;
        if (has_room(bytes, size)) return true;
    }
    before_irreversible_call("output that the stream's buffer has no room for",
                             "give the stream a larger buffer by setvbuf, or write less in one block");
    return true;
}

bool file::before_flush() {
    if (in_memory()) {
        before_irreversible_call("a flush of a stream in memory", "flush or close the stream after the block");
        return true;
    }
    const file_overlay* const waiting = overlay();
    const bool is_waiting = waiting != nullptr && waiting->count_writes() != 0;
    if (owned_->final || (pending() == 0 && !is_waiting)) return true;
    if (!is_waiting && pending() == committed()) return write_committed();
    before_irreversible_call(
        "a flush of output of this block",
        "flush after the block, or in a commit action: what it has written reaches the buffer by its commit");
    return true;
}

bool file::is_regular() const noexcept {
    struct stat64 about;
    return ::fstat64(f_->_fileno, &about) == 0 && S_ISREG(about.st_mode);
}

bool file::appends() const noexcept { return (f_->_flags & appending) != 0; }

bool file::fill() {
    before_moving();
    if (file_overlay* const from = overlay(); from != nullptr && (f_->_flags & (at_end | not_readable)) == 0) {
        if (f_->_IO_buf_base == nullptr) _IO_doallocbuf(f_);
        if (f_->_mode == 0) f_->_mode = -1;  // as in glibc, the stream is now a stream of bytes
        const off64_t known = f_->_offset;
        empty_buffer(f_);
        const ssize_t n = from->read(f_->_IO_buf_base, static_cast<std::size_t>(f_->_IO_buf_end - f_->_IO_buf_base));
        if (n <= 0) f_->_flags |= n == 0 ? at_end : in_error;
        else f_->_IO_read_end += n;
        if (n > 0 && known != unknown_offset) f_->_offset = from->position();
        return n > 0;
    }
    // glibc makes no system call if the stream is at the end or is not readable.
    if (::getc_unlocked(f_) == EOF) return false;
    --f_->_IO_read_ptr;
    return true;
}

file_overlay* file::overlay() const noexcept { return owned_ != nullptr ? overlay_of(owned_) : nullptr; }

off_t file::position() const noexcept {
    const file_overlay& of = *overlay();
    if (pending() != 0) return (appends() ? of.size() : of.position()) + static_cast<off64_t>(pending());
    return of.position() - static_cast<off64_t>(available());
}

int file::seek(off_t offset, int whence) noexcept {
    file_overlay& of = *overlay();
    if (f_->_IO_buf_base == nullptr) _IO_doallocbuf(f_);  // as in glibc; a later ungetc finds the buffer
    const off64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? position() : of.size();
    off64_t to = 0;
    if ((whence != SEEK_SET && whence != SEEK_CUR && whence != SEEK_END) || __builtin_add_overflow(from, offset, &to) ||
        to < 0) {
        errno = EINVAL;
        return -1;
    }
    of.seek(to);
    empty_buffer(f_);
    f_->_offset = to;
    f_->_flags &= ~(putting | at_end);
    return 0;
}

void file::unread_input() noexcept {
    const auto ahead = static_cast<off64_t>(available());
    if (file_overlay* const of = overlay(); of != nullptr) {
        of->seek(of->position() - ahead);
        empty_buffer(f_);
        f_->_offset = of->position();
    } else {
        empty_buffer_at(f_, ::lseek64(f_->_fileno, 0, SEEK_CUR) - ahead);
    }
}

void file::discard_read_ahead() noexcept {
    file_overlay& of = *overlay();
    of.seek(of.position() - static_cast<off64_t>(available()));
    f_->_IO_read_end = f_->_IO_read_ptr;
    f_->_offset = unknown_offset;
}

bool file::detach() noexcept {
    // As in glibc, bytes that were read ahead are between the kernel's position and the place of the output.
    const bool is_behind = (f_->_flags & (putting | appending)) == putting;
    const off64_t ahead = is_behind ? f_->_IO_read_end - f_->_IO_write_base : 0;
    outermost().overlay = file_overlay::of(f_->_fileno, appends(), ::lseek64(f_->_fileno, 0, SEEK_CUR) - ahead);
    return overlay() != nullptr;
}

void file::move_output_to_overlay() {
    file_overlay& to = *overlay();
    const char* from = f_->_IO_write_base;
    const std::size_t size = pending();
    const char* const end = from + size;
    bool is_moved = true;
    const auto move = [&](const char* until) {
        if (until <= from) return;
        is_moved = is_moved && to.write(from, static_cast<std::size_t>(until - from));
        if (is_moved) from = until;
    };
    // The loop begins with the oldest record, because bytes that were pending before a record was made belong to the
    // blocks around the record's block.
    for (;;) {
        owned_stream* oldest = nullptr;
        for (owned_stream* at = owned_; at != nullptr; at = at->older) {
            if (at->file == f_ && !at->position_moved) oldest = at;
        }
        if (oldest == nullptr) break;
        const saved_file_state& before = oldest->saved_state;
        const bool wrote = (before.flags & putting) != 0;
        // FIL4: the bytes to which a final record refers have left the buffer.
        if (wrote && size != 0 && !oldest->final) move(before.write_ptr);
        oldest->position = to.position() - (wrote ? 0 : before.read_end - before.read_ptr);
        oldest->writes_before = to.count_writes();
        oldest->position_moved = true;
    }
    if ((f_->_flags & putting) == 0) return;
    move(end);
    if (is_moved) {
        const bool is_known = f_->_offset != unknown_offset && (!appends() || size == 0);
        empty_buffer(f_);
        f_->_flags &= ~putting;
        if (is_known) f_->_offset = to.position();
        return;
    }
    // glibc writes the remaining bytes, at the overlay's position.
    f_->_IO_read_base = f_->_IO_read_ptr = f_->_IO_read_end = f_->_IO_write_base = const_cast<char*>(from);
    before_irreversible_call("output, without memory to keep it", "write after the block");
}

bool file::has_buffered(off_t offset, int whence) const noexcept {
    constexpr int others = unbuffered | line_buffered | putting | in_backup;
    const bool reads =
        !is_in_memory(f_) && (f_->_flags & others) == 0 && f_->_IO_read_base != nullptr && f_->_IO_save_base == nullptr;
    if (!reads || f_->_offset < 0 || overlay() != nullptr || whence == SEEK_END) return false;
    off64_t to = offset;
    if (whence == SEEK_CUR && __builtin_add_overflow(to, f_->_offset - (f_->_IO_read_end - f_->_IO_read_ptr), &to))
        return false;
    // glibc moves the kernel's position to the position that is stored in the FILE. This changes nothing unless the
    // program has used the descriptor directly, which POSIX leaves undefined.
    return to < f_->_offset && to >= f_->_offset - (f_->_IO_read_end - f_->_IO_buf_base);
}

void file::before_irreversible_call(const char* why, const char* advice) {
    if (in_language(t_)) {
        tutti_itm_run_alone(why, advice);
        became_serial_ = true;
    } else {
        t_.become_irrevocable(why);
    }
    write_deferred_output(descriptor::of(t_));
    // FIL4: if a block of the library is inside this block, it may still be cancelled, so its records must not restore
    // anything. A block of the language that runs alone cannot be rolled back in any case.
    for (owned_stream* at = descriptor::of(t_).data_of_layer<context_state>()->newest; at != nullptr; at = at->older) {
        if (at->file == f_) at->final = true;
    }
}

void file::before_moving() {
    if (owned_->final || in_memory()) return;
    // A stream that is not fully buffered flushes other streams before it reads.
    constexpr int flushes = unbuffered | line_buffered;
    if (committed() != 0) write_committed();  // on failure the stream is in error, as in glibc
    if (overlay() != nullptr) return move_output_to_overlay();
    // glibc would write the block's output in the buffer, even if the position has moved before. Appended output moves
    // the position to the file's end.
    const bool detaches = pending() != 0 || appends();
    if ((f_->_flags & flushes) != 0 || (!owned_->position_moved && !is_regular()) || (detaches && !detach())) {
        return before_irreversible_call(
            "input or output that the stream's buffer cannot hold",
            "read from a pipe, a terminal or a stream without a buffer before the block, and write to "
            "it after the block");
    }
    if (detaches) return move_output_to_overlay();
    if (owned_->position_moved) return;
    const off64_t kernel = ::lseek64(f_->_fileno, 0, SEEK_CUR);
    // The loop includes the older records, because this record may be merged into an older one. Besides, the buffer
    // will no longer contain the bytes to which the older records refer.
    for (owned_stream* at = owned_; at != nullptr; at = at->older) {
        if (at->file != f_ || at->position_moved) continue;
        at->position = kernel - (at->saved_state.read_end - at->saved_state.read_ptr);
        at->position_moved = true;
    }
}

}  // namespace tutti::libc

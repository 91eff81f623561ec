// glibc flushes all streams under the lock of its list of streams, and waits there for the lock of each stream. If a
// transaction that owns a stream opens another stream meanwhile, the transaction waits for the lock of the list. This
// is a deadlock. Therefore this library replaces glibc's functions that flush all streams. The library's versions hold
// the lock of the list only while they try the streams' locks.
//
// The library replaces _flushlbf for the same reason, and fcloseall because glibc's version acquires no lock at all, so
// glibc's version would write uncommitted output.
//
// At the end of the process, glibc writes all buffers without acquiring a lock. Output of other threads' transactions
// in these buffers is not committed and must not be written; see end_streams. The child of a fork has a copy of the
// buffers, and must not write uncommitted output either; see release_in_fork_child.
#include "libc/all_streams.hpp"

#include <pthread.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <cwchar>
#include <utility>
#include <vector>

#include "base/short_sleep.hpp"
#include "core/state/ancestry.hpp"
#include "libc/file.hpp"
#include "tutti/libc/functions.hpp"

// glibc exports these functions, but declares them in no header.
extern "C" {
void _IO_list_lock();
void _IO_list_unlock();
void* _IO_iter_begin();
void* _IO_iter_end();
void* _IO_iter_next(void*);
FILE* _IO_iter_file(void*);
int _IO_fflush(FILE*);
}

namespace tutti::libc {
namespace {

std::atomic<bool> is_ending{false};
pthread_t ending_thread;  // written before is_ending

void sleep_briefly() noexcept { base::short_sleep_for(200'000); }

class list_of_streams {
public:
    list_of_streams() noexcept { _IO_list_lock(); }
    ~list_of_streams() { _IO_list_unlock(); }
    list_of_streams(const list_of_streams&) = delete;
    list_of_streams& operator=(const list_of_streams&) = delete;

    /// While the list is locked, no stream is destroyed, because fclose first removes the stream from the list.
    template <class F>
    void for_each(F f) const {
        for (void* at = _IO_iter_begin(); at != _IO_iter_end(); at = _IO_iter_next(at)) f(_IO_iter_file(at));
    }
};

/// Returns false if another thread holds the stream's lock.
bool try_flush(FILE* f, flush_selection what, int& result) noexcept {
    if (::ftrylockfile(f) != 0) return false;
    const bool is_asked = what != flush_selection::line_buffered || ::__flbf(f) != 0;
    if (is_asked && ::__fpending(f) != 0 && ::fflush_unlocked(f) != 0) result = EOF;
    // Does what glibc does: the stream continues to exist, without a buffer, and the file position moves back over
    // bytes that were read ahead. A stream without an orientation was not used, so it is skipped.
    if (what == flush_selection::final_flush && ::fwide(f, 0) != 0) std::setvbuf(f, nullptr, _IONBF, 0);
    ::funlockfile(f);
    return true;
}

/// Restarts the transaction that owns `f`, if there is one, because that transaction might be waiting for `t`.
void restart_owner(tx& t, const FILE* f) {
    conflict_word& word = conflict_word_of(f);
    if (acquire_word(descriptor::of(t), word, true)) release(word);
}

/// Discards the output of the stream's transaction, and writes the output that was committed before. Detaches the
/// stream from its descriptor, so that later calls of its owner do not reach any file.
void detach_stream(const owned_stream& of) noexcept {
    if (!of.armed || of.final || of.image != nullptr) return;
    const saved_file_state p = of.saved_state;
    const int fd = std::exchange(of.file->_fileno, -1);
    if (of.position_moved) {
        ::lseek64(fd, of.position, SEEK_SET);
        return;
    }
    if ((p.flags & putting) == 0) return;
    // Moves the position as glibc does: bytes that were read ahead are between the kernel's position and the place of
    // the output.
    if ((p.flags & appending) == 0 && p.read_end != p.write_base) ::lseek64(fd, p.write_base - p.read_end, SEEK_CUR);
    for (const char* at = p.write_base; at < p.write_ptr;) {
        const ssize_t n = ::write(fd, at, static_cast<std::size_t>(p.write_ptr - at));
        if (n < 0 && errno != EINTR) return;
        at += std::max<ssize_t>(n, 0);
    }
}

/// Calls `f` for each stream that another thread's transaction owns. Returns true if there was such a stream. The
/// result is not exact, because the transaction may end meanwhile. But no transaction can become an owner now, and the
/// memory of an `owned_stream` lives as long as its context.
template <class F>
__attribute__((no_sanitize("thread"))) bool for_each_other_stream(F f) noexcept {
    bool any = false;
    for (const conflict_word& w : all_conflict_words()) {
        const core::descriptor* const owner = w.owner.load(std::memory_order_acquire);
        if (owner == nullptr || owner == static_cast<const core::descriptor*>(detail::current_transaction)) continue;
        for (owned_stream* at = w.streams.load(std::memory_order_acquire); at != nullptr; at = at->next_with_word) {
            any = true;
            f(*at);
        }
    }
    return any;
}

/// Waits briefly for transactions that own streams. Detaches the streams of transactions that do not end in that time.
void end_streams(int, void*) {
    ending_thread = ::pthread_self();
    is_ending.store(true, std::memory_order_release);
    for (int i = 0; i != 100; ++i) {
        if (!for_each_other_stream([](const owned_stream&) noexcept {})) return;
        sleep_briefly();
    }
    for_each_other_stream(detach_stream);
}

/// Removes the output of other threads' transactions from the streams in the child of a fork, where those threads do
/// not exist. A thread may have been stopped in the middle of a call, but an `owned_stream` is listed only when it is
/// complete.
__attribute__((no_sanitize("thread"))) void release_in_fork_child() noexcept {
    const auto* const self = static_cast<const core::descriptor*>(detail::current_transaction);
    for (conflict_word& w : all_conflict_words()) {
        const core::descriptor* const owner = w.owner.load(std::memory_order_relaxed);
        if (owner == nullptr || core::shares_context(*owner, self)) continue;
        for (const owned_stream* at = w.streams.load(std::memory_order_relaxed); at != nullptr;
             at = at->next_with_word) {
            at->undo_in_child();
        }
        w.streams.store(nullptr, std::memory_order_relaxed);
        w.owner.store(nullptr, std::memory_order_relaxed);
    }
}

[[gnu::constructor]] void register_exit_handlers() {
    // The code uses on_exit, because functions registered with on_exit run only at the process's end. This function is
    // registered first, so it runs last.
    ::on_exit(end_streams, nullptr);
    ::pthread_atfork(nullptr, nullptr, release_in_fork_child);
}

}  // namespace

int flush_all(tx* t, flush_selection what) {
    int result = 0;
    std::vector<FILE*> left;
    try {
        {
            const list_of_streams list;
            list.for_each([&](FILE* f) {
                if (!try_flush(f, what, result)) left.push_back(f);
            });
        }
        while (!left.empty()) {
            if (t != nullptr) restart_owner(*t, left.back());
            std::vector<FILE*> busy;
            busy.reserve(left.size());
            {
                const list_of_streams list;
                list.for_each([&](FILE* f) {
                    const bool asked = std::find(left.begin(), left.end(), f) != left.end();
                    if (asked && !try_flush(f, what, result)) busy.push_back(f);
                });
            }
            left = std::move(busy);
            if (!left.empty()) sleep_briefly();
        }
    } catch (const std::bad_alloc&) {
        errno = ENOMEM;
        result = EOF;
    }
    return result;
}

int fcloseall(tx& t) {
    become_irrevocable(t, "a flush of all streams", "call it after the block");
    return flush_all(in_language(t) ? nullptr : &t, flush_selection::final_flush);
}

void stop_at_exit() noexcept {
    if (!is_ending.load(std::memory_order_acquire) || ::pthread_equal(ending_thread, ::pthread_self()) != 0) return;
    for (;;) ::pause();
}

}  // namespace tutti::libc

// The following functions replace glibc's. The comment at the top of this file gives the reason.
extern "C" {
TUTTI_EXPORT int fflush(FILE* f) { return f != nullptr ? _IO_fflush(f) : tutti::libc::flush_all(nullptr); }
TUTTI_EXPORT int fcloseall() {
    return tutti::libc::flush_all(nullptr, tutti::libc::flush_selection::final_flush);
}
TUTTI_EXPORT void _flushlbf() { tutti::libc::flush_all(nullptr, tutti::libc::flush_selection::line_buffered); }
}

#include "libc/descriptor_table.hpp"

#include <unistd.h>

#include "libc/context_state.hpp"
#include "libc/effects.hpp"

namespace tutti::libc {
namespace {

constexpr char files = 0;  // its address identifies the locks of files

/// A recorded close of a descriptor. A roll-back of the block removes the record from the list of its context.
class close_entry final : public detail::handler {
public:
    close_entry(context_state& s, int fd, const struct stat& about) noexcept
        : state_{s}, close_{fd, true, about.st_dev, about.st_ino, s.closing} {}
    void run(tx&, abort_cause) override {
        if (state_.closing == &close_) state_.closing = close_.older;
    }
    pending_close* link() noexcept { return state_.closing = &close_; }

private:
    context_state& state_;
    pending_close close_;
};

void close_now(const pending_close& c) noexcept {
    const errno_guard saved_errno;
    struct stat now;
    if (!c.live || ::fstat(c.fd, &now) != 0 || now.st_dev != c.device || now.st_ino != c.inode) return;
    ::close(c.fd);
}

}  // namespace

pending_close* find_closing(tx& t, int fd) noexcept {
    const context_state* const s = state_of(descriptor::of(t));
    if (s == nullptr) return nullptr;  // if there is no state, no close has been recorded
    pending_close* at = s->closing;
    while (at != nullptr && !(at->live && at->fd == fd)) at = at->older;
    return at;
}

bool is_usable(tx& t, int fd) noexcept {
    if (find_closing(t, fd) == nullptr) return true;
    errno = EBADF;
    return false;
}

bool close_at_commit(tx& t, int fd, const struct stat& about) {
    context_state* const s = state_of(descriptor::of(t));
    if (s == nullptr) return false;
    pending_close* pending = nullptr;
    try {
        auto entry = std::make_unique<close_entry>(*s, fd, about);
        auto* const at = entry.get();
        detail::access::add(t, detail::handler_point::on_abort, std::move(entry));
        pending = at->link();
    } catch (const std::bad_alloc&) {
        return false;
    }
    if (defer(t, detail::handler_point::at_commit, [pending] { close_now(*pending); })) return true;
    pending->live = false;
    return false;
}

bool lock_file(tx& t, const struct stat& about, bool shared) {
    if (write_deferred_output_to(t, about) && runs_without_barriers(t)) return true;
    const std::uint64_t key = (static_cast<std::uint64_t>(about.st_dev) * 0x9e3779b97f4a7c15U) ^ about.st_ino;
    return hold_until_end(t, {.of = &files, .key = key, .shared = shared});
}

}  // namespace tutti::libc

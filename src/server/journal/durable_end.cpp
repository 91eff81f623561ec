#include "server/journal/durable_end.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>
#include <utility>

#include "server/journal/checksum.hpp"
#include "server/journal/log_store.hpp"

namespace tutti::server::journal {
namespace {

using clock = std::chrono::steady_clock;

constexpr char magic[8] = {'T', 'u', 't', 't', 'i', 'E', 'n', '3'};
constexpr char magic_without_frames[8] = {'T', 'u', 't', 't', 'i', 'E', 'n', '2'};
constexpr ::off_t apart = 512;  // distance of the slots; a disk writes a sector completely or not at all
constexpr std::chrono::seconds between_syncs{1};

struct slot {
    char what[8];
    std::uint64_t writes;
    durable_log_state known;
    std::uint64_t sum;

    [[nodiscard]] std::uint64_t sum_of(std::size_t bytes) const noexcept {
        return checksum({reinterpret_cast<const char*>(this), bytes});
    }
};

/// Reads the slot in these bytes, in the current format or in the earlier format, which has no number of frames.
std::optional<slot> read_slot(const char* from, std::size_t bytes) {
    slot s{};
    std::memcpy(&s, from, std::min(bytes, sizeof s));
    constexpr std::size_t before_frames = offsetof(slot, known) + offsetof(durable_log_state, wal_frames);
    if (bytes >= sizeof s && std::memcmp(s.what, magic, sizeof magic) == 0 && s.sum == s.sum_of(offsetof(slot, sum)))
        return s;
    const std::uint64_t sum = std::exchange(s.known.wal_frames, 0);  // the earlier format has its checksum here
    const bool is_earlier = bytes >= before_frames + sizeof sum &&
                            std::memcmp(s.what, magic_without_frames, sizeof magic_without_frames) == 0;
    if (is_earlier && sum == s.sum_of(before_frames)) return s;
    return std::nullopt;
}

}  // namespace

durable_end::durable_end(std::string file) : file_{std::move(file)} {}

durable_end::~durable_end() {
    if (descriptor_ == -1) return;
    ::fdatasync(descriptor_);
    ::close(descriptor_);
}

void durable_end::fail(const std::string& doing) const {
    throw log_store_error{file_ + " cannot be " + doing + ": " + std::generic_category().message(errno), true};
}

std::optional<durable_log_state> durable_end::read() {
    const int from = ::open(file_.c_str(), O_RDWR | O_CLOEXEC);
    if (from == -1) {
        if (errno == ENOENT) return std::nullopt;
        fail("opened");
    }
    descriptor_ = from;
    bool is_empty = true;
    std::optional<durable_log_state> known;
    for (const ::off_t at : {::off_t{0}, apart}) {
        char some[sizeof(slot)];
        const ::ssize_t bytes = ::pread(from, some, sizeof some, at);
        if (bytes == -1) fail("read");
        is_empty = is_empty && bytes == 0;
        const std::optional<slot> s = read_slot(some, static_cast<std::size_t>(bytes));
        if (!s || (known && s->writes < writes_)) continue;
        writes_ = s->writes;
        known = last_ = s->known;
    }
    if (!known && !is_empty) {
        throw log_store_error{file_ +
                                  " is damaged: it records how much of the log was on the disk. Compare the log with a "
                                  "replica's, and remove this file to start without it",
                              false};
    }
    return known;
}

void durable_end::open() {
    if (descriptor_ == -1) descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
}

bool durable_end::write(const durable_log_state& now) noexcept {
    open();
    slot s{.what = {}, .writes = writes_ + 1, .known = now, .sum = 0};
    std::memcpy(s.what, magic, sizeof magic);
    s.sum = s.sum_of(offsetof(slot, sum));
    if (::pwrite(descriptor_, &s, sizeof s, static_cast<::off_t>(s.writes % 2) * apart) != sizeof s) return false;
    writes_ = s.writes;
    last_ = now;
    return true;
}

void durable_end::record(const durable_log_state& now) noexcept {
    if (now == last_ || !write(now)) return;
    const clock::time_point at = clock::now();
    if (at - synced_ < between_syncs) return;
    synced_ = at;
    ::fdatasync(descriptor_);
}

void durable_end::forget_pages() {
    if (last_.pages == 0) return;
    durable_log_state now = last_;
    now.pages = 0;
    if (!write(now) || ::fdatasync(descriptor_) != 0) fail("written");
}

void durable_end::lower(std::uint64_t end) {
    if (end >= last_.end) return;
    durable_log_state now = last_;
    now.end = end;
    if (end == 1) now = {};  // the log has no calls any more
    // Writes both slots, because the second slot must not claim a later end.
    if (!write(now) || !write(now) || ::fdatasync(descriptor_) != 0) fail("written");
}

}  // namespace tutti::server::journal

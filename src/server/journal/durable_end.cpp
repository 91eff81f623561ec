#include "server/journal/durable_end.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "server/journal/checksum.hpp"
#include "server/journal/store.hpp"

namespace tutti::server::journal {
namespace {

using clock = std::chrono::steady_clock;

constexpr char magic[8] = {'T', 'u', 't', 't', 'i', 'E', 'n', 'd'};
constexpr ::off_t apart = 512;  // a disk writes a sector as a whole or not at all
constexpr std::chrono::seconds between_syncs{1};

struct slot {
    char what[8];
    std::uint64_t turn, end, sum;

    [[nodiscard]] std::uint64_t sum_of() const noexcept {
        return checksum({reinterpret_cast<const char*>(this), offsetof(slot, sum)});
    }
    [[nodiscard]] bool is_whole() const noexcept {
        return std::memcmp(what, magic, sizeof magic) == 0 && sum == sum_of();
    }
};

}  // namespace

durable_end::durable_end(std::string file) : file_{std::move(file)} {}

durable_end::~durable_end() {
    if (descriptor_ == -1) return;
    ::fdatasync(descriptor_);
    ::close(descriptor_);
}

void durable_end::fail(const std::string& doing) const {
    throw store_error{file_ + " cannot be " + doing + ": " + std::generic_category().message(errno), true};
}

std::optional<std::uint64_t> durable_end::read() {
    const int from = ::open(file_.c_str(), O_RDWR | O_CLOEXEC);
    if (from == -1) {
        if (errno == ENOENT) return std::nullopt;
        fail("opened");
    }
    descriptor_ = from;
    bool is_empty = true;
    std::optional<std::uint64_t> end;
    for (const ::off_t at : {::off_t{0}, apart}) {
        slot s{};
        const ::ssize_t bytes = ::pread(from, &s, sizeof s, at);
        if (bytes == -1) fail("read");
        is_empty = is_empty && bytes == 0;
        if (bytes != sizeof s || !s.is_whole() || (end && s.turn < turn_)) continue;
        turn_ = s.turn;
        end = last_ = s.end;
    }
    if (!end && !is_empty) {
        throw store_error{file_ +
                              " is damaged: it says how much of the log beside it was on the disk. Compare the log "
                              "with a replica's, and remove this file to start without it",
                          false};
    }
    return end;
}

void durable_end::open() {
    if (descriptor_ == -1) descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
}

bool durable_end::write(std::uint64_t end) noexcept {
    open();
    slot s{.what = {}, .turn = turn_ + 1, .end = end, .sum = 0};
    std::memcpy(s.what, magic, sizeof magic);
    s.sum = s.sum_of();
    if (::pwrite(descriptor_, &s, sizeof s, static_cast<::off_t>(s.turn % 2) * apart) != sizeof s) return false;
    turn_ = s.turn;
    last_ = end;
    return true;
}

void durable_end::note(std::uint64_t end) noexcept {
    if (end == last_ || !write(end)) return;
    const clock::time_point now = clock::now();
    if (now - synced_ < between_syncs) return;
    synced_ = now;
    ::fdatasync(descriptor_);
}

void durable_end::lower(std::uint64_t end) {
    if (end >= last_) return;
    // Both slots: the one that is left must not say more.
    if (!write(end) || !write(end) || ::fdatasync(descriptor_) != 0) fail("written");
}

}  // namespace tutti::server::journal

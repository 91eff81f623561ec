#include "cluster/replica/durable_record.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "cluster/backend/backend.hpp"
#include "cluster/replica/checksummed.hpp"
#include "cluster/replica/whole_file.hpp"

namespace tutti::cluster::replica {
namespace {

constexpr char magic[8] = {'T', 'u', 't', 't', 'i', 'M', 'e', 'm'};
constexpr std::size_t apart = 512;  // a disk writes a sector as a whole or not at all
constexpr std::size_t ring_at = 2 * apart;
constexpr std::uint64_t ring_size = durable_contents::ring_size;

struct record_slot {
    char what[8];
    std::uint64_t turn, last, term, vote, term_before, vote_before, changing, lost_upto, voters, sum;

    [[nodiscard]] std::uint64_t sum_of() const noexcept {
        return checksum({reinterpret_cast<const char*>(this), offsetof(record_slot, sum)});
    }
    [[nodiscard]] bool is_intact() const noexcept {
        return std::memcmp(what, magic, sizeof magic) == 0 && sum == sum_of();
    }
};
static_assert(sizeof(record_slot) <= apart);

struct digest {
    std::uint64_t of;
    std::uint32_t index;  // its low 32 bits
    std::uint32_t sum;

    [[nodiscard]] std::uint32_t sum_of() const noexcept {
        return static_cast<std::uint32_t>(checksum({reinterpret_cast<const char*>(this), offsetof(digest, sum)}));
    }
};
static_assert(sizeof(digest) == 16);

std::size_t place_of(std::uint64_t index) { return (index % ring_size) * sizeof(digest); }

/// Returns the newer of the intact slots. Sets `turn` to its turn, or to 0 if no slot is intact.
durable_promises newest(std::string_view bytes, std::uint64_t& turn) {
    durable_promises p;
    turn = 0;
    for (const std::size_t at : {std::size_t{0}, apart}) {
        record_slot s{};
        if (bytes.size() < at + sizeof s) continue;
        std::memcpy(&s, bytes.data() + at, sizeof s);
        if (!s.is_intact() || s.turn <= turn) continue;
        turn = s.turn;
        p = {s.last, s.term, s.vote, s.term_before, s.vote_before, s.changing != 0, s.lost_upto, s.voters};
    }
    return p;
}

bool write_all(int file, const void* bytes, std::size_t n, std::size_t at) noexcept {
    return ::pwrite(file, bytes, n, static_cast<::off_t>(at)) == static_cast<::ssize_t>(n);
}

}  // namespace

std::uint64_t entry_digest(std::uint64_t index, std::uint64_t term, unsigned type, std::string_view bytes) noexcept {
    constexpr unsigned command = 1;  // RAFT_COMMAND
    std::uint64_t content = 0;
    if (type == command && bytes.size() >= checksum_bytes) {
        std::memcpy(&content, bytes.data() + bytes.size() - checksum_bytes, checksum_bytes);
    } else {
        content = checksum(bytes);
    }
    const std::uint64_t all[] = {index, term, type, bytes.size(), content};
    return checksum({reinterpret_cast<const char*>(all), sizeof all});
}

std::optional<std::uint64_t> durable_contents::digest_of(std::uint64_t index) const noexcept {
    digest d{};
    const std::size_t at = place_of(index);
    if (ring.size() < at + sizeof d) return std::nullopt;
    std::memcpy(&d, ring.data() + at, sizeof d);
    if (d.index != static_cast<std::uint32_t>(index) || d.sum != d.sum_of()) return std::nullopt;
    return d.of;
}

std::optional<durable_contents> read_durable(const std::string& file) {
    std::optional<std::string> bytes = read_whole(file);
    if (!bytes) return std::nullopt;
    durable_contents c;
    std::uint64_t turn = 0;
    c.promises = newest(*bytes, turn);
    if (turn == 0) {
        throw backend::engine_error{file +
                                    " is damaged: it records the promises of this member, and how much of its log was "
                                    "on the disk"};
    }
    if (bytes->size() > ring_at) c.ring = bytes->substr(ring_at);
    return c;
}

void durable_record::begin(const std::string& file, const durable_promises& with) {
    const std::string made = file + ".new";
    const int to = ::open(made.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    durable_record all{with, to};
    if (to < 0 || !all.write_both() || ::fsync(to) != 0 || std::rename(made.c_str(), file.c_str()) != 0)
        throw backend::engine_error{file + " cannot be written: " + std::generic_category().message(errno)};
    sync_folder_of(file);
}

durable_record::durable_record(const std::string& file) : file_{::open(file.c_str(), O_RDWR | O_CLOEXEC)} {
    char slots[ring_at]{};
    const ::ssize_t n = file_ < 0 ? -1 : ::pread(file_, slots, sizeof slots, 0);
    if (n < 0) {
        const int error = errno;
        if (file_ >= 0) ::close(file_);
        throw backend::engine_error{file + " cannot be used: " + std::generic_category().message(error)};
    }
    promises_ = newest({slots, static_cast<std::size_t>(n)}, turn_);
}

durable_record::~durable_record() {
    if (file_ < 0) return;
    ::fdatasync(file_);
    ::close(file_);
}

bool durable_record::write() noexcept {
    record_slot s{.what = {},
                  .turn = turn_ + 1,
                  .last = promises_.last,
                  .term = promises_.term,
                  .vote = promises_.vote,
                  .term_before = promises_.term_before,
                  .vote_before = promises_.vote_before,
                  .changing = promises_.changing ? 1U : 0U,
                  .lost_upto = promises_.lost_upto,
                  .voters = promises_.voters,
                  .sum = 0};
    std::memcpy(s.what, magic, sizeof magic);
    s.sum = s.sum_of();
    if (!write_all(file_, &s, sizeof s, (s.turn % 2) * apart)) return false;
    turn_ = s.turn;
    return true;
}

bool durable_record::write_digests(std::uint64_t first, std::span<const std::uint64_t> digests) noexcept {
    // Writes in pieces of fixed size, so that nothing has to be allocated. Splits at the end of the ring.
    constexpr std::size_t some = 64;
    digest piece[some];
    for (std::size_t done = 0; done < digests.size();) {
        const std::uint64_t from = first + done;
        const std::size_t until_end = static_cast<std::size_t>(ring_size - from % ring_size);
        const std::size_t n = std::min({some, digests.size() - done, until_end});
        for (std::size_t i = 0; i < n; ++i) {
            piece[i] = {digests[done + i], static_cast<std::uint32_t>(from + i), 0};
            piece[i].sum = piece[i].sum_of();
        }
        if (!write_all(file_, piece, n * sizeof(digest), ring_at + place_of(from))) return false;
        done += n;
    }
    return true;
}

void durable_record::append(std::uint64_t first, std::span<const std::uint64_t> digests, unsigned voters) noexcept {
    if (digests.empty() || !write_digests(first, digests)) return;
    promises_.last = first + digests.size() - 1;
    if (voters != 0) promises_.voters = voters;
    static_cast<void>(write());
}

void durable_record::advance_to(std::uint64_t last) noexcept {
    if (last <= promises_.last) return;
    promises_.last = last;
    static_cast<void>(write());
}

bool durable_record::truncate_to(std::uint64_t last) noexcept {
    if (last >= promises_.last) return true;
    // Digests of removed entries must not survive: a crash of the machine could bring back a removed entry in addition
    // to its successor.
    const digest none{};
    const std::uint64_t gone = std::min(promises_.last - last, ring_size);
    for (std::uint64_t i = 0; i < gone; ++i) {
        if (!write_all(file_, &none, sizeof none, ring_at + place_of(promises_.last - i))) return false;
    }
    promises_.last = last;
    // Writes both slots, because the other slot must not keep a higher `last`.
    return write_both() && ::fdatasync(file_) == 0;
}

bool durable_record::begin_change(std::uint64_t term, std::uint64_t vote) noexcept {
    if (!promises_.changing) {
        promises_.term_before = promises_.term;
        promises_.vote_before = promises_.vote;
    }
    promises_.term = term;
    promises_.vote = vote;
    promises_.changing = true;
    return write() && ::fdatasync(file_) == 0;
}

void durable_record::end_change() noexcept {
    promises_.changing = false;
    // Writes both slots, so that the vote survives later damage of one slot.
    static_cast<void>(write_both());
}

void durable_record::clear_lost() noexcept {
    promises_.lost_upto = 0;
    static_cast<void>(write_both());
}

void durable_record::reset(std::uint64_t term, std::uint64_t vote, std::uint64_t first,
                           std::span<const std::uint64_t> digests, std::uint64_t last, unsigned voters) noexcept {
    if (digests.size() > ring_size) {
        first += digests.size() - ring_size;
        digests = digests.last(ring_size);
    }
    static_cast<void>(write_digests(first, digests));
    promises_ = {last, term, vote, 0, 0, false, promises_.lost_upto, voters};
    static_cast<void>(write_both() && ::fdatasync(file_) == 0);
}

}  // namespace tutti::cluster::replica

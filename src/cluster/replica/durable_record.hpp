// What a member has promised, in a file of its folder beside C-Raft's: how far its log is on the disk, which entry is
// where, its term and its vote. C-Raft's files cannot tell: its segments do not say where they belong, its metadata has
// no checksum, and it takes a damaged end of a segment for a write that a crash cut short.
//
//   D1  an entry is noted when its write is on the disk, and before the group hears of it; so a log that ends before
//       `last` has lost something. What replaces a part of the log lowers `last` first
//   D2  term and vote are noted before C-Raft writes them, with those before; as long as `changing` either may be in
//       C-Raft's files. No promise was made in that time
//   D3  two slots are written in turn, so a write that a crash cuts short leaves the other. Each has a checksum
//   D4  the file is synced once a second, and for D2 and for what lowers `last`. After a crash of the process it is
//       exact; after a crash of the machine it may know less than was durable, never more
//
// Behind the slots is a ring of digests, one for each of the latest entries: of its place, term and bytes. An entry
// that was moved or repeated has another digest.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::cluster::replica {

/// Of the entry with this index. `bytes` of a command end with their own checksum (entry.hpp).
[[nodiscard]] std::uint64_t entry_digest(std::uint64_t index, std::uint64_t term, unsigned type,
                                         std::string_view bytes) noexcept;

struct promises {
    std::uint64_t last = 0;  ///< D1: the index of the last entry that is on the disk
    std::uint64_t term = 0, vote = 0;
    std::uint64_t term_before = 0, vote_before = 0;  ///< D2
    bool changing = false;                           ///< D2
    /// This member has lost entries up to here, and does not vote until it has them again; 0: it has not.
    std::uint64_t owed = 0;
    std::uint64_t voters = 0;  ///< of the group, by the newest configuration that was written; 0: unknown

    [[nodiscard]] bool allows(std::uint64_t a_term, std::uint64_t a_vote) const noexcept {
        return (a_term == term && a_vote == vote) || (changing && a_term == term_before && a_vote == vote_before);
    }
};

/// The file as it is; reading changes nothing.
struct durable_contents {
    static constexpr std::uint64_t ring_size = 65536;  ///< digests: more than a log has between two snapshots
    promises said;
    std::string ring;  ///< of the file, up to its end

    /// None where the ring has no digest of that entry any more.
    [[nodiscard]] std::optional<std::uint64_t> digest_of(std::uint64_t index) const noexcept;
};

/// None: there is no such file. Throws backend::refusal: it cannot be read, or both slots are damaged.
[[nodiscard]] std::optional<durable_contents> read_durable(const std::string& file);

class durable_record {
public:
    /// Opens the file, which `read_durable` can read. Throws backend::refusal.
    explicit durable_record(const std::string& file);
    /// In the place of whatever is there: on the disk when it returns. Throws backend::refusal.
    static void begin(const std::string& file, const promises& with);
    ~durable_record();
    durable_record(const durable_record&) = delete;
    durable_record& operator=(const durable_record&) = delete;

    [[nodiscard]] const promises& said() const noexcept { return said_; }
    /// Entries from `first` on are on the disk. An error is left for later: an old number only finds less.
    /// `voters`: by a configuration among them; 0: there is none.
    void append(std::uint64_t first, std::span<const std::uint64_t> digests, unsigned voters) noexcept;
    /// A snapshot that is on the disk has all up to there.
    void reach(std::uint64_t last) noexcept;
    /// Entries behind `last` are about to go. False: it cannot be written.
    [[nodiscard]] bool lower(std::uint64_t last) noexcept;
    /// D2, before and after C-Raft writes it. False: it cannot be written.
    [[nodiscard]] bool begin_change(std::uint64_t term, std::uint64_t vote) noexcept;
    void end_change() noexcept;
    /// This member has again what it had lost.
    void settle_owed() noexcept;
    /// What a start has found, and is true from now on.
    void adopt(std::uint64_t term, std::uint64_t vote, std::uint64_t first, std::span<const std::uint64_t> digests,
               std::uint64_t last, unsigned voters) noexcept;
    /// Of the file. Another thread may sync it.
    [[nodiscard]] int descriptor() const noexcept { return file_; }

private:
    durable_record(const promises& with, int file) noexcept : said_{with}, file_{file} {}
    [[nodiscard]] bool write() noexcept;
    [[nodiscard]] bool write_both() noexcept { return write() && write(); }
    [[nodiscard]] bool write_digests(std::uint64_t first, std::span<const std::uint64_t> digests) noexcept;

    promises said_;
    std::uint64_t turn_ = 0;
    int file_ = -1;
};

}  // namespace tutti::cluster::replica

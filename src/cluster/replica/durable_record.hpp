// The promises of a member, in a file of its folder in addition to C-Raft's files. The promises are the last entry on
// the disk, a digest of each entry, the member's term and its vote. C-Raft's files do not contain them reliably:
// segments do not state which entries they contain, and the metadata has no checksum. C-Raft also takes a damaged end
// of a segment for a write that a crash cut short.
//
//   DUR1  An entry is recorded after its write is on the disk, and before the group learns of the write. So a log that
//         ends before `last` has lost entries. A replacement of a part of the log lowers `last` first.
//   DUR2  Term and vote are recorded before C-Raft writes them, together with the former values. While `changing` is
//         set, C-Raft's files may have the new or the former values, and the member makes no promise.
//   DUR3  Two slots are written in turn, so a write that a crash cuts short leaves the other slot intact. Each slot has
//         a checksum.
//   DUR4  The file is synced once a second, and also for DUR2 and when `last` is lowered. After a crash of the process,
//         the file is exact. After a crash of the machine, it may contain less than was durable, but never more.
//
// After the slots, there is a ring of digests, one for each of the latest entries. A digest covers the entry's index,
// term and bytes. So an entry that was moved or repeated does not match its digest.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::cluster::replica {

/// Returns the digest of the entry with this index. `bytes` of a command end with their own checksum (entry.hpp).
[[nodiscard]] std::uint64_t entry_digest(std::uint64_t index, std::uint64_t term, unsigned type,
                                         std::string_view bytes) noexcept;

struct durable_promises {
    std::uint64_t last = 0;  ///< DUR1: the index of the last entry on the disk
    std::uint64_t term = 0, vote = 0;
    std::uint64_t term_before = 0, vote_before = 0;  ///< DUR2
    bool changing = false;                           ///< DUR2
    /// The last entry that this member has lost, or 0. The member does not vote until it has all entries up to here
    /// again.
    std::uint64_t lost_upto = 0;
    std::uint64_t voters = 0;  ///< voters of the group, by the newest configuration that was written; 0: unknown

    [[nodiscard]] bool allows(std::uint64_t a_term, std::uint64_t a_vote) const noexcept {
        return (a_term == term && a_vote == vote) || (changing && a_term == term_before && a_vote == vote_before);
    }
};

/// The content of the file. Reading does not change the file.
struct durable_contents {
    static constexpr std::uint64_t ring_size = 65536;  ///< digests: more entries than a log has between two snapshots
    durable_promises promises;
    std::string ring;  ///< the ring up to the file's end

    /// Returns the entry's digest, or nothing if the ring does not have the digest any more.
    [[nodiscard]] std::optional<std::uint64_t> digest_of(std::uint64_t index) const noexcept;
};

/// Reads the file. Returns nothing if there is no such file. Throws backend::engine_error if the file cannot be read,
/// or both slots are damaged.
[[nodiscard]] std::optional<durable_contents> read_durable(const std::string& file);

class durable_record {
public:
    /// Opens a file that `read_durable` can read. Throws backend::engine_error.
    explicit durable_record(const std::string& file);
    /// Creates or replaces the file. The file is on the disk when this function returns. Throws backend::engine_error.
    static void begin(const std::string& file, const durable_promises& with);
    ~durable_record();
    durable_record(const durable_record&) = delete;
    durable_record& operator=(const durable_record&) = delete;

    [[nodiscard]] const durable_promises& promises() const noexcept { return promises_; }
    /// Records that the entries from `first` on are on the disk. Ignores errors, because with an outdated record a
    /// start only finds less damage. `voters` is from a configuration among the entries, or 0 if there is no
    /// configuration.
    void append(std::uint64_t first, std::span<const std::uint64_t> digests, unsigned voters) noexcept;
    /// Records that a snapshot on the disk has all entries up to `last`.
    void advance_to(std::uint64_t last) noexcept;
    /// Records that entries after `last` are about to be removed. Returns false if the file cannot be written.
    [[nodiscard]] bool truncate_to(std::uint64_t last) noexcept;
    /// Records a change of term and vote, before C-Raft writes the change (DUR2). Call end_change after C-Raft has
    /// written it. Returns false if the file cannot be written.
    [[nodiscard]] bool begin_change(std::uint64_t term, std::uint64_t vote) noexcept;
    void end_change() noexcept;
    /// Records that this member has its lost entries again.
    void clear_lost() noexcept;
    /// Sets the record to the state that a start has found.
    void reset(std::uint64_t term, std::uint64_t vote, std::uint64_t first, std::span<const std::uint64_t> digests,
               std::uint64_t last, unsigned voters) noexcept;
    /// Returns the file's descriptor. Another thread may sync it.
    [[nodiscard]] int descriptor() const noexcept { return file_; }

private:
    durable_record(const durable_promises& with, int file) noexcept : promises_{with}, file_{file} {}
    [[nodiscard]] bool write() noexcept;
    [[nodiscard]] bool write_both() noexcept { return write() && write(); }
    [[nodiscard]] bool write_digests(std::uint64_t first, std::span<const std::uint64_t> digests) noexcept;

    durable_promises promises_;
    std::uint64_t turn_ = 0;
    int file_ = -1;
};

}  // namespace tutti::cluster::replica

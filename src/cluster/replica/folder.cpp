#include "cluster/replica/folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "cluster/backend/backend.hpp"
#include "cluster/replica/segment.hpp"
#include "cluster/replica/state_machine.hpp"
#include "cluster/replica/unknown_entries.hpp"
#include "cluster/replica/whole_file.hpp"

namespace tutti::cluster::replica {
namespace {

namespace fs = std::filesystem;

struct closed_name {
    std::string name;
    std::uint64_t first = 0, last = 0;
};
struct open_name {
    std::string name;
    std::uint64_t count = 0;
};
struct snapshot_name {
    std::string name;
    std::uint64_t term = 0, index = 0, time = 0;
};

struct listing {
    std::vector<closed_name> closed;
    std::vector<open_name> open;
    std::vector<snapshot_name> snapshots;
};

/// Returns true if the whole `name` matches the scanf pattern, which ends with %n. On a match, sets `numbers` to the
/// numbers in `name`.
template <class... N>
bool is_named(const std::string& name, const char* pattern, N&... numbers) {
    int end = 0;
    unsigned long long read[sizeof...(N)]{};
    const bool matches = [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::sscanf(name.c_str(), pattern, &read[I]..., &end) == static_cast<int>(sizeof...(N));
    }(std::index_sequence_for<N...>{});
    if (!matches || static_cast<std::size_t>(end) != name.size()) return false;
    std::size_t i = 0;
    ((numbers = read[i++]), ...);
    return true;
}

listing list(const std::string& folder) {
    listing all;
    std::error_code failed;
    for (fs::directory_iterator at{folder, failed}, end; !failed && at != end; at.increment(failed)) {
        const std::string name = at->path().filename().string();
        closed_name c{name};
        open_name o{name};
        snapshot_name s{name};
        if (is_named(name, "snapshot-%llu-%llu-%llu%n", s.term, s.index, s.time)) all.snapshots.push_back(s);
        else if (is_named(name, "%llu-%llu%n", c.first, c.last)) all.closed.push_back(c);
        else if (is_named(name, "open-%llu%n", o.count)) all.open.push_back(o);
    }
    if (failed && failed != std::errc::no_such_file_or_directory)
        throw backend::engine_error{folder + " cannot be read: " + failed.message()};
    std::ranges::sort(all.closed, {}, &closed_name::first);
    std::ranges::sort(all.open, {}, &open_name::count);
    std::ranges::sort(all.snapshots, [](const snapshot_name& a, const snapshot_name& b) {
        return std::tie(a.term, a.index, a.time) < std::tie(b.term, b.index, b.time);
    });
    return all;
}

std::string number(std::uint64_t n) { return std::to_string(n); }

std::string entries_to(std::uint64_t first, std::uint64_t last) {
    return first == last ? "entry " + number(first) : "entries " + number(first) + " to " + number(last);
}

class folder_reader {
public:
    folder_reader(const std::string& folder, bool promised) : names_{folder}, promised_{promised} {}

    folder_contents all() {
        read_promises();
        const listing files = list(names_.log());
        if (promised_ && !found_.known && found_.damage.empty()) {
            found_.damage.push_back(
                names_.durable() +
                " is missing: it records the promises of this member, and how much of its log was on "
                "the disk");
        }
        read_metadata();
        read_snapshot(files);
        read_log(files);
        found_.max_acknowledged = std::max({found_.max_acknowledged, found_.last, found_.snapshot_index,
                                            found_.known ? found_.known->last : std::uint64_t{0}});
        find_missing_entries();
        return std::move(found_);
    }

private:
    [[nodiscard]] std::string path(const std::string& name) const { return names_.log() + "/" + name; }

    void read_promises() {
        try {
            promises_ = read_durable(names_.durable());
            if (promises_) found_.known = promises_->promises;
        } catch (const backend::engine_error& r) {
            found_.damage.emplace_back(r.what());
        }
    }

    void read_metadata() {
        constexpr std::size_t size = 32;
        std::uint64_t version = 0;
        std::string newest;
        bool sound = true;
        for (const char* const name : {"metadata1", "metadata2"}) {
            const std::optional<std::string> bytes = read_whole(path(name));
            if (!bytes || bytes->size() < size) continue;  // C-Raft had not finished writing it
            if (bytes->size() > size) {
                sound = false;
                found_.damage.push_back(path(name) + " is damaged at byte " + number(size) + ": it has " +
                                        number(bytes->size()) + " bytes");
            }
            std::uint64_t words[size / 8];
            std::memcpy(words, bytes->data(), size);
            if (words[0] != 1 || words[1] == 0) {
                sound = false;
                found_.damage.push_back(path(name) + " is damaged at byte " + (words[0] != 1 ? "0" : "8") +
                                        ": it does not have the term and the vote of this member");
                continue;
            }
            if (words[1] == version) {
                sound = false;
                found_.damage.push_back(path("metadata1") + " and metadata2 have the same version: one is damaged");
            }
            if (words[1] <= version) continue;
            version = words[1];
            newest = name;
            found_.term = words[2];
            found_.vote = words[3];
        }
        if (found_.known && !found_.known->allows(found_.term, found_.vote)) {
            sound = false;
            found_.damage.push_back(
                (newest.empty() ? path("metadata1") + " is missing" : path(newest) + " is damaged") + ": it has term " +
                number(found_.term) + ", vote " + number(found_.vote) + "; this member has promised term " +
                number(found_.known->term) + ", vote " + number(found_.known->vote));
        }
        found_.metadata_is_sound = sound;
    }

    /// Finds the snapshot that C-Raft loads: the newest one whose two files exist and are not empty.
    void read_snapshot(const listing& files) {
        for (auto s = files.snapshots.rbegin(); s != files.snapshots.rend(); ++s) {
            const std::optional<std::string> meta = read_whole(path(s->name + ".meta"));
            std::error_code none;
            const std::uint64_t bytes = fs::file_size(path(s->name), none);
            if (!meta || none || bytes == 0) {
                found_.notes.push_back(path(s->name) + " is not a complete snapshot, and C-Raft ignores it");
                continue;
            }
            std::string why = error_of_meta(*meta);
            if (!why.empty()) why = path(s->name + ".meta") + why;
            else if (why = error_of_snapshot(*read_whole(path(s->name))); !why.empty()) why = path(s->name) + why;
            if (!found_.snapshot.empty()) {
                if (!why.empty()) found_.notes.push_back(why + ". It is not the newest, so a start does not read it");
                continue;
            }
            found_.snapshot = s->name;
            found_.snapshot_term = s->term;
            found_.snapshot_index = s->index;
            found_.snapshot_bytes = bytes;
            found_.snapshot_is_damaged = !why.empty();
            if (!why.empty()) found_.damage.push_back(why + ". It holds the entries up to " + number(s->index));
        }
    }

    std::string error_of_meta(const std::string& bytes) {
        constexpr std::size_t header = 32;
        if (bytes.size() < header) return " ends at byte " + number(bytes.size());
        std::uint64_t words[4];
        std::memcpy(words, bytes.data(), header);
        if (words[0] != 1) return " is damaged at byte 0";
        if (words[3] > bytes.size() - header) return " ends at byte " + number(bytes.size());
        const std::string_view configuration = std::string_view{bytes}.substr(header, words[3]);
        if (crc_of(configuration, crc_of(std::string_view{bytes}.substr(16, 16))) != words[1])
            return " is damaged: its checksum does not match";
        if (found_.snapshot.empty()) found_.voters = voters_of(configuration);
        return {};
    }

    static std::string error_of_snapshot(const std::string& bytes) {
        constexpr std::string_view compressed{"\x04\x22\x4d\x18", 4};  // LZ4; C-Raft checks its checksums
        if (bytes.starts_with(compressed) || state_machine::is_complete(bytes)) return {};
        return " is damaged: its checksum does not match";
    }

    /// Reads the entries that C-Raft would load, and numbers them as C-Raft would.
    void read_log(const listing& files) {
        std::vector<closed_name> closed = files.closed;
        const std::uint64_t after = found_.snapshot_index;
        if (after != 0 && !closed.empty()) closed = those_behind(after, std::move(closed), !files.open.empty());
        next_ = !closed.empty() && after != 0 ? closed.front().first : after + 1;
        found_.first = next_;
        for (const closed_name& c : closed) read_closed(c);
        for (const open_name& o : files.open) read_open(o);
        found_.last = next_ - 1;
        if (after != 0 && found_.first > after + 1) {
            found_.damage.push_back("between " + path(found_.snapshot) + " and " + path(closed.front().name) + " " +
                                    entries_to(after + 1, found_.first - 1) + " of the log are missing");
        }
    }

    std::vector<closed_name> those_behind(std::uint64_t after, std::vector<closed_name> closed, bool open_follow) {
        if (closed.back().last < after && !open_follow) return {};
        std::size_t begin = closed.size() - 1;
        while (begin > 0 && closed[begin - 1].last + 1 == closed[begin].first) --begin;
        // Only the segments after the last gap stay. The snapshot should contain all entries before these segments.
        // Otherwise `read_log` reports the entries between the snapshot and these segments as missing.
        closed.erase(closed.begin(), closed.begin() + static_cast<std::ptrdiff_t>(begin));
        return closed;
    }

    void read_closed(const closed_name& c) {
        if (!broken_ && c.first != next_) {
            damage("before " + path(c.name) +
                   (c.first > next_ ? " " + entries_to(next_, c.first - 1) + " of the log are missing"
                                    : " the log has entry " + number(c.first) + " already"));
        }
        const std::string bytes = *read_whole(path(c.name));
        const std::uint64_t from = next_;
        const segment s = read(c.name, bytes);
        // The name counts even if the content is damaged, because C-Raft had written the entries up to `last` when it
        // named the file.
        found_.max_acknowledged = std::max(found_.max_acknowledged, c.last);
        if (broken_) {
            passed_over(bytes, s);
            reach_ = std::max(reach_, c.last);
            return;
        }
        if (moved_at_.empty() && (s.entries != c.last - c.first + 1 || s.end != bytes.size())) {
            if (next_ > c.last + 1) go_back(from);  // it is unknown which of the segment's entries are extra
            if (s.end == 0) unreadable_ = 0;
            damage(path(c.name) + " is damaged at byte " + number(s.end) + ": entry " + number(next_) +
                       " of the log cannot be read",
                   s.later);
        }
        keep(c.name, bytes, s, from);
        if (broken_) reach_ = std::max(reach_, c.last);
    }

    void read_open(const open_name& o) {
        const std::string bytes = *read_whole(path(o.name));
        const std::uint64_t from = next_;
        const segment s = read(o.name, bytes);
        if (s.is_blank) return;
        if (!broken_ && !torn_at_.empty() && s.entries + s.later != 0) {
            // The apparent torn end of an earlier segment is damage, because this segment has entries after it.
            go_back(from);
            damage(torn_at_ + ": entry " + number(next_) + " of the log cannot be read");
            found_.torn.clear();
        }
        if (broken_) return passed_over(bytes, s);
        if (!s.is_clean && moved_at_.empty()) {
            const std::string where = path(o.name) + " is damaged at byte " + number(s.end);
            if (s.later != 0) {
                if (s.end == 0) unreadable_ = 0;
                damage(where + ": entry " + number(next_) + " of the log cannot be read", s.later);
            } else {
                found_.torn.push_back({path(o.name), s.entries == 0 ? 0 : s.end, bytes.size()});
                torn_at_ = where;
            }
        }
        keep(o.name, bytes, s, from);
    }

    /// Counts the intact entries, and compares each one with the digest that was written for it.
    segment read(const std::string& name, const std::string& bytes) {
        const bool counts = !broken_;
        std::size_t batch = 0;
        std::uint64_t batch_first = next_, before = 0;
        std::size_t run_at = 0;
        std::uint64_t run_first = 0;
        return read_segment(bytes, [&](const logged_entry& e) {
            if (!counts || !moved_at_.empty()) return;
            if (e.batch_at != batch) {
                batch = e.batch_at;
                batch_first = next_;
            }
            const std::uint64_t digest = entry_digest(next_, e.term, static_cast<unsigned>(e.type), e.bytes);
            const std::optional<std::uint64_t> written =
                promises_ ? promises_->digest_of(next_) : std::optional<std::uint64_t>{};
            // Only commands are compared with earlier entries, because the barriers of one term are identical.
            const bool compares = promises_ && next_ > promises_->promises.last && e.type == entry_type::command;
            const std::uint64_t equal = place_of_equal(e), like = compares ? equal : 0;
            const auto refuse = [&](const char* what, std::uint64_t first, std::size_t at) {
                moved_at_ = path(name) + " is damaged at byte " + number(at) + ": entry " + number(next_) +
                            " of the log " + what;
                moved_byte_ = at;
                go_back(first);
            };
            if (written && *written != digest)
                return refuse("differs from the entry that was written there", batch_first, batch);
            // An entry without a digest may equal an earlier one, because its program has repeated a request. But if
            // two consecutive entries equal two consecutive earlier ones, a piece of the log is repeated.
            if (before != 0 && like == before + 1)
                return refuse("and the one before it are repeated", run_first, run_at);
            before = like;
            run_at = batch;
            run_first = batch_first;
            found_.digests.push_back(digest);
            found_.bytes += e.bytes.size();
            if (e.type == entry_type::configuration) found_.voters = voters_of(e.bytes);
            ++next_;
        });
    }

    /// Returns the index of an earlier entry with the same term and bytes, or 0 if there is none.
    std::uint64_t place_of_equal(const logged_entry& e) {
        if (!promises_) return 0;
        const auto [at, is_new] =
            places_.try_emplace(entry_digest(0, e.term, static_cast<unsigned>(e.type), e.bytes), next_);
        return is_new ? 0 : at->second;
    }

    /// Sets the number of the next entry to `index`, and discards the digests of this entry and of all later entries.
    void go_back(std::uint64_t index) {
        next_ = index;
        found_.digests.resize(index - found_.first);
    }

    void keep(const std::string& name, const std::string& content, const segment& s, std::uint64_t from) {
        std::size_t bytes = s.end;
        if (!broken_ && !moved_at_.empty()) {
            damage(moved_at_, s.entries - (next_ - from) - 1 + s.later);
            bytes = moved_byte_;
            unreadable_ = 0;
            reach_ = next_ - 1;
        }
        if (broken_) count_unknown_entries(content, next_ > from ? bytes : 0);
        if (next_ > from) found_.pieces.push_back({name, bytes, from, next_ - 1});
    }

    /// Handles a segment after the damage.
    void passed_over(const std::string& content, const segment& s) {
        follow_ += s.entries + s.later;
        reach_ += s.entries + s.later;
        count_unknown_entries(content, 0);
    }

    /// Counts unknown entries. `from` is the offset of the first batch that is not kept.
    void count_unknown_entries(const std::string& content, std::size_t from) {
        const auto add = [&](const logged_entry& e) {
            if (e.batch_at >= from) unknown_->add(e);
        };
        static_cast<void>(read_segment(content, add, add));
        unknown_->end_segment();
    }

    void damage(std::string line, std::uint64_t later = 0) {
        broken_ = true;
        follow_ = later;
        reach_ = next_ - 1 + unreadable_ + later;
        unknown_.emplace(promises_ ? &*promises_ : nullptr);
        damaged_line_ = std::move(line);
    }

    void find_missing_entries() {
        const std::uint64_t known = found_.known ? found_.known->last : 0;
        const std::uint64_t has = std::max(found_.last, found_.snapshot_index);
        const std::string on_disk = "; the disk had the entries up to " + number(known);
        if (broken_) {
            // FLD4: `reach_` counts the entries of segments in their place without the ring. So `reach_` includes
            // entries that `unknown_` does not count because they equal known entries (UNK3).
            const std::uint64_t behind = std::max(known, found_.last + unreadable_) + unknown_->count();
            found_.max_acknowledged = std::max({found_.max_acknowledged, reach_, behind});
            found_.damage.push_back(damaged_line_ + "; " + number(follow_) + " whole entries follow" +
                                    (known > has ? on_disk : std::string{}));
            return;
        }
        if (has >= known) return;
        found_.damage.push_back((torn_at_.empty() ? "the log in " + names_.log() + " ends too early" : torn_at_) +
                                ": entry " + number(has + 1) + " of the log cannot be read; no whole entry follows" +
                                on_disk);
        found_.torn.clear();
    }

    const folder_names names_;
    const bool promised_;
    folder_contents found_;
    std::optional<durable_contents> promises_;
    std::uint64_t next_ = 1;
    bool broken_ = false;
    std::uint64_t follow_ = 0;      // intact entries after the damage
    std::uint64_t reach_ = 0;       // lower bound of the last entry in segments in their place
    std::uint64_t unreadable_ = 1;  // minimum number of entries that the damage makes unreadable; 0 if the segment's
                                    // first bytes are damaged, or an entry is in the wrong place
    std::optional<unknown_entries> unknown_;
    std::string damaged_line_;
    std::string torn_at_;
    std::string moved_at_;  // the message about an entry in the wrong place; empty: there is none
    std::size_t moved_byte_ = 0;
    std::unordered_map<std::uint64_t, std::uint64_t> places_;
};

}  // namespace

folder_contents read_folder(const std::string& folder, bool promised) { return folder_reader{folder, promised}.all(); }

void cut_torn_ends(const folder_contents& of) {
    for (const torn_end& t : of.torn) {
        bool good = false;
        if (t.keep == 0) {
            good = ::unlink(t.file.c_str()) == 0;
        } else {
            const int file = ::open(t.file.c_str(), O_WRONLY | O_CLOEXEC);
            good = file >= 0 && ::ftruncate(file, static_cast<::off_t>(t.keep)) == 0 && ::fsync(file) == 0;
            const int error = errno;
            if (file >= 0) ::close(file);
            errno = error;
        }
        if (!good) throw backend::engine_error{t.file + " cannot be cut: " + std::generic_category().message(errno)};
        sync_folder_of(t.file);
    }
}

}  // namespace tutti::cluster::replica

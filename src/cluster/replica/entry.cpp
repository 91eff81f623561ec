#include "cluster/replica/entry.hpp"

#include <utility>

#include "cluster/replica/sealed.hpp"

namespace tutti::cluster::replica {
namespace {

enum class kind : std::uint8_t { filler, commit, forget };
[[nodiscard]] constexpr kind last(kind) noexcept { return kind::forget; }

constexpr std::string_view name = "GE";
constexpr std::uint8_t format = 1;

std::uint32_t count_of(std::size_t n) noexcept { return static_cast<std::uint32_t>(n); }

}  // namespace

entry::entry() : all_{begin_sealed(name, format)} {}

void entry::add_commit(std::span<const backend::check> checks, std::span<const backend::write> writes) {
    wire::writer out{all_};
    out(kind::commit);
    out(count_of(checks.size()));
    for (const backend::check& c : checks) out(check_view{c.of, c.at});
    out(count_of(writes.size()));
    for (const backend::write& w : writes) out(write_view{w.of, w.exists, w.bytes});
    ++operations_;
}

void entry::add_forget(std::span<const key> keys) {
    wire::writer out{all_};
    out(kind::forget);
    out(count_of(keys.size()));
    for (const key& k : keys) out(k);
    ++operations_;
}

std::string entry::finish() {
    // libuv's raft_io takes for granted that entries are whole words: of others it stores a part, with a checksum that
    // says that they are damaged.
    while ((all_.size() + seal_bytes) % sizeof(std::uint64_t) != 0) wire::writer{all_}(kind::filler);
    seal(all_);
    operations_ = 0;
    return std::exchange(all_, begin_sealed(name, format));
}

bool read_entry(std::string_view bytes, std::vector<operation>& all, std::string& why) {
    all.clear();
    const auto refuse = [&](const char* what) {
        all.clear();
        why = what;
        return false;
    };
    std::string_view content;
    switch (open_sealed(bytes, name, format, content)) {
        case sealed::sound: break;
        case sealed::no_such_thing: return refuse("these bytes are no entry of a group's log");
        case sealed::other_release:
            return refuse("an entry of the log is of another release: have all members run the same one");
        case sealed::damaged: return refuse("an entry of the log was damaged: its checksum is another");
    }
    wire::reader in{content};
    while (in.has_more()) {
        kind what{};
        in(what);
        if (what == kind::filler) continue;
        operation& o = all.emplace_back();
        o.forgets = what == kind::forget;
        if (o.forgets) {
            in(o.forgotten);
        } else {
            in(o.checks);
            in(o.writes);
        }
    }
    if (!in.sound()) return refuse("an entry of the log says less than it begins to say");
    return true;
}

}  // namespace tutti::cluster::replica

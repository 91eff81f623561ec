#include "cluster/replica/entry.hpp"

#include <utility>

#include "cluster/replica/sealed.hpp"

namespace tutti::cluster::replica {
namespace {

constexpr std::string_view name = "GE";
constexpr std::uint8_t format = 4, oldest_format = 1, first_with_absence = 4;

std::uint32_t count_of(std::size_t n) noexcept { return static_cast<std::uint32_t>(n); }

}  // namespace

entry::entry() : all_{begin_sealed(name, format)} {}

void entry::add_commit(std::span<const backend::check> checks, std::span<const backend::write> writes) {
    wire::writer{all_}(kind::commit);
    add(checks, writes);
}

void entry::add_prepare(const backend::holder& who, std::span<const backend::check> checks,
                        std::span<const backend::write> writes) {
    wire::writer out{all_};
    out(kind::prepare);
    out(who.id);
    out(who.decides);
    add(checks, writes);
}

void entry::add_finish(std::string_view id, bool commits) {
    wire::writer out{all_};
    out(kind::finish);
    out(id);
    out(commits);
    ++operations_;
}

void entry::add_adopt(std::span<const backend::check> checks, std::span<const backend::change> records,
                      version absence) {
    wire::writer out{all_};
    out(kind::adopt);
    add(checks);
    out(count_of(records.size()));
    for (const backend::change& c : records) out(record_view{c.of, c.is.at, c.is.exists, c.is.bytes});
    out(absence);
    ++operations_;
}

void entry::add(std::span<const backend::check> checks) {
    wire::writer out{all_};
    out(count_of(checks.size()));
    for (const backend::check& c : checks) out(check_view{c.of, c.at});
}

void entry::add(std::span<const backend::check> checks, std::span<const backend::write> writes) {
    wire::writer out{all_};
    add(checks);
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
    // libuv's raft_io assumes that entries consist of whole words. Of any other entry, raft_io stores only a part,
    // whose checksum then reports damage.
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
    std::uint8_t of = 0;
    switch (open_sealed(bytes, name, oldest_format, format, content, of)) {
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
        o.is = what;
        if (what == kind::forget) in(o.forgotten);
        if (what == kind::prepare || what == kind::finish) in(o.id);
        if (what == kind::prepare) in(o.decides);
        if (what == kind::finish) in(o.commits);
        if (what == kind::commit || what == kind::prepare || what == kind::adopt) in(o.checks);
        if (what == kind::commit || what == kind::prepare) in(o.writes);
        if (what == kind::adopt) in(o.adopted);
        if (what == kind::adopt && of >= first_with_absence) in(o.absence);
    }
    if (!in.sound()) return refuse("an entry of the log says less than it begins to say");
    return true;
}

std::uint8_t format_of(std::string_view entry) noexcept { return static_cast<std::uint8_t>(entry[name.size()]); }

}  // namespace tutti::cluster::replica

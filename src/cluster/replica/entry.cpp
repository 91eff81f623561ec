#include "cluster/replica/entry.hpp"

#include <utility>

#include "cluster/replica/checksummed.hpp"

namespace tutti::cluster::replica {
namespace {

constexpr std::string_view name = "GE";
constexpr std::uint8_t format = 4, oldest_format = 1, first_with_absence = 4;

std::uint32_t count_of(std::size_t n) noexcept { return static_cast<std::uint32_t>(n); }

}  // namespace

log_entry_builder::log_entry_builder() : all_{begin_checksummed(name, format)} {}

void log_entry_builder::add_commit(std::span<const backend::check> checks, std::span<const backend::write> writes) {
    wire::writer{all_}(operation_kind::commit);
    add(checks, writes);
}

void log_entry_builder::add_prepare(const backend::blocking_transaction& who, std::span<const backend::check> checks,
                                    std::span<const backend::write> writes) {
    wire::writer out{all_};
    out(operation_kind::prepare);
    out(who.id);
    out(who.deciding_group);
    add(checks, writes);
}

void log_entry_builder::add_finish(std::string_view id, bool commits) {
    wire::writer out{all_};
    out(operation_kind::finish);
    out(id);
    out(commits);
    ++operations_;
}

void log_entry_builder::add_import(std::span<const backend::check> checks, std::span<const backend::change> records,
                                   version absence) {
    wire::writer out{all_};
    out(operation_kind::import_records);
    add(checks);
    out(count_of(records.size()));
    for (const backend::change& c : records) out(record_view{c.of, c.value.at, c.value.exists, c.value.bytes});
    out(absence);
    ++operations_;
}

void log_entry_builder::add(std::span<const backend::check> checks) {
    wire::writer out{all_};
    out(count_of(checks.size()));
    for (const backend::check& c : checks) out(check_view{c.of, c.at});
}

void log_entry_builder::add(std::span<const backend::check> checks, std::span<const backend::write> writes) {
    wire::writer out{all_};
    add(checks);
    out(count_of(writes.size()));
    for (const backend::write& w : writes) out(write_view{w.of, w.exists, w.bytes});
    ++operations_;
}

void log_entry_builder::add_forget(std::span<const key> keys) {
    wire::writer out{all_};
    out(operation_kind::forget);
    out(count_of(keys.size()));
    for (const key& k : keys) out(k);
    ++operations_;
}

std::string log_entry_builder::finish() {
    // libuv's raft_io assumes that entries consist of whole words. raft_io stores other entries only in part, which the
    // checksum then reports as damage.
    while ((all_.size() + checksum_bytes) % sizeof(std::uint64_t) != 0) wire::writer{all_}(operation_kind::filler);
    finish_checksummed(all_);
    operations_ = 0;
    return std::exchange(all_, begin_checksummed(name, format));
}

bool read_log_entry(std::string_view bytes, std::vector<operation>& all, std::string& why) {
    all.clear();
    const auto refuse = [&](const char* what) {
        all.clear();
        why = what;
        return false;
    };
    std::string_view content;
    std::uint8_t of = 0;
    switch (read_checksummed(bytes, name, oldest_format, format, content, of)) {
        case checksum_result::valid: break;
        case checksum_result::other_content: return refuse("the bytes are not an entry of a group's log");
        case checksum_result::unsupported_format:
            return refuse("an entry of the log has the format of another release: run one release on all members");
        case checksum_result::damaged: return refuse("an entry of the log is damaged: its checksum does not match");
    }
    wire::reader in{content};
    while (in.has_more()) {
        operation_kind what{};
        in(what);
        if (what == operation_kind::filler) continue;
        operation& o = all.emplace_back();
        o.is = what;
        if (what == operation_kind::forget) in(o.forgotten);
        if (what == operation_kind::prepare || what == operation_kind::finish) in(o.id);
        if (what == operation_kind::prepare) in(o.deciding_group);
        if (what == operation_kind::finish) in(o.commits);
        if (what == operation_kind::commit || what == operation_kind::prepare || what == operation_kind::import_records)
            in(o.checks);
        if (what == operation_kind::commit || what == operation_kind::prepare) in(o.writes);
        if (what == operation_kind::import_records) in(o.imported);
        if (what == operation_kind::import_records && of >= first_with_absence) in(o.absence);
    }
    if (!in.is_valid()) return refuse("an entry of the log is incomplete");
    return true;
}

std::uint8_t format_of(std::string_view entry) noexcept { return static_cast<std::uint8_t>(entry[name.size()]); }

}  // namespace tutti::cluster::replica

#include "cluster/replica/entry.hpp"

namespace tutti::cluster::replica {
namespace {

enum class kind : std::uint8_t { filler = 0, commit = 1, forget = 2 };

constexpr std::string_view begins = "GE";
constexpr std::uint8_t format = 1;
constexpr std::size_t header_bytes = 3, checksum_bytes = 8;

void begin(writer& out) {
    for (const char c : begins) out.number8(static_cast<std::uint8_t>(c));
    out.number8(format);
}

operation read_commit(reader& in) {
    operation o;
    o.checks.resize(in.count(4 + 8));
    for (check_view& c : o.checks) {
        c.of = in.text();
        c.at = in.number64();
    }
    o.writes.resize(in.count(4 + 1 + 4));
    for (write_view& w : o.writes) {
        w.of = in.text();
        const std::uint8_t exists = in.number8();
        if (exists > 1) in.fail();
        w.exists = exists == 1;
        w.bytes = in.text();
    }
    return o;
}

operation read_forget(reader& in) {
    operation o{.forgets = true, .checks = {}, .writes = {}};
    o.writes.resize(in.count(4));
    for (write_view& w : o.writes) w.of = in.text();
    return o;
}

}  // namespace

entry::entry() { begin(out_); }

void entry::add_commit(std::span<const backend::check> checks, std::span<const backend::write> writes) {
    out_.number8(static_cast<std::uint8_t>(kind::commit));
    out_.number32(static_cast<std::uint32_t>(checks.size()));
    for (const backend::check& c : checks) {
        out_.text(c.of);
        out_.number64(c.at);
    }
    out_.number32(static_cast<std::uint32_t>(writes.size()));
    for (const backend::write& w : writes) {
        out_.text(w.of);
        out_.number8(w.exists ? 1 : 0);
        out_.text(w.bytes);
    }
    ++operations_;
}

void entry::add_forget(std::span<const key> keys) {
    out_.number8(static_cast<std::uint8_t>(kind::forget));
    out_.number32(static_cast<std::uint32_t>(keys.size()));
    for (const key& k : keys) out_.text(k);
    ++operations_;
}

std::string entry::finish() {
    // libuv's raft_io takes for granted that entries are whole words: of others it stores a part, with a checksum that
    // says that they are damaged.
    while ((out_.size() + checksum_bytes) % sizeof(std::uint64_t) != 0)
        out_.number8(static_cast<std::uint8_t>(kind::filler));
    out_.number64(checksum(out_.written()));
    std::string bytes = out_.take();
    out_ = {};
    begin(out_);
    operations_ = 0;
    return bytes;
}

bool read_entry(std::string_view bytes, std::vector<operation>& all, std::string& why) {
    all.clear();
    const auto refuse = [&](const char* what) {
        all.clear();
        why = what;
        return false;
    };
    if (bytes.size() < header_bytes + checksum_bytes || !bytes.starts_with(begins))
        return refuse("these bytes are no entry of a group's log");
    if (static_cast<std::uint8_t>(bytes[begins.size()]) != format)
        return refuse("an entry of the log is of another release: have all members run the same one");
    const std::string_view summed = bytes.substr(0, bytes.size() - checksum_bytes);
    if (reader{bytes.substr(summed.size())}.number64() != checksum(summed))
        return refuse("an entry of the log was damaged: its checksum is another");
    reader in{summed.substr(header_bytes)};
    while (in.left() != 0) {
        switch (static_cast<kind>(in.number8())) {
            case kind::filler: break;
            case kind::commit: all.push_back(read_commit(in)); break;
            case kind::forget: all.push_back(read_forget(in)); break;
            default: in.fail();
        }
    }
    if (!in.good()) return refuse("an entry of the log says less than it begins to say");
    return true;
}

}  // namespace tutti::cluster::replica

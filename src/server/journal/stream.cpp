#include "server/journal/stream.hpp"

#include <charconv>

#include "server/journal/byte_encoding.hpp"
#include "server/journal/checksum.hpp"
#include "tutti/server/codec.hpp"

namespace tutti::server::journal {
namespace {

void put_leader_epochs(std::string& to, const std::vector<leader_epoch>& all) {
    put(to, static_cast<std::uint32_t>(all.size()));
    for (const leader_epoch& b : all) {
        put(to, b.term);
        put(to, b.id);
        put(to, b.first);
    }
}
leader_epoch read_leader_epoch(std::string_view& from) {
    leader_epoch b;
    b.term = read_number<std::uint64_t>(from);
    b.id = read_number<std::uint64_t>(from);
    b.first = read_number<std::uint64_t>(from);
    return b;
}
std::vector<leader_epoch> read_leader_epochs(std::string_view& from) {
    std::vector<leader_epoch> all;
    for (auto left = read_number<std::uint32_t>(from); left != 0; --left) all.push_back(read_leader_epoch(from));
    return all;
}

void put_answers(std::string& to, const std::vector<stored_reply>& all) {
    put(to, static_cast<std::uint32_t>(all.size()));
    for (const stored_reply& a : all) {
        put(to, std::string_view{a.key});
        put(to, a.call);
        put(to, std::string_view{a.answer});
        put(to, a.at);
    }
}
std::vector<stored_reply> read_answers(std::string_view& from) {
    std::vector<stored_reply> all;
    for (auto left = read_number<std::uint32_t>(from); left != 0; --left) {
        stored_reply a;
        a.key = read_word(from);
        a.call = read_number<std::uint64_t>(from);
        a.answer = read_word(from);
        a.at = read_number<std::int64_t>(from);
        all.push_back(std::move(a));
    }
    return all;
}

void need_end(std::string_view bytes) {
    if (!bytes.empty()) throw std::runtime_error{"the leader's answer has extra bytes at its end"};
}

}  // namespace

std::string text_of(const std::vector<leader_epoch>& all) {
    std::string text;
    for (const leader_epoch& b : all) {
        if (!text.empty()) text += ',';
        text += std::to_string(b.term) + ':' + std::to_string(b.id) + ':' + std::to_string(b.first);
    }
    return text;
}

std::vector<leader_epoch> leader_epochs_in(std::string_view text) {
    std::vector<leader_epoch> all;
    const char* at = text.data();
    const char* const end = at + text.size();
    const auto take = [&](char behind) {
        std::uint64_t n = 0;
        const auto [next, error] = std::from_chars(at, end, n);
        const bool is_last = behind == ',' && next == end;
        if (error != std::errc{} || (!is_last && (next == end || *next != behind)))
            throw bad_argument{"leader epochs are given as TERM:ID:FIRST,..."};
        at = is_last ? next : next + 1;
        return n;
    };
    while (at != end) {
        leader_epoch b;
        b.term = take(':');
        b.id = take(':');
        b.first = take(',');
        all.push_back(b);
    }
    return all;
}

std::string seal(std::string_view bytes) {
    std::string all;
    all.reserve(bytes.size() + sizeof(std::uint64_t));
    put(all, checksum(bytes));
    return all.append(bytes);
}

std::string_view unseal(std::string_view bytes) {
    const auto sum = read_number<std::uint64_t>(bytes);
    if (checksum(bytes) != sum)
        throw std::runtime_error{"the leader's answer was damaged on the way: its checksum differs"};
    return bytes;
}

std::string encode(const log_chunk& p) {
    std::string to;
    put_leader_epochs(to, {p.epoch});
    put(to, p.upto);
    put(to, p.behind);
    put_leader_epochs(to, p.epochs);
    put(to, static_cast<std::uint32_t>(p.groups.size()));
    for (const group& g : p.groups) {
        put(to, g.first);
        put(to, g.last);
        put(to, std::string_view{g.records});
        put_answers(to, g.answers);
    }
    return seal(to);
}

log_chunk decode_chunk(std::string_view bytes) {
    bytes = unseal(bytes);
    log_chunk p;
    const std::vector<leader_epoch> now = read_leader_epochs(bytes);
    if (now.size() != 1) throw std::runtime_error{"the leader's answer does not name the leader epoch"};
    p.epoch = now.front();
    p.upto = read_number<std::uint64_t>(bytes);
    p.behind = read_number<std::uint64_t>(bytes);
    p.epochs = read_leader_epochs(bytes);
    for (auto left = read_number<std::uint32_t>(bytes); left != 0; --left) {
        group g;
        g.first = read_number<std::uint64_t>(bytes);
        g.last = read_number<std::uint64_t>(bytes);
        g.records = read_word(bytes);
        g.answers = read_answers(bytes);
        p.groups.push_back(std::move(g));
    }
    need_end(bytes);
    return p;
}

std::string encode(const initial_copy& c) {
    std::string to;
    put(to, c.position);
    put(to, c.parts);
    put_leader_epochs(to, c.epochs);
    put_answers(to, c.answers);
    return seal(to);
}

initial_copy decode_copy(std::string_view bytes) {
    bytes = unseal(bytes);
    initial_copy c;
    c.position = read_number<std::uint64_t>(bytes);
    c.parts = read_number<std::uint64_t>(bytes);
    c.epochs = read_leader_epochs(bytes);
    c.answers = read_answers(bytes);
    need_end(bytes);
    return c;
}

}  // namespace tutti::server::journal

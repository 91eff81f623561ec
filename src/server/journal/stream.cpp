#include "server/journal/stream.hpp"

#include <charconv>

#include "server/journal/bytes.hpp"
#include "server/journal/checksum.hpp"
#include "tutti/server/codec.hpp"

namespace tutti::server::journal {
namespace {

void put_branches(std::string& to, const std::vector<branch>& all) {
    put(to, static_cast<std::uint32_t>(all.size()));
    for (const branch& b : all) {
        put(to, b.term);
        put(to, b.id);
        put(to, b.first);
    }
}
branch take_branch(std::string_view& from) {
    branch b;
    b.term = take<std::uint64_t>(from);
    b.id = take<std::uint64_t>(from);
    b.first = take<std::uint64_t>(from);
    return b;
}
std::vector<branch> take_branches(std::string_view& from) {
    std::vector<branch> all;
    for (auto left = take<std::uint32_t>(from); left != 0; --left) all.push_back(take_branch(from));
    return all;
}

void put_answers(std::string& to, const std::vector<kept_answer>& all) {
    put(to, static_cast<std::uint32_t>(all.size()));
    for (const kept_answer& a : all) {
        put(to, std::string_view{a.key});
        put(to, a.call);
        put(to, std::string_view{a.answer});
        put(to, a.at);
    }
}
std::vector<kept_answer> take_answers(std::string_view& from) {
    std::vector<kept_answer> all;
    for (auto left = take<std::uint32_t>(from); left != 0; --left) {
        kept_answer a;
        a.key = take_word(from);
        a.call = take<std::uint64_t>(from);
        a.answer = take_word(from);
        a.at = take<std::int64_t>(from);
        all.push_back(std::move(a));
    }
    return all;
}

void need_end(std::string_view bytes) {
    if (!bytes.empty()) throw std::runtime_error{"what the leader sent has too much at its end"};
}

}  // namespace

std::string text_of(const std::vector<branch>& all) {
    std::string text;
    for (const branch& b : all) {
        if (!text.empty()) text += ',';
        text += std::to_string(b.term) + ':' + std::to_string(b.id) + ':' + std::to_string(b.first);
    }
    return text;
}

std::vector<branch> branches_in(std::string_view text) {
    std::vector<branch> all;
    const char* at = text.data();
    const char* const end = at + text.size();
    const auto take = [&](char behind) {
        std::uint64_t n = 0;
        const auto [next, error] = std::from_chars(at, end, n);
        const bool is_last = behind == ',' && next == end;
        if (error != std::errc{} || (!is_last && (next == end || *next != behind)))
            throw bad_argument{"branches are given as TERM:ID:FIRST,..."};
        at = is_last ? next : next + 1;
        return n;
    };
    while (at != end) {
        branch b;
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
    const auto sum = take<std::uint64_t>(bytes);
    if (checksum(bytes) != sum) throw std::runtime_error{"what the leader sent was damaged on its way"};
    return bytes;
}

std::string encode(const piece& p) {
    std::string to;
    put_branches(to, {p.now});
    put(to, p.upto);
    put(to, p.behind);
    put_branches(to, p.branches);
    put(to, static_cast<std::uint32_t>(p.groups.size()));
    for (const group& g : p.groups) {
        put(to, g.first);
        put(to, g.last);
        put(to, std::string_view{g.records});
        put_answers(to, g.answers);
    }
    return seal(to);
}

piece decode_piece(std::string_view bytes) {
    bytes = unseal(bytes);
    piece p;
    const std::vector<branch> now = take_branches(bytes);
    if (now.size() != 1) throw std::runtime_error{"what the leader sent says not which branch it writes"};
    p.now = now.front();
    p.upto = take<std::uint64_t>(bytes);
    p.behind = take<std::uint64_t>(bytes);
    p.branches = take_branches(bytes);
    for (auto left = take<std::uint32_t>(bytes); left != 0; --left) {
        group g;
        g.first = take<std::uint64_t>(bytes);
        g.last = take<std::uint64_t>(bytes);
        g.records = take_word(bytes);
        g.answers = take_answers(bytes);
        p.groups.push_back(std::move(g));
    }
    need_end(bytes);
    return p;
}

std::string encode(const copied& c) {
    std::string to;
    put(to, c.position);
    put(to, c.parts);
    put_branches(to, c.branches);
    put_answers(to, c.answers);
    return seal(to);
}

copied decode_copy(std::string_view bytes) {
    bytes = unseal(bytes);
    copied c;
    c.position = take<std::uint64_t>(bytes);
    c.parts = take<std::uint64_t>(bytes);
    c.branches = take_branches(bytes);
    c.answers = take_answers(bytes);
    need_end(bytes);
    return c;
}

}  // namespace tutti::server::journal

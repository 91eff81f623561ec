// The procedures of the stress test: they record the sessions, and their numbers of calls.
#include <bit>
#include <memory>
#include <stdexcept>

#include <tutti/counter.hpp>
#include <tutti/server/procedure.hpp>
#include <tutti/tutti.hpp>

#include "server/stress/limits.hpp"

namespace {

using namespace tutti::stress;

/// The page of a client, in which its current session writes. Late calls of an earlier, killed session may still
/// arrive.
struct page {
    tutti::var<long> session{0};
    tutti::var<std::uint64_t> seen[requests_of_session / 64];
};

struct book {
    page pages[most_clients];
    tutti::counter signatures;
    tutti::counter late;  // calls of sessions that are over
    tutti::var<long> twice{0};

    page& at(std::size_t client) {
        if (client >= most_clients) throw std::out_of_range{"no such client"};
        return pages[client];
    }
};

}  // namespace

TUTTI_PROCEDURES(server) {
    const auto b = std::make_shared<book>();
    server.add("begin", {.priority = 31}, [b](std::size_t client, long session) {
        tutti::atomically([&](tutti::tx& t) {
            page& p = b->at(client);
            p.session.set(t, session);
            for (auto& s : p.seen) s.set(t, 0);
        });
    });
    server.add("sign", {}, [b](std::size_t client, long session, std::size_t number, long work) {
        tutti::atomically({.name = "sign"}, [&](tutti::tx& t) {
            page& p = b->at(client);
            for (volatile long i = 0; i < work;) i = i + 1;
            if (p.session.get(t) != session) return b->late.add(t, 1);
            auto& word = p.seen[number / 64 % (requests_of_session / 64)];
            const std::uint64_t bit = std::uint64_t{1} << number % 64;
            if ((word.get(t) & bit) != 0) b->twice.set(t, b->twice.get(t) + 1);
            word.set(t, word.get(t) | bit);
            b->signatures.add(t, 1);
        });
        return number;
    });
    server.add("large", {}, [](std::size_t bytes) { return std::string(bytes, 'x'); });
    server.add("signed", {.priority = 31}, [b](std::size_t client) {
        return tutti::atomically({.read_only = true}, [&](tutti::tx& t) {
            long all = 0;
            for (auto& s : b->at(client).seen) all += std::popcount(s.get(t));
            return all;
        });
    });
    server.add("twice", {.priority = 31}, [b] { return b->twice.load(); });
    server.add("all", {.priority = 31}, [b] { return b->signatures.load() + b->late.load(); });
    server.at_end([b] {
        if (b->twice.load() != 0) throw std::runtime_error{"a request was done twice"};
    });
}

// The procedures that the tests of `tutti serve --cluster` load: accounts that are objects, and a count local to this
// server.
#include <stdexcept>
#include <string>

#include <tutti/cluster/ref.hpp>
#include <tutti/server/procedure.hpp>
#include <tutti/tutti.hpp>

namespace {

using tutti::cluster::node;
using tutti::cluster::object_id;
using tutti::cluster::ref;

struct account {
    long balance = 0;
};

object_id id_of(long which) { return {1, static_cast<std::uint64_t>(which)}; }
ref<account> at(const node& n, long which) { return {n, id_of(which)}; }

tutti::var<long> moved{0};

}  // namespace

TUTTI_PROCEDURES(server) {
    node& n = server.cluster();
    server.add("open", {}, [&n](long which, long balance) {
        tutti::atomically([&](tutti::tx& t) { at(n, which).publish(t, {balance}); });
    });
    server.add("balance", {.priority = 4}, [&n](long which) {
        return tutti::atomically({.read_only = true}, [&](tutti::tx& t) { return at(n, which).read(t).balance; });
    });
    server.add("transfer", {.priority = 5}, [&n](long from, long to, long amount) {
        tutti::atomically([&](tutti::tx& t) {
            tutti::cluster::prefetch(t, at(n, from), at(n, to));
            account& source = at(n, from).write(t);
            if (source.balance < amount) tutti::cancel(t);
            source.balance -= amount;
            at(n, to).write(t).balance += amount;
            moved.set(t, moved.get(t) + 1);
        });
    });
    server.add("total", {}, [&n](long accounts) {
        return tutti::atomically({.read_only = true}, [&](tutti::tx& t) {
            long sum = 0;
            for (long i = 0; i < accounts; ++i) sum += at(n, i).read(t).balance;
            return sum;
        });
    });
    server.add("await", {}, [&n](long which, long balance) {
        return tutti::atomically([&](tutti::tx& t) {
            const long now = at(n, which).read(t).balance;
            if (now < balance) tutti::retry(t);
            return now;
        });
    });
    // The same procedures, with the object that they are about.
    const auto about = [](long which) { return id_of(which); };
    server.add("where", {}, [&n](long) { return n.number(); }, about);
    server.add(
        "pay", {.priority = 5},
        [&n](long from, long to, long amount) {
            tutti::atomically([&](tutti::tx& t) {
                tutti::cluster::prefetch(t, at(n, from), at(n, to));
                at(n, from).write(t).balance -= amount;
                at(n, to).write(t).balance += amount;
                moved.set(t, moved.get(t) + 1);
            });
        },
        about);
    server.add(
        "put", {},
        [&n](long which, long amount) {
            return tutti::atomically([&](tutti::tx& t) { return at(n, which).write(t).balance += amount; });
        },
        about);
    server.add(
        "await_there", {},
        [&n](long which, long balance) {
            return tutti::atomically([&](tutti::tx& t) {
                const long now = at(n, which).read(t).balance;
                if (now < balance) tutti::retry(t);
                return now;
            });
        },
        about);
    server.add("fail", {}, [](long) { throw std::runtime_error{"as it should"}; }, about);
    server.add("long", {}, [](long, long bytes) { return std::string(static_cast<std::size_t>(bytes), 'x'); }, about);
    server.add("yes", {}, [](long) { return true; }, about);
    server.add("hurry", {.refuse_late = true}, [&n](long) { return n.number(); }, about);
    server.add("urgency", {.priority = 2}, [](const tutti::server::call& c, long) { return c.priority; }, about);
    server.add("moved", {.priority = 9}, [] { return moved.load(); });
    server.add("number", {}, [&n] { return n.number(); });
}

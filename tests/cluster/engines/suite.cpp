#include "cluster/engines/suite.hpp"

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <fstream>
#include <latch>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/backend/address.hpp"
#include "cluster/backend/exactly_once.hpp"
#include "cluster/backend/fault.hpp"
#include "cluster/engines/journal.hpp"
#include "cluster/engines/wrapped.hpp"
#include "support/random.hpp"

namespace tutti::cluster::testing {
namespace {

/// Whether that thread has been asleep for some milliseconds.
bool sleeps(pid_t thread) {
    for (int look = 0; look < 5; ++look) {
        std::ifstream file{"/proc/self/task/" + std::to_string(thread) + "/stat"};
        std::string text;
        std::getline(file, text);
        const std::size_t name_ends = text.rfind(')');  // the name may hold anything
        if (name_ends == std::string::npos || text.compare(name_ends + 2, 1, "S") != 0) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return true;
}

std::string fresh_prefix() {
    static std::atomic<unsigned> count{0};
    return "t" + std::to_string(count.fetch_add(1));
}

/// An engine whose answers to commits are lost: what it was asked happened, or did not, or happens a while later.
class forgetful final : public wrapped {
public:
    forgetful(std::unique_ptr<engine> of, std::uint64_t seed) : wrapped{std::move(of)}, dice_{seed} {}
    void commit(backend::request& r) override {
        // Before the one that voids it, or long after its owner was told that it never happens.
        if (dice_.one_in(2)) deliver();
        const std::uint64_t what = dice_.below(6);
        if (what == 1) {
            late_.push_back({{r.checks.begin(), r.checks.end()}, {r.writes.begin(), r.writes.end()}});
        } else if (what != 2) {
            wrapped::commit(r);
        }
        if (what <= 2) r.said = backend::verdict::unknown;
    }

private:
    struct kept {
        std::vector<backend::check> checks;
        std::vector<backend::write> writes;
    };
    void deliver() {
        for (const kept& k : late_) {
            backend::request r;
            r.checks = k.checks;
            r.writes = k.writes;
            wrapped::commit(r);
        }
        late_.clear();
    }

    support::random dice_;
    std::vector<kept> late_;
};

/// Remembers which marks were written, and has an answer lost if told.
class noting final : public wrapped {
public:
    using wrapped::wrapped;
    void commit(backend::request& r) override {
        for (const backend::write& w : r.writes) {
            if (w.of.starts_with("m")) mark = w.of;
        }
        if (!std::exchange(lose_next, false)) return wrapped::commit(r);
        r.said = backend::verdict::unknown;  // and it may come later
    }
    backend::key mark;
    bool lose_next = false;
};

}  // namespace

engine_options under_test::options(std::chrono::milliseconds patience) const {
    engine_options how;
    how.address = address;
    how.prefix = fresh_prefix();
    how.patience = patience;
    return how;
}

std::string history_is_clean(const under_test& e, std::size_t rounds) {
    constexpr std::uint64_t objects = 5;
    constexpr unsigned threads = 4;
    const engine_options how = e.options();
    node nodes[2]{node{how}, node{how}};
    for (std::uint64_t i = 0; i < objects; ++i) {
        const ref<tagged> one{nodes[0], {0, i}};
        atomically([&](tx& t) { one.publish(t, {0}); });
    }
    journal all{rounds * threads * 60 + 1000};
    std::vector<std::thread> clients;
    std::mutex guard;
    std::string wrong;
    for (unsigned c = 0; c < threads; ++c) {
        clients.emplace_back([&, c] {
            support::random dice{c + 1};
            node& mine = nodes[c % 2];
            try {
                for (std::size_t i = 0; i < rounds; ++i) {
                    const std::uint64_t plan = dice.below(~std::uint64_t{0});
                    std::uint64_t tag = 0;
                    atomically([&](tx& t) {
                        support::random steps{plan};
                        tag = all.begin(c);
                        const std::uint64_t count = 2 + steps.below(2);
                        const bool reads_only = steps.one_in(3);
                        std::uint64_t at = steps.below(objects);
                        if (steps.one_in(2)) {
                            prefetch(t, ref<tagged>{mine, {0, at}}, ref<tagged>{mine, {0, (at + 1) % objects}},
                                     ref<tagged>{mine, {0, (at + 2) % objects}});
                        }
                        for (std::uint64_t k = 0; k < count; ++k) {
                            const ref<tagged> one{mine, {0, at}};
                            // What it has written itself tells nothing of others.
                            if (const std::uint64_t seen = one.read(t).tag; seen != tag)
                                all.of(tag).reads.emplace_back(at, seen);
                            if (!reads_only && k == 0) {
                                one.write(t).tag = tag;
                                all.of(tag).writes.push_back(at);
                            }
                            at = (at + 1 + steps.below(objects - 1)) % objects;
                        }
                    });
                    all.of(tag).committed = true;
                }
            } catch (const std::exception& x) {
                const std::lock_guard hold{guard};
                wrong = x.what();
            }
        });
    }
    for (std::thread& c : clients) c.join();
    return wrong.empty() ? all.judge() : wrong;
}

std::string variables_agree(const under_test& e, std::size_t rounds) {
    const engine_options how = e.options();
    node here{how}, there{how};
    var<std::uint64_t> x{0};
    const ref<tagged> y{here, "y"}, z{here, "z"}, y_there{there, "y"}, z_there{there, "z"};
    atomically([&](tx& t) {
        y.publish(t, {0});
        z.publish(t, {0});
    });
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i) {
        readers.emplace_back([&, i] {
            while (!stop.load()) {
                atomically([&](tx& t) {
                    std::uint64_t a = 0, b = 0, c = 0;
                    if (i == 0) {
                        a = x.get(t);
                        b = y.read(t).tag;
                        c = z.read(t).tag;
                    } else {
                        c = z.read(t).tag;
                        b = y.read(t).tag;
                        a = x.get(t);
                    }
                    if (a != b || c > b) ++wrong;  // seen by the body, also of an attempt that is rolled back
                });
            }
        });
    }
    readers.emplace_back([&] {
        while (!stop.load()) atomically([&](tx& t) { z_there.write(t).tag = y_there.read(t).tag; });
    });
    for (std::size_t i = 0; i < rounds; ++i) {
        atomically([&](tx& t) {
            x.set(t, x.get(t) + 1);
            y.write(t).tag += 1;
        });
    }
    stop = true;
    for (std::thread& r : readers) r.join();
    if (wrong.load() != 0) return std::to_string(wrong.load()) + " attempts saw a variable and an object that differ";
    if (atomically([&](tx& t) { return y.read(t).tag; }) != rounds || x.load() != rounds) return "an update was lost";
    return {};
}

std::string no_skew_with_variables(const under_test& e, std::size_t rounds) {
    const engine_options how = e.options();
    node here{how};
    const ref<tagged> object{here, "object"};
    var<std::uint64_t> variable{0};
    atomically([&](tx& t) { object.publish(t, {0}); });
    std::size_t skews = 0;
    for (std::size_t i = 0; i < rounds; ++i) {
        atomically([&](tx& t) {
            object.write(t).tag = 0;
            variable.set(t, 0);
        });
        std::barrier have_read{2};
        std::thread other{[&] {
            bool met = false;
            atomically([&](tx& t) {
                const bool free = variable.get(t) == 0;
                static_cast<void>(object.read(t));
                if (!std::exchange(met, true)) have_read.arrive_and_wait();
                if (free) object.write(t).tag = 1;
            });
        }};
        bool met = false;
        atomically([&](tx& t) {
            const bool free = object.read(t).tag == 0;
            if (!std::exchange(met, true)) have_read.arrive_and_wait();
            if (free) variable.set(t, 1);
        });
        other.join();
        const bool both = atomically([&](tx& t) { return object.read(t).tag == 1 && variable.get(t) == 1; });
        skews += both ? 1 : 0;
    }
    return skews == 0 ? std::string{}
                      : "G2 (write skew) between a variable and an object, " + std::to_string(skews) + " times";
}

std::string no_skew_between_objects(const under_test& e) {
    const engine_options how = e.options();
    node nodes[2]{node{how}, node{how}};
    const ref<tagged> published[2]{{nodes[0], "a"}, {nodes[0], "b"}};
    atomically([&](tx& t) {
        for (const ref<tagged>& one : published) one.publish(t, {0});
    });
    // Both have read both before either commits; a later attempt of one finds the other's commit.
    std::barrier have_read{2};
    std::vector<std::thread> clients;
    for (unsigned me : {0U, 1U}) {
        clients.emplace_back([&, me] {
            const ref<tagged> objects[2]{{nodes[me], "a"}, {nodes[me], "b"}};
            unsigned attempts = 0;
            atomically([&](tx& t) {
                const bool free = objects[0].read(t).tag == 0 && objects[1].read(t).tag == 0;
                if (++attempts == 1) have_read.arrive_and_wait();
                if (free) objects[me].write(t).tag = 1;
            });
        });
    }
    for (std::thread& c : clients) c.join();
    const bool both = atomically([&](tx& t) { return published[0].read(t).tag + published[1].read(t).tag == 2; });
    return both ? "G2 (write skew): each of two blocks read what the other wrote, and both have committed" : "";
}

std::string writes_are_whole(const under_test& e, std::size_t rounds) {
    const engine_options how = e.options();
    node here{how}, there{how};
    const ref<tagged> a{here, "a"}, b{here, "b"}, a_there{there, "a"}, b_there{there, "b"};
    atomically([&](tx& t) {
        a.publish(t, {0});
        b.publish(t, {0});
    });
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::thread reader{[&] {
        while (!stop.load()) {
            atomically([&](tx& t) {
                prefetch(t, b_there, a_there);
                if (a_there.read(t).tag != b_there.read(t).tag) ++wrong;
            });
        }
    }};
    for (std::size_t i = 0; i < rounds; ++i) {
        atomically([&](tx& t) {
            a.write(t).tag += 1;
            b.write(t).tag += 1;
        });
    }
    stop = true;
    reader.join();
    return wrong.load() == 0 ? std::string{} : "G-single (read skew): half of a commit was seen";
}

std::string held_reads_stay_true(const under_test& e) {
    const engine_options how = e.options();
    node here{how}, there{how};
    const ref<tagged> a{here, "a"}, b{here, "b"}, a_there{there, "a"}, b_there{there, "b"};
    atomically([&](tx& t) {
        a.publish(t, {0});
        b.publish(t, {0});
    });
    bool differed = false;
    unsigned attempts = 0;
    atomically([&](tx& t) {
        const std::uint64_t first = a.read(t).tag;
        if (++attempts == 1) {
            std::thread{[&] {
                atomically([&](tx& u) {
                    a_there.write(u).tag = 1;
                    b_there.write(u).tag = 1;
                });
            }}.join();
        }
        differed = differed || b.read(t).tag != first;
    });
    return differed ? "G-single (read skew): a block saw one object before a commit and another after it" : "";
}

std::string absent_twice_differs(const under_test& e) {
    const engine_options how = e.options();
    const auto engine = backend::open_engine(how.address, {how.prefix, how.patience});
    const backend::key one{"o1"};
    std::vector<backend::record> found;
    const auto look = [&] {
        backend::snapshot any;
        if (engine->get(any, backend::freshness::now, {}, {&one, 1}, found) != backend::verdict::good)
            throw std::runtime_error{"it cannot be read"};
        return found.front();
    };
    const auto set = [&](backend::version was, bool exists) {
        const backend::check c{one, was};
        const backend::write w{one, exists, exists ? "x" : ""};
        backend::request r;
        r.checks = {&c, 1};
        r.writes = {&w, 1};
        engine->commit(r);
        return r.said;
    };
    if (look().exists || look().at != 0) return "what nobody wrote exists";
    if (set(0, true) != backend::verdict::good) return "it cannot be made";
    if (set(0, true) != backend::verdict::conflict) return "it is made twice";
    if (set(look().at, false) != backend::verdict::good || look().exists) return "it cannot be erased";
    const backend::version first = look().at;
    if (first == 0) return "an erased record has the version of one that was never written";
    if (set(first, true) != backend::verdict::good || set(look().at, false) != backend::verdict::good)
        return "it cannot be made again";
    if (look().at == first) return "two absences have one version";
    return {};
}

std::string retry_wakes(const under_test& e, std::chrono::seconds limit) {
    const engine_options how = e.options();
    node here{how}, there{how};
    const ref<tagged> bell{here, "bell"}, bell_there{there, "bell"}, other{there, "other"};
    atomically([&](tx& t) { bell_there.publish(t, {0}); });
    std::latch looked{1};
    std::atomic<int> attempts{0};
    std::atomic<bool> woken{false};
    pid_t who = 0;
    std::thread sleeper{[&] {
        who = ::gettid();
        atomically([&](tx& t) {
            const std::uint64_t seen = bell.read(t).tag;
            if (attempts.fetch_add(1) == 0) looked.count_down();
            // Beside what never comes, so that it does not end by itself: the caller's limit is the test's.
            if (seen == 0) retry(t);
        });
        woken = true;
    }};
    looked.wait();
    // Else it would find the change by itself, on its way to sleep.
    while (!sleeps(who)) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    atomically([&](tx& t) { other.publish(t, {1}); });
    atomically([&](tx& t) { bell_there.write(t).tag = 1; });
    const auto late = std::chrono::steady_clock::now() + limit;
    while (!woken.load() && std::chrono::steady_clock::now() < late)
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    if (woken.load()) {
        sleeper.join();
        return {};
    }
    backend::injected_fault = backend::fault::none;  // so that it ends
    atomically([&](tx& t) { bell_there.write(t).tag = 2; });
    sleeper.join();
    return "a block sleeps on, although what it read has changed";
}

std::string lost_answers_are_found_out(const under_test& e, std::size_t rounds) {
    const engine_options how = e.options();
    const backend::settings same{how.prefix, how.patience};
    forgetful engine{backend::open_engine(how.address, same), 7};
    const auto judge = backend::open_engine(how.address, same);
    backend::exactly_once committer{engine, std::chrono::seconds{10}};
    const backend::key one{"ocount"};
    std::vector<backend::record> found;
    const auto look = [&] {
        backend::snapshot any;
        if (judge->get(any, backend::freshness::now, {}, {&one, 1}, found) != backend::verdict::good)
            throw std::runtime_error{"it cannot be read"};
        return found.front();
    };
    std::uint64_t acknowledged = 0;
    for (std::size_t i = 0; i < rounds; ++i) {
        while (true) {
            const backend::record now = look();
            std::vector<backend::check> checks{{one, now.at}};
            std::vector<backend::write> writes{
                {one, true, std::to_string((now.bytes.empty() ? 0 : std::stoull(now.bytes)) + 1)}};
            backend::version at = 0;
            const backend::verdict said = committer.commit(checks, writes, at);
            if (said == backend::verdict::unknown) return "an outcome stays unknown, although the engine answers";
            if (said == backend::verdict::good) break;
        }
        ++acknowledged;
        // After each, so that one too many and one too few do not make up for each other.
        if (const std::string bytes = look().bytes; bytes != std::to_string(acknowledged))
            return "the count is " + bytes + " after " + std::to_string(acknowledged) + " acknowledged increments";
    }
    return {};
}

std::string marks_are_forgotten(const under_test& e) {
    const engine_options how = e.options();
    noting engine{backend::open_engine(how.address, {how.prefix, how.patience})};
    // Whether the mark is as if never written when its owner is gone.
    const auto is_forgotten = [&](bool lost) {
        {
            backend::exactly_once committer{engine, how.patience};
            engine.lose_next = lost;
            std::vector<backend::check> checks;
            std::vector<backend::write> writes{{"o1", true, "x"}};
            backend::version at = 0;
            if ((committer.commit(checks, writes, at) == backend::verdict::good) == lost)
                throw std::runtime_error{"the outcome is another than the one that was arranged"};
        }
        backend::snapshot any;
        std::vector<backend::record> found;
        if (engine.get(any, backend::freshness::now, {}, {&engine.mark, 1}, found) != backend::verdict::good)
            throw std::runtime_error{"it cannot be read"};
        return found.front().at == 0;
    };
    if (!is_forgotten(false)) return "a mark of a program that has ended is still there";
    if (is_forgotten(true)) return "a mark is gone that a late commit would take for one that was never written";
    return {};
}

std::string irrevocable_blocks_run_once(const under_test& e, std::size_t rounds) {
    const engine_options how = e.options();
    node nodes[2]{node{how}, node{how}};
    const auto at = [&](unsigned n, std::uint64_t i) { return ref<tagged>{nodes[n], {0, i}}; };
    atomically([&](tx& t) {
        at(0, 0).publish(t, {0});
        at(0, 1).publish(t, {0});
    });
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> added{0}, runs{0};
    std::mutex guard;
    std::string wrong;
    const auto note = [&](const std::exception& x) {
        const std::lock_guard hold{guard};
        wrong = x.what();
        stop = true;
    };
    std::vector<std::thread> crew;
    for (unsigned n = 0; n < 2; ++n) {
        crew.emplace_back([&, n] {  // both grow together
            try {
                while (!stop.load()) {
                    atomically([&](tx& t) {
                        at(n, 0).write(t).tag += 1;
                        at(n, 1).write(t).tag += 1;
                    });
                    added.fetch_add(1);
                }
            } catch (const std::exception& x) {
                note(x);
            }
        });
    }
    std::vector<std::thread> bound;
    for (unsigned n = 0; n < 2; ++n) {
        bound.emplace_back([&, n] {
            try {
                for (std::size_t i = 0; i < rounds && !stop.load(); ++i) {
                    atomically({.mode = mode::irrevocable}, [&](tx& t) {
                        runs.fetch_add(1);
                        const std::uint64_t seen = at(n, i % 2).read(t).tag;
                        at(n, (i + 1) % 2).write(t).tag = seen + 1;
                        at(n, i % 2).write(t).tag = seen + 1;
                    });
                }
            } catch (const std::exception& x) {
                note(x);
            }
        });
    }
    for (std::thread& t : bound) t.join();
    stop = true;
    for (std::thread& t : crew) t.join();
    if (!wrong.empty()) return wrong;
    if (runs.load() != 2 * rounds) return "an irrevocable block ran more than once";
    const std::uint64_t all = added.load() + 2 * rounds;
    const auto [a, b] = atomically([&](tx& t) { return std::pair{at(0, 0).read(t).tag, at(0, 1).read(t).tag}; });
    if (a != all || b != all) {
        return std::to_string(all) + " blocks added one, and the objects say " + std::to_string(a) + " and " +
               std::to_string(b);
    }
    return {};
}

std::string too_large_is_refused(const under_test& e) {
    const engine_options how = e.options();
    node here{how};
    const engine_capabilities can = here.capabilities();
    const ref<std::string> small{here, "small"}, large{here, "large"};
    const auto refused = [&](auto&& body) -> std::string {
        try {
            atomically(body);
        } catch (const std::length_error& x) {
            const std::string says = x.what();
            return says.find(can.name) != std::string::npos ? "" : "the refusal does not name the engine: " + says;
        }
        return "it was not refused";
    };
    std::string wrong = refused([&](tx& t) {
        small.publish(t, "x");
        large.publish(t, std::string(can.most_bytes, 'x'));
    });
    if (wrong.empty() && can.most_objects < 10000) {
        wrong = refused([&](tx& t) {
            small.publish(t, "x");
            for (std::uint64_t i = 0; i < can.most_objects; ++i) ref<tagged>{here, {5, i}}.publish(t, {i});
        });
    }
    if (!wrong.empty()) return wrong;
    if (atomically([&](tx& t) { return small.find(t) != nullptr; })) return "a part of what was refused is written";
    return {};
}

}  // namespace tutti::cluster::testing

// Conflicting blocks: one order explains the values that all of them have read.
#include "cluster/engines/suite.hpp"

#include <atomic>
#include <barrier>
#include <latch>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/engines/journal.hpp"
#include "support/random.hpp"

namespace tutti::cluster::testing {

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
                            // The block's own write says nothing about other blocks.
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
                    if (a != b || c > b) ++wrong;  // the body sees these values even in an attempt that is rolled back
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
    // Both blocks have read both objects before either commits; a later attempt sees the other block's commit.
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

std::string rolled_back_reads_take_a_new_state(const under_test& e) {
    node here{e.options()};
    const ref<tagged> a{here, "a"}, b{here, "b"};
    atomically([&](tx& t) {
        a.publish(t, {0});
        b.publish(t, {0});
    });
    var<std::uint64_t> x{0}, y{0};
    bool differed = false;
    unsigned attempts = 0;
    // A context that finds partial roll-backs useless stops using them. This thread is new, so its context still uses
    // them.
    std::thread{[&] {
        atomically([&](tx&) {
            atomically([&](tx& t) {
                const std::uint64_t first = x.get(t);
                (void)a.read(t);
                if (++attempts == 1) {
                    std::thread{[&] {
                        atomically([&](tx& u) {
                            x.set(u, 1);
                            y.set(u, 1);
                            b.write(u).tag = 1;
                        });
                    }}.join();
                }
                (void)y.get(t);
                differed = differed || b.read(t).tag != first;
            });
        });
    }}.join();
    return differed ? "a block saw a variable after a commit, and an object before it" : "";
}

}  // namespace tutti::cluster::testing

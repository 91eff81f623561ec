// tutti-mc-linear: checks that memcached's replies to several concurrent clients are linearizable, key by key.
//
// Clients meet at the start of each round, take new keys that all of them share, and send a few generated commands
// each. A shared counter orders calls and replies. Then the history of each key is checked (linear.hpp). `--evictions`
// allows values to vanish, for a server under memory pressure, which the clients of `--pressure` cause. `--rude`
// clients disconnect in the middle of commands and replies.
#include <CLI/CLI.hpp>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>

#include "connection.hpp"
#include "linear.hpp"

namespace {

using namespace mc::linear;

constexpr unsigned keys = 3;

struct settings {
    std::string socket;
    unsigned clients = 4;
    unsigned rounds = 1000;
    double seconds = 0;
    unsigned commands = 14;  // of each client in a round
    unsigned pressure = 0, rude = 0;
    bool evictions = false, flushes = true;
    std::uint64_t seed = std::random_device{}();
};

struct wrong_history : std::runtime_error {
    using std::runtime_error::runtime_error;
};

const char* const command_names[] = {"get", "gets", "set",  "add",   "replace", "append",   "prepend",
                                     "cas", "incr", "decr", "touch", "delete",  "flush_all"};

using engine = std::mt19937_64;

unsigned below(engine& random, unsigned bound) { return std::uniform_int_distribution<unsigned>(0, bound - 1)(random); }

class client {
public:
    client(const settings& of, unsigned number, std::atomic<std::uint64_t>& clock)
        : settings_(of), random_(of.seed + number), clock_(clock), server_(of.socket) {}

    void run_round(std::uint64_t round) {
        for (auto& history : histories) history.clear();
        for (auto& unique : uniques_) unique = 0;
        for (unsigned count = 0; count < settings_.commands; ++count) {
            const unsigned key = below(random_, keys);
            command c = next(key);
            ask(c, "r" + std::to_string(round) + "-" + std::to_string(key));
            if (c.what == kind::gets && !c.answer.empty()) uniques_[key] = c.unique;
            if (c.what != kind::flush) histories[key].push_back(c);
            else
                for (auto& history : histories) history.push_back(c);
        }
    }

    std::vector<command> histories[keys];

private:
    std::string text() {
        if (below(random_, 3) != 0) return std::to_string(below(random_, 1000));
        return std::string(1 + below(random_, 700), static_cast<char>('a' + below(random_, 26)));
    }

    command next(unsigned key) {
        command c;
        c.what = static_cast<kind>(below(random_, static_cast<unsigned>(kind::flush)));
        if (below(random_, 4) == 0) c.what = kind::gets;
        if (settings_.flushes && below(random_, 100) == 0) c.what = kind::flush;
        if (c.what == kind::cas) {
            c.unique = uniques_[key];
            if (c.unique == 0) c.what = kind::gets;
        }
        if (c.what == kind::touch) c.expired = below(random_, 2) == 0;
        if (c.what == kind::set) c.expired = below(random_, 10) == 0;
        if (c.what == kind::incr || c.what == kind::decr) c.argument = std::to_string(1 + below(random_, 100));
        else if (c.what >= kind::set && c.what <= kind::cas) c.argument = text();
        return c;
    }

    void ask(command& c, const std::string& key) {
        std::string request = command_names[static_cast<unsigned>(c.what)];
        const std::string time = c.expired ? " -1" : " 0";
        if (c.what != kind::flush) request += " " + key;
        if (c.what >= kind::set && c.what <= kind::cas) {
            request += " 0" + time + " " + std::to_string(c.argument.size());
            if (c.what == kind::cas) request += " " + std::to_string(c.unique);
            request += "\r\n" + c.argument;
        } else if (c.what == kind::touch) {
            request += time;
        } else if (!c.argument.empty()) {
            request += " " + c.argument;
        }
        c.called = clock_.fetch_add(1);
        c.answer = server_.ask(request + "\r\n");
        if (c.what <= kind::gets) read_value(c);
        c.answered = clock_.fetch_add(1);
    }

    void read_value(command& c) {
        if (c.answer == "END") {
            c.answer.clear();
            return;
        }
        std::istringstream words(c.answer);
        std::string word, key, flags;
        std::size_t size = 0;
        if (!(words >> word >> key >> flags >> size)) throw wrong_history("a get was answered: " + c.answer);
        words >> c.unique;
        c.answer = server_.data(size);
        if (server_.line() != "END") throw wrong_history("an answer to a get has no END");
    }

    const settings& settings_;
    engine random_;
    std::atomic<std::uint64_t>& clock_;
    mc::connection server_;
    std::uint64_t uniques_[keys] = {};
};

/// Stores values of many sizes under more keys than fit into memory, and makes the server move pages between slab
/// classes.
void press(const settings& of, unsigned number, const std::atomic<bool>& over) {
    constexpr unsigned batch = 16;
    engine random(of.seed + 1000 + number);
    mc::connection server(of.socket);
    for (unsigned count = 0; !over; ++count) {
        std::string requests;
        for (unsigned request = 0; request < batch; ++request) {
            // The first values are small, and so many fit that the hash table has to grow.
            const unsigned size = below(random, count < 1000 ? 60 : below(random, 500) == 0 ? 100000 : 1500);
            requests += "set p" + std::to_string(below(random, 100000)) + " 0 0 " + std::to_string(size) + "\r\n" +
                        std::string(size, 'p') + "\r\n";
        }
        server.send(requests);
        for (unsigned request = 0; request < batch; ++request)
            if (const std::string answer = server.line();
                answer != "STORED" && !answer.starts_with("SERVER_ERROR out of memory"))
                throw wrong_history("a set under pressure was answered: " + answer);
        // The reply says so if this is not possible at the moment.
        if (count % 50 == 49) server.ask("slabs reassign -1 " + std::to_string(1 + below(random, 15)) + "\r\n");
    }
}

/// Returns the server's counter `name`.
std::uint64_t statistic(mc::connection& server, const std::string& name) {
    std::uint64_t found = 0;
    server.send("stats\r\n");
    for (std::string line = server.line(); line != "END"; line = server.line())
        if (line.starts_with("STAT " + name + " ")) found = std::stoull(line.substr(name.size() + 6));
    return found;
}

/// Disconnects after part of some commands, without waiting for their replies.
void be_rude(const settings& of, unsigned number, const std::atomic<bool>& over) {
    engine random(of.seed + 2000 + number);
    const std::string commands =
        "set rude 0 0 5\r\nrudex\r\nincr rude 1\r\nget rude rude rude\r\nmg rude v k t\r\n"
        "append rude 0 0 3\r\nabc\r\nms rude 4\r\nabcd\r\nmd rude\r\nma rude\r\ngat 9 rude\r\n";
    // Waits for a reply now and then. Otherwise the server would have more connections to close than it may have open.
    mc::connection polite(of.socket);
    for (unsigned hung_up = 0; !over; ++hung_up) {
        if (hung_up % 32 == 0) static_cast<void>(statistic(polite, "curr_connections"));
        mc::connection server(of.socket);
        std::string sent;
        while (below(random, 4) != 0) sent += commands;
        try {
            server.send(sent + commands.substr(0, below(random, static_cast<unsigned>(commands.size()))));
        } catch (const std::system_error&) {
            // The server disconnects first if it has no memory for replies.
        }
    }
}

/// A property of memcached itself: an increment that makes a new item also gives the new item's number to the old item.
/// Readers of the old item may not have sent the number yet. So the number in a `gets` beside an increment proves
/// nothing.
void note_overlaps(std::vector<command>& history) {
    for (command& one : history) {
        const auto beside = [&](const command& c) {
            return &c != &one && c.called < one.answered && one.called < c.answered;
        };
        one.overlapped = std::any_of(history.begin(), history.end(), beside);
        if (one.what == kind::gets && std::any_of(history.begin(), history.end(), [&](const command& c) {
                return (c.what == kind::incr || c.what == kind::decr) && beside(c);
            }))
            one.what = kind::get;
    }
}

std::string describe(const std::vector<command>& history) {
    std::ostringstream text;
    for (const command& c : history)
        text << "\n  " << c.called << ".." << c.answered << "  " << command_names[static_cast<unsigned>(c.what)]
             << (c.expired ? " (expired) " : " ") << c.argument.substr(0, 30) << " "
             << (c.unique != 0 ? std::to_string(c.unique) : "") << " -> " << c.answer.substr(0, 40);
    return text.str();
}

class run {
public:
    explicit run(const settings& of) : settings_(of), meet_(static_cast<std::ptrdiff_t>(of.clients), check{*this}) {
        mc::connection server(of.socket);
        hash_power_ = statistic(server, "hash_power_level");
        for (unsigned number = 0; number < of.clients; ++number)
            clients_.push_back(std::make_unique<client>(of, number, clock_));
    }

    void operator()() {
        std::vector<std::thread> others, workers;
        for (unsigned number = 0; number < settings_.pressure; ++number)
            others.emplace_back([&, number] { guarded([&] { press(settings_, number, over_); }); });
        for (unsigned number = 0; number < settings_.rude; ++number)
            others.emplace_back([&, number] { guarded([&] { be_rude(settings_, number, over_); }); });
        for (auto& one : clients_)
            workers.emplace_back([&] {
                while (!over_) {
                    guarded([&] { one->run_round(round_); });
                    meet_.arrive_and_wait();
                }
            });
        for (auto& one : workers) one.join();
        for (auto& one : others) one.join();
        if (!failure_.empty()) throw wrong_history(failure_);
        std::printf("%s%u clients, %" PRIu64 " rounds: every history of the %u keys of each is linearizable\n",
                    pressed_.c_str(), settings_.clients, round_, keys);
    }

private:
    /// Returns true if the pressure had its intended effects. A run without them would have proved nothing.
    bool was_pressed() {
        if (settings_.pressure == 0) return true;
        mc::connection server(settings_.socket);
        const std::uint64_t evictions = statistic(server, "evictions"), moved = statistic(server, "slabs_moved"),
                            hash_power = statistic(server, "hash_power_level");
        pressed_ = std::to_string(evictions) + " values evicted, " + std::to_string(moved) +
                   " slab pages moved, a hash table of 2^" + std::to_string(hash_power) + " buckets; ";
        return evictions > 0 && moved > 0 && hash_power > hash_power_;
    }

    /// Runs while all clients wait for the next round.
    struct check {
        run& self;
        void operator()() noexcept { self.finish_round(); }
    };

    void finish_round() noexcept {
        try {
            for (unsigned key = 0; key < keys; ++key) {
                std::vector<command> all;
                for (const auto& one : clients_)
                    all.insert(all.end(), one->histories[key].begin(), one->histories[key].end());
                // Too many for the checker. This is rare, and another round distributes the commands differently.
                if (failed() || all.size() > 64) continue;
                note_overlaps(all);
                if (!is_linearizable(all, settings_.evictions)) {
                    std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.called < b.called; });
                    fail("the history of a key in round " + std::to_string(round_) +
                         " is not linearizable:" + describe(all));
                }
            }
        } catch (const std::exception& error) {
            fail(error.what());
        }
        ++round_;
        if (failed() || is_over()) over_ = true;
    }

    bool is_over() noexcept {
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun_;
        if (settings_.seconds > 0 ? took.count() < settings_.seconds : round_ < settings_.rounds) return false;
        bool pressed = true;
        guarded([&] { pressed = was_pressed(); });
        if (!pressed && took.count() > settings_.seconds + 60)
            fail("the pressure has not had its effects: " + pressed_);
        return pressed || failed();
    }

    template <typename F>
    void guarded(F&& f) {
        try {
            f();
        } catch (const std::exception& error) {
            fail(error.what());
        }
    }
    void fail(const std::string& why) {
        const std::lock_guard hold(mutex_);
        if (failure_.empty()) failure_ = why;
    }
    bool failed() {
        const std::lock_guard hold(mutex_);
        return !failure_.empty();
    }

    const settings& settings_;
    std::atomic<std::uint64_t> clock_{0};
    std::vector<std::unique_ptr<client>> clients_;
    std::atomic<bool> over_ = false;
    std::uint64_t round_ = 0;
    std::mutex mutex_;
    std::string failure_, pressed_;
    std::uint64_t hash_power_;  // at the start
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    std::barrier<check> meet_;
};

}  // namespace

int main(int count, char** arguments) {
    settings chosen;
    CLI::App app("Checks that memcached's answers to several clients at once are linearizable, key by key");
    app.add_option("--socket", chosen.socket, "the server's socket")->required();
    app.add_option("--clients", chosen.clients)->capture_default_str()->check(CLI::Range(1, 100));
    app.add_option("--rounds", chosen.rounds)->capture_default_str();
    app.add_option("--seconds", chosen.seconds, "how long, instead of --rounds")->check(CLI::Range(0.1, 1e6));
    app.add_option("--commands", chosen.commands, "of each client in a round")->capture_default_str();
    app.add_option("--pressure", chosen.pressure, "further clients that fill the memory")->check(CLI::Range(0, 100));
    app.add_option("--rude", chosen.rude, "further clients that hang up in the middle")->check(CLI::Range(0, 100));
    app.add_flag("--evictions", chosen.evictions, "values may vanish");
    app.add_flag("!--no-flushes", chosen.flushes, "no flush_all");
    app.add_option("--seed", chosen.seed, "what each client sends");
    CLI11_PARSE(app, count, arguments);
    try {
        run{chosen}();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "tutti-mc-linear: %s; --seed %" PRIu64 "\n", error.what(), chosen.seed);
        return 1;
    }
    return 0;
}

// tutti-mc-check: checks memcached's replies. Clients send generated commands at the same time.
//
// - Each client has keys of its own: a model predicts each reply exactly.
// - All clients share three keys. The clients increment `shared-sum`, swap `shared-cas` by gets and cas, and append to
//   `shared-list`. At the end the sum, the swaps and the appended bytes must equal the clients' counts. The sums in the
//   replies to one client grow, because no client decrements. No two clients get the same sum.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "connection.hpp"

namespace {

struct settings {
    std::string socket;
    unsigned clients = 4;
    unsigned commands = 20000;  // of each client
    unsigned keys = 50;         // of each client
    unsigned fill = 0;          // further keys, which make the hash table grow meanwhile
    std::uint64_t seed = std::random_device{}();
};

struct wrong_answer : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The content of a client's key.
struct entry {
    std::string value, flags;
};

struct found {
    std::string value, flags, cas;
};

std::optional<found> get(mc::connection& server, const std::string& command, const std::string& key) {
    std::string line = server.ask(command + " " + key + "\r\n");
    if (line == "END") return std::nullopt;
    std::istringstream words(line);
    std::string word, name;
    found result;
    std::size_t size = 0;
    words >> word >> name >> result.flags >> size >> result.cas;
    if (word != "VALUE" || name != key) throw wrong_answer(command + " " + key + " was answered: " + line);
    result.value = server.data(size);
    if (server.line() != "END") throw wrong_answer(command + " " + key + ": no END");
    return result;
}

std::string store(mc::connection& server, const std::string& command, const std::string& key, const std::string& flags,
                  const std::string& value, const std::string& rest = "") {
    return server.ask(command + " " + key + " " + flags + " 0 " + std::to_string(value.size()) + rest + "\r\n" + value +
                      "\r\n");
}

/// The operations of all clients on the shared keys.
struct totals {
    std::mutex mutex;
    std::uint64_t increments = 0, swaps = 0, appended = 0;
    std::vector<std::uint64_t> sums;  // the replies to all increments
};

class client {
public:
    client(const settings& of, unsigned number, totals& shared)
        : settings_(of),
          name_("c" + std::to_string(number)),
          engine_(of.seed + number),
          server_(of.socket),
          shared_(shared) {}

    void run() {
        for (unsigned done = 0; done < settings_.commands; ++done)
            if (below(5) == 0) touch_shared();
            else touch_own();
        for (unsigned number = 0; number < settings_.keys; ++number) compare(name_ + "-" + std::to_string(number));
        const std::lock_guard hold(shared_.mutex);
        shared_.increments += sums_.size();
        shared_.swaps += swaps_;
        shared_.appended += appended_;
        shared_.sums.insert(shared_.sums.end(), sums_.begin(), sums_.end());
    }

private:
    unsigned below(unsigned bound) { return std::uniform_int_distribution<unsigned>(0, bound - 1)(engine_); }

    std::string new_value() {
        if (below(3) == 0) return std::to_string(below(1000000));  // for incr and decr
        // Sometimes a value that needs several chunks.
        const unsigned size = below(50) == 0 ? 600000 + below(100000) : below(4) == 0 ? below(3000) : below(60);
        return std::string(size, static_cast<char>('a' + below(26)));
    }

    void expect(const std::string& what, const std::string& answer, const std::string& right) const {
        if (answer != right)
            throw wrong_answer(name_ + ": " + what + " was answered '" + answer + "' instead of '" + right + "'");
    }

    void compare(const std::string& key) {
        const auto answer = get(server_, "get", key);
        const auto own = model_.find(key);
        expect("whether " + key + " is there", answer ? "yes" : "no", own != model_.end() ? "yes" : "no");
        if (!answer) return;
        expect("the flags of " + key, answer->flags, own->second.flags);
        expect("the value of " + key, answer->value, own->second.value);
    }

    void touch_own() {
        const std::string key = name_ + "-" + std::to_string(below(settings_.keys));
        const auto own = model_.find(key);
        const bool there = own != model_.end();
        const std::string flags = std::to_string(below(3) == 0 ? below(1000) : 0);
        switch (below(11)) {
            case 0: {
                const std::string value = new_value();
                expect("set " + key, store(server_, "set", key, flags, value), "STORED");
                model_[key] = {value, flags};
                break;
            }
            case 1: {
                const std::string value = new_value();
                expect("add " + key, store(server_, "add", key, flags, value), there ? "NOT_STORED" : "STORED");
                if (!there) model_[key] = {value, flags};
                break;
            }
            case 2: {
                const std::string value = new_value();
                expect("replace " + key, store(server_, "replace", key, flags, value), there ? "STORED" : "NOT_STORED");
                if (there) own->second = {value, flags};
                break;
            }
            case 3:
            case 4: {
                const bool front = below(2) == 0;
                const std::string piece(1 + below(20), static_cast<char>('A' + below(26)));
                if (there && own->second.value.size() > 900000) break;  // a value cannot be larger
                expect("append or prepend " + key, store(server_, front ? "prepend" : "append", key, "0", piece),
                       there ? "STORED" : "NOT_STORED");
                if (there) own->second.value = front ? piece + own->second.value : own->second.value + piece;
                break;
            }
            case 5:
            case 6: count(key, own); break;
            case 7:
                expect("touch " + key, server_.ask("touch " + key + " 0\r\n"), there ? "TOUCHED" : "NOT_FOUND");
                break;
            case 8:
                expect("delete " + key, server_.ask("delete " + key + "\r\n"), there ? "DELETED" : "NOT_FOUND");
                if (there) model_.erase(own);
                break;
            case 9: swap(key, own); break;
            default: compare(key);
        }
    }

    using place = std::map<std::string, entry>::iterator;

    void count(const std::string& key, place own) {
        const bool up = below(2) == 0;
        const std::uint64_t by = below(1000);
        const std::string answer = server_.ask((up ? "incr " : "decr ") + key + " " + std::to_string(by) + "\r\n");
        if (own == model_.end()) return expect("counting " + key, answer, "NOT_FOUND");
        std::string& value = own->second.value;
        const std::string digits = value.substr(0, value.find(' '));
        const bool number =
            !digits.empty() && digits.size() < 20 && digits.find_first_not_of("0123456789") == digits.npos;
        if (!number)
            return expect("counting " + key, answer, "CLIENT_ERROR cannot increment or decrement non-numeric value");
        const std::uint64_t before = std::stoull(digits);
        const std::string after = std::to_string(up ? before + by : before > by ? before - by : 0);
        expect("counting " + key, answer, after);
        // A shorter number is padded with blanks.
        value = after.size() < value.size() ? after + std::string(value.size() - after.size(), ' ') : after;
    }

    void swap(const std::string& key, place own) {
        const auto seen = get(server_, "gets", key);
        expect("whether " + key + " is there", seen ? "yes" : "no", own != model_.end() ? "yes" : "no");
        const std::string value = new_value();
        if (!seen) return expect("cas " + key, store(server_, "cas", key, "0", value, " 1"), "NOT_FOUND");
        const bool stale = below(3) == 0;
        const std::string cas = stale ? std::to_string(std::stoull(seen->cas) + 1000000000) : seen->cas;
        expect("cas " + key, store(server_, "cas", key, "0", value, " " + cas), stale ? "EXISTS" : "STORED");
        if (!stale) own->second = {value, "0"};
    }

    void touch_shared() {
        switch (below(3)) {
            case 0: {
                const std::uint64_t sum = std::stoull(server_.ask("incr shared-sum 1\r\n"));
                if (!sums_.empty() && sum <= sums_.back()) throw wrong_answer(name_ + ": shared-sum went back");
                sums_.push_back(sum);
                break;
            }
            case 1: {
                const auto seen = get(server_, "gets", "shared-cas");
                if (!seen) throw wrong_answer("shared-cas is gone");
                const std::string next = std::to_string(std::stoull(seen->value) + 1);
                const std::string answer = store(server_, "cas", "shared-cas", "0", next, " " + seen->cas);
                if (answer != "EXISTS") expect("cas shared-cas", answer, "STORED");
                swaps_ += answer == "STORED" ? 1 : 0;
                break;
            }
            default:
                if (appended_ >= 20000) break;
                expect("append shared-list", store(server_, "append", "shared-list", "0", name_), "STORED");
                appended_ += name_.size();
        }
    }

    const settings& settings_;
    std::string name_;
    std::mt19937_64 engine_;
    mc::connection server_;
    totals& shared_;
    std::map<std::string, entry> model_;
    std::vector<std::uint64_t> sums_;
    std::uint64_t swaps_ = 0, appended_ = 0;
};

unsigned hash_power(mc::connection& server) {
    unsigned power = 0;
    server.send("stats\r\n");
    for (std::string line = server.line(); line != "END"; line = server.line())
        std::sscanf(line.c_str(), "STAT hash_power_level %u", &power);
    return power;
}

/// Stores enough keys to make the hash table grow, and waits until the table has grown, because the server checks only
/// once a second.
void fill(const settings& of) {
    mc::connection server(of.socket);
    const unsigned before = hash_power(server);
    for (unsigned number = 0; number < of.fill; ++number)
        server.send("set fill-" + std::to_string(number) + " 0 0 1 noreply\r\nx\r\n");
    for (unsigned tries = 0; tries < 200 && hash_power(server) == before; ++tries)
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (hash_power(server) == before) throw wrong_answer("the hash table did not grow; store more keys by --fill");
}

void check(const settings& of) {
    mc::connection server(of.socket);
    store(server, "set", "shared-sum", "0", "0");
    store(server, "set", "shared-cas", "0", "0");
    store(server, "set", "shared-list", "0", "");
    totals shared;
    std::mutex mutex;
    std::string failure;
    std::vector<std::thread> workers;
    for (unsigned number = 0; number < of.clients; ++number)
        workers.emplace_back([&, number] {
            try {
                client(of, number, shared).run();
            } catch (const std::exception& error) {
                const std::lock_guard hold(mutex);
                failure = error.what();
            }
        });
    if (of.fill > 0)
        workers.emplace_back([&] {
            try {
                fill(of);
            } catch (const std::exception& error) {
                const std::lock_guard hold(mutex);
                failure = error.what();
            }
        });
    for (auto& one : workers) one.join();
    if (!failure.empty()) throw wrong_answer(failure);

    const auto final_value = [&](const std::string& key) {
        const auto answer = get(server, "get", key);
        if (!answer) throw wrong_answer(key + " is gone");
        return answer->value;
    };
    if (std::stoull(final_value("shared-sum")) != shared.increments) throw wrong_answer("an increment was lost");
    if (std::stoull(final_value("shared-cas")) != shared.swaps) throw wrong_answer("a swap was lost");
    if (final_value("shared-list").size() != shared.appended) throw wrong_answer("an append was lost");
    std::sort(shared.sums.begin(), shared.sums.end());
    if (std::adjacent_find(shared.sums.begin(), shared.sums.end()) != shared.sums.end())
        throw wrong_answer("two clients were answered the same sum");
    std::printf("%u clients, %u commands each: every answer right; %" PRIu64 " increments, %" PRIu64 " swaps\n",
                of.clients, of.commands, shared.increments, shared.swaps);
}

}  // namespace

int main(int count, char** arguments) {
    settings chosen;
    CLI::App app("Checks what memcached answers to several clients at once");
    app.add_option("--socket", chosen.socket, "the server's socket")->required();
    app.add_option("--clients", chosen.clients)->capture_default_str()->check(CLI::Range(1, 100));
    app.add_option("--commands", chosen.commands, "of each client")->capture_default_str();
    app.add_option("--keys", chosen.keys, "of each client's own")->capture_default_str()->check(CLI::Range(1, 100000));
    app.add_option("--fill", chosen.fill, "further keys, enough to make the hash table grow")->capture_default_str();
    app.add_option("--seed", chosen.seed, "replays a run as far as one client is concerned");
    CLI11_PARSE(app, count, arguments);
    try {
        check(chosen);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "tutti-mc-check: %s; --seed %" PRIu64 "\n", error.what(), chosen.seed);
        return 1;
    }
    return 0;
}

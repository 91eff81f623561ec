// tutti-mc-load: measures the cost of memcached's server. The program stores a fixed set of keys. Then it sends batches
// of pipelined requests, prepared beforehand, over several connections, one batch at a time on each. Every request hits
// and every value has the same size, so a batch's reply has a known length. While it measures, the program only counts
// bytes.
#include <poll.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "connection.hpp"

namespace {

struct settings {
    std::string socket;
    int server = 0;  // process of the server, whose time is read
    unsigned keys = 100000;
    unsigned value = 64;
    unsigned connections = 8;
    unsigned pipeline = 32;
    unsigned sets = 10;  // percent
    double skew = 0.99;
    double seconds = 3;
    unsigned seed = 1;
};

std::string key(unsigned number) {
    char text[20];
    return {text, static_cast<std::size_t>(std::snprintf(text, sizeof text, "key-%012u", number))};
}

std::string set(const settings& of, unsigned number, const std::string& option = "") {
    return "set " + key(number) + " 0 0 " + std::to_string(of.value) + option + "\r\n" + std::string(of.value, 'x') +
           "\r\n";
}

/// Draws ranks from 0 on with probabilities proportional to 1 / (rank + 1)^skew.
class zipf {
public:
    zipf(unsigned count, double skew) : sums_(count) {
        double sum = 0;
        for (unsigned rank = 0; rank < count; ++rank) sums_[rank] = sum += std::pow(rank + 1.0, -skew);
    }
    template <typename Engine>
    unsigned operator()(Engine& engine) {
        const double point = std::uniform_real_distribution<>(0, sums_.back())(engine);
        return static_cast<unsigned>(std::upper_bound(sums_.begin(), sums_.end() - 1, point) - sums_.begin());
    }

private:
    std::vector<double> sums_;
};

struct batch {
    std::string requests;
    std::size_t answer = 0;  // bytes
};

std::vector<batch> make_batches(const settings& of) {
    std::mt19937_64 engine(of.seed);
    zipf ranks(of.keys, of.skew);
    // Distributes the ranks over the keys, so that hot keys are not neighbours.
    const auto number = [&] { return static_cast<unsigned>(std::uint64_t{ranks(engine)} * 7919 % of.keys); };
    const std::size_t hit =
        std::string("VALUE  0 \r\n\r\nEND\r\n").size() + key(0).size() + std::to_string(of.value).size() + of.value;
    std::vector<batch> made(512);
    for (auto& one : made)
        for (unsigned request = 0; request < of.pipeline; ++request) {
            const bool is_set = std::uniform_int_distribution<unsigned>(0, 99)(engine) < of.sets;
            one.requests += is_set ? set(of, number()) : "get " + key(number()) + "\r\n";
            one.answer += is_set ? std::string("STORED\r\n").size() : hit;
        }
    return made;
}

struct processor_time {
    double user = 0, system = 0;  // seconds
};

processor_time time_of(int process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string line;
    std::getline(file, line);
    std::istringstream fields(line.substr(line.rfind(')') + 2));  // the name before it may contain spaces
    std::string skipped;
    for (int field = 3; field < 14; ++field) fields >> skipped;
    double user = 0, system = 0;
    if (!(fields >> user >> system))
        throw std::runtime_error("no process " + std::to_string(process) + " to take times of");
    const auto tick = static_cast<double>(::sysconf(_SC_CLK_TCK));
    return {user / tick, system / tick};
}

struct client {
    mc::connection connection;
    std::size_t next;
    std::size_t missing = 0;  // bytes of the reply that have not arrived
};

void send_next(client& of, const std::vector<batch>& batches) {
    const batch& one = batches[of.next];
    of.next = (of.next + 1) % batches.size();
    of.missing = one.answer;
    of.connection.send(one.requests);
}

void receive(client& of) {
    char some[65536];
    const ssize_t got = ::recv(of.connection.descriptor(), some, sizeof some, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0 || static_cast<std::size_t>(got) > of.missing)
        throw std::runtime_error("an answer is longer than it should be, or the server is gone");
    of.missing -= static_cast<std::size_t>(got);
}

void run(const settings& of) {
    {
        mc::connection filler(of.socket);
        for (unsigned number = 0; number < of.keys; ++number) filler.send(set(of, number, " noreply"));
        if (!filler.ask("version\r\n").starts_with("VERSION")) throw std::runtime_error("the keys could not be stored");
    }
    const std::vector<batch> batches = make_batches(of);
    std::vector<client> clients;
    std::vector<pollfd> polls;
    for (unsigned index = 0; index < of.connections; ++index) {
        clients.push_back({mc::connection(of.socket), index * batches.size() / of.connections});
        polls.push_back({clients.back().connection.descriptor(), POLLIN, 0});
    }

    using clock = std::chrono::steady_clock;
    std::uint64_t answered = 0;
    const auto work_until = [&](clock::time_point until) {
        while (clock::now() < until) {
            if (::poll(polls.data(), polls.size(), 20000) <= 0) throw std::runtime_error("the server does not answer");
            for (std::size_t index = 0; index < clients.size(); ++index) {
                if ((polls[index].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
                receive(clients[index]);
                if (clients[index].missing != 0) continue;
                answered += of.pipeline;
                send_next(clients[index], batches);
            }
        }
    };
    const auto seconds = [](double count) {
        return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(count));
    };
    for (auto& one : clients) send_next(one, batches);
    work_until(clock::now() + seconds(of.seconds / 10));  // warm-up
    const std::uint64_t before = answered;
    const processor_time start = time_of(of.server);
    const auto from = clock::now();
    work_until(from + seconds(of.seconds));
    const std::chrono::duration<double> took = clock::now() - from;
    const processor_time end = time_of(of.server);
    const auto count = static_cast<double>(answered - before);
    std::printf(
        "{\"requests\": %.0f, \"seconds\": %.4f, \"throughput\": %.0f, \"user_ns\": %.1f, \"system_ns\": %.1f}\n",
        count, took.count(), count / took.count(), 1e9 * (end.user - start.user) / count,
        1e9 * (end.system - start.system) / count);
}

}  // namespace

int main(int count, char** arguments) {
    settings chosen;
    CLI::App app(
        "Measures memcached over a Unix socket: throughput, and processor time of the server for each request");
    app.add_option("--socket", chosen.socket, "the server's socket")->required();
    app.add_option("--server", chosen.server, "number of the server's process")->required();
    app.add_option("--keys", chosen.keys, "how many keys")->capture_default_str()->check(CLI::Range(1, 10000000));
    app.add_option("--value", chosen.value, "bytes of a value")->capture_default_str()->check(CLI::Range(1, 100000));
    app.add_option("--connections", chosen.connections)->capture_default_str()->check(CLI::Range(1, 1000));
    app.add_option("--pipeline", chosen.pipeline, "requests of a batch")
        ->capture_default_str()
        ->check(CLI::Range(1, 500));
    app.add_option("--sets", chosen.sets, "percent of requests that store")
        ->capture_default_str()
        ->check(CLI::Range(0, 100));
    app.add_option("--skew", chosen.skew, "exponent of the keys' zipf distribution")->capture_default_str();
    app.add_option("--seconds", chosen.seconds)->capture_default_str()->check(CLI::Range(0.1, 600.0));
    app.add_option("--seed", chosen.seed)->capture_default_str();
    CLI11_PARSE(app, count, arguments);
    try {
        run(chosen);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "tutti-mc-load: %s\n", error.what());
        return 1;
    }
    return 0;
}

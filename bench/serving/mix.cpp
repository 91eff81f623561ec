#include "mix.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <random>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace tutti::bench {
namespace {

using clock = std::chrono::steady_clock;
using instant = clock::time_point;

clock::duration seconds(double s) {
    return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>{s});
}

std::string wire(const std::string& words) {
    std::istringstream from{words};
    std::vector<std::string> all;
    for (std::string w; from >> w;) all.push_back(w);
    std::string text = "*" + std::to_string(all.size()) + "\r\n";
    for (const std::string& w : all) text += "$" + std::to_string(w.size()) + "\r\n" + w + "\r\n";
    return text;
}

/// One kind of request.
struct kind {
    explicit kind(const std::string& words) : request{wire(words)} {}
    std::string request;
    std::vector<double> microseconds;

    double percentile(double q) {
        if (microseconds.empty()) return 0;
        std::ranges::sort(microseconds);
        return microseconds[static_cast<std::size_t>(q * static_cast<double>(microseconds.size() - 1))];
    }
    void print(const char* name, const char* after) {
        double sum = 0;
        for (const double m : microseconds) sum += m;
        const double mean = microseconds.empty() ? 0 : sum / static_cast<double>(microseconds.size());
        std::printf("\"%s\": {\"answered\": %zu, \"mean\": %.1f, \"p50\": %.1f, \"p99\": %.1f, \"p999\": %.1f}%s", name,
                    microseconds.size(), mean, percentile(0.5), percentile(0.99), percentile(0.999), after);
    }
};

struct due_request {
    kind* of;
    instant due;
};

class lane {
public:
    explicit lane(const std::string& port) : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int on = 1;
        ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
            throw std::runtime_error{"no server answers at port " + port};
    }
    ~lane() { ::close(socket_); }
    lane(const lane&) = delete;
    lane& operator=(const lane&) = delete;

    [[nodiscard]] int socket() const noexcept { return socket_; }
    void send(const due_request& r) {
        carried = r;
        const std::string& text = r.of->request;  // small enough for one send
        if (::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size()))
            throw std::runtime_error{"the server takes no requests"};
    }
    /// Returns true if the reply, a line, has arrived.
    bool receive() {
        char bytes[512];
        const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
        if (got <= 0) throw std::runtime_error{"the server has closed a connection"};
        if (bytes[0] == '-') throw std::runtime_error{"an error: " + std::string(bytes, static_cast<std::size_t>(got))};
        return bytes[got - 1] == '\n';
    }

    due_request carried{};

private:
    int socket_;
};

}  // namespace

int run_mix(const mix_settings& how) {
    ::prctl(PR_SET_TIMERSLACK, 1UL);
    kind short_request{how.short_request}, long_request{how.long_request};
    const int poll = ::epoll_create1(EPOLL_CLOEXEC);
    std::deque<lane> lanes;
    std::vector<lane*> idle;
    for (unsigned i = 0; i < how.connections; ++i) {
        lane& l = lanes.emplace_back(how.port);
        epoll_event e{.events = EPOLLIN, .data = {.ptr = &l}};
        ::epoll_ctl(poll, EPOLL_CTL_ADD, l.socket(), &e);
        idle.push_back(&l);
    }
    std::mt19937_64 random{how.seed};
    std::exponential_distribution<double> gap{how.rate};
    std::bernoulli_distribution is_long{how.share};
    std::deque<due_request> waiting;
    const instant start = clock::now(), measured_from = start + seconds(how.warm_up);
    const instant end = measured_from + seconds(how.seconds);
    instant next = start + seconds(gap(random));
    // Waits for all requests that were due in time, however long they take.
    while (clock::now() < end || !waiting.empty() || idle.size() < lanes.size()) {
        for (const instant now = clock::now(); next <= now && next < end; next += seconds(gap(random)))
            waiting.push_back({is_long(random) ? &long_request : &short_request, next});
        for (; !waiting.empty() && !idle.empty(); waiting.pop_front()) {
            idle.back()->send(waiting.front());
            idle.pop_back();
        }
        const bool ends = next >= end;
        const auto left = std::max(ends ? seconds(0.01) : next - clock::now(), clock::duration::zero());
        const timespec timeout{static_cast<time_t>(left / std::chrono::seconds{1}),
                               static_cast<long>((left % std::chrono::seconds{1}).count())};
        epoll_event ready[64];
        const int n = ::epoll_pwait2(poll, ready, 64, &timeout, nullptr);
        for (int i = 0; i < n; ++i) {
            lane& l = *static_cast<lane*>(ready[i].data.ptr);
            if (!l.receive()) continue;
            idle.push_back(&l);
            if (l.carried.due >= measured_from)
                l.carried.of->microseconds.push_back(
                    std::chrono::duration<double, std::micro>{clock::now() - l.carried.due}.count());
        }
    }
    ::close(poll);
    std::printf("{");
    short_request.print("short", ", ");
    long_request.print("long", "}\n");
    return 0;
}

}  // namespace tutti::bench

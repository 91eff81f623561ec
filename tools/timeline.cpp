#include "timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "connection.hpp"
#include "tutti/server/endpoint.hpp"
#include "write_file.hpp"

namespace tutti::tools {
namespace {

using json = nlohmann::ordered_json;

std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

std::string name_of(const server_address& a) {
    return a.unix_socket.empty() ? to_string(server::endpoint{a.host, a.port}) : a.unix_socket;
}

/// Parses `host:port`, or the path of a Unix socket. The other fields are those of `like`.
server_address address_of(const std::string& text, const server_address& like) {
    server_address a = like;
    a.unix_socket.clear();
    if (text.starts_with('/')) {
        a.unix_socket = text;
        a.tls.reset();
        return a;
    }
    const std::optional<server::endpoint> there = server::parse_endpoint(text);
    if (!there)
        throw cli::command_line_error{
            fmt::format("--add-server {}: not a server; give HOST:PORT, or the path of a Unix socket", text)};
    a.host = there->host;
    a.port = there->port;
    return a;
}

/// A reading of another clock: its time, how far it is ahead of this process's clock, and the maximum error.
struct reading {
    std::int64_t at = 0, ahead = 0, error = std::numeric_limits<std::int64_t>::max();
};

/// A server that records a timeline, and the relation of the server's clock to this process's clock.
class recorded {
public:
    explicit recorded(const server_address& at) : name_{name_of(at)}, server_{at} {}

    void start() {
        before_ = read_clock();
        static_cast<void>(server_.request({"TIMELINE", "START"}));
    }
    void stop() {
        trace_ = json::parse(server_.request({"TIMELINE", "STOP"}), nullptr, false);
        after_ = read_clock();
        const auto from = json::json_pointer{"/otherData/began_ns"};
        if (trace_.is_discarded() || !trace_.contains(from) || !trace_[from].is_number_integer() ||
            !trace_["traceEvents"].is_array())
            refuse();
        began_ = trace_[from].get<std::int64_t>();
        earliest_ = ours(began_);
    }
    /// Returns the time at which the server's recording began, by this process's clock.
    [[nodiscard]] std::int64_t earliest() const noexcept { return earliest_; }
    [[nodiscard]] double error_us() const noexcept { return microseconds(std::max(before_.error, after_.error)); }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// Adds the server's events as events of process `number`. Their times are converted to this process's clock, and
    /// count from `from`.
    void add_to(json& events, std::size_t number, std::int64_t from) {
        for (json& e : trace_["traceEvents"]) {
            e["pid"] = number;
            if (e.contains("ts"))
                e["ts"] = microseconds(ours(began_ + static_cast<std::int64_t>(e["ts"].get<double>() * 1000)) - from);
            if (e.value("name", "") == "process_name") {
                e["args"]["name"] = name_;
                e["args"]["clock_error_us"] = error_us();
            }
            events.push_back(std::move(e));
        }
    }

private:
    [[noreturn]] void refuse() const {
        throw std::runtime_error{fmt::format(
            "the server {} sent a timeline without a valid start time: use the tutti of the server's release", name_)};
    }
    static double microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1000; }
    /// Cristian, "Probabilistic clock synchronization", 1989: the server reads its clock between the request and the
    /// reply, so the fastest reply gives the most precise reading.
    reading read_clock() {
        constexpr int samples = 8;
        reading best;
        for (int i = 0; i < samples; ++i) {
            const std::int64_t asked = now_ns();
            const std::string text = server_.request({"TIMELINE", "NOW"});
            const std::int64_t error = (now_ns() - asked) / 2;
            std::int64_t theirs = 0;
            const auto [after, failed] = std::from_chars(text.data(), text.data() + text.size(), theirs);
            if (failed != std::errc{} || after != text.data() + text.size()) refuse();
            if (error < best.error) best = {theirs, theirs - (asked + error), error};
        }
        return best;
    }
    /// Converts a time of the server to this process's clock. Assumes that the drift between the two readings is
    /// constant.
    [[nodiscard]] std::int64_t ours(std::int64_t theirs) const {
        const auto whole = static_cast<double>(std::max<std::int64_t>(after_.at - before_.at, 1));
        const double passed = static_cast<double>(theirs - before_.at) / whole;
        return theirs - before_.ahead -
               static_cast<std::int64_t>(passed * static_cast<double>(after_.ahead - before_.ahead));
    }

    const std::string name_;
    connection server_;
    reading before_, after_;
    std::int64_t began_ = 0, earliest_ = 0;
    json trace_;
};

}  // namespace

void timeline(const timeline_options& options) {
    std::deque<recorded> servers;
    servers.emplace_back(options.to);
    for (const std::string& other : options.add_servers) servers.emplace_back(address_of(other, options.to));
    for (recorded& s : servers) s.start();
    std::this_thread::sleep_for(std::chrono::duration<double>{options.duration});
    for (recorded& s : servers) s.stop();
    const std::int64_t from = std::ranges::min_element(servers, {}, &recorded::earliest)->earliest();
    json all{{"displayTimeUnit", "ns"}, {"traceEvents", json::array()}};
    for (std::size_t i = 0; i < servers.size(); ++i) {
        servers[i].add_to(all["traceEvents"], i + 1, from);
        if (servers.size() > 1)
            fmt::print("{}: its clock within {:.0f} us\n", servers[i].name(), servers[i].error_us());
    }
    write_file(options.output, all.dump() + '\n');
    fmt::print("{}: open it in https://ui.perfetto.dev or chrome://tracing\n", options.output);
}

}  // namespace tutti::tools

// A libFuzzer target. The same bytes give the same requests, whatever pieces they arrive in. The requests stay within
// the limits. Every request gets one answer that is one value. The first byte chooses the size of the pieces.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "server/protocol/commands.hpp"
#include "server/protocol/request_parser.hpp"
#include "server/unused_service_control.hpp"

namespace tutti::server {
namespace {

constexpr request_limits limits{.arguments = 16, .bytes = 512};

void demand(bool holds) {
    if (!holds) std::abort();
}

struct null_owner final : request_owner, client_directory::client_owner {
    void complete_request(request&) noexcept override {}
    void check_killed() noexcept override {}
    byte_budget& budget() noexcept override { return plenty; }

private:
    byte_budget plenty{1'000'000'000};
};

/// Returns the directory with one permanent client.
client_directory& clients() {
    static client_directory all;
    return all;
}
client_directory::client_entry& the_client() {
    static null_owner home;
    static client_directory::client_entry& e = clients().add("here", {}, home);
    return e;
}

/// Returns every request as text, and "!" where the stream becomes invalid.
std::vector<std::string> cut(std::string_view bytes, std::size_t piece, const commands* known) {
    std::vector<std::string> seen;
    request_parser parser;
    session who;
    who.is_trusted = true;
    who.entry = &the_client();
    null_owner home;
    std::size_t start = 0;
    for (std::size_t end = std::min(piece, bytes.size());; end = std::min(end + piece, bytes.size())) {
        for (;;) {
            // a heap copy, so that a sanitizer finds reads beyond its end
            const std::string given{bytes.substr(start, end - start)};
            const auto outcome = parser.parse(given, limits);
            if (outcome == request_parser::parse_result::incomplete) break;
            if (outcome == request_parser::parse_result::malformed) {
                seen.emplace_back("!");
                return seen;
            }
            demand(parser.length() > 0 && parser.length() <= given.size());
            demand(parser.words().size() <= limits.arguments);
            std::string all;
            for (const std::string_view w : parser.words()) all.append(w).push_back('\0');
            demand(all.size() <= limits.bytes + limits.arguments);
            seen.push_back(all);
            if (known != nullptr && !parser.words().empty()) {
                request r{home};
                if (known->process(who, parser.words(), r) == commands::command_result::submit) r.run();
                demand(r.answer.size() >= 3 && r.answer.ends_with("\r\n"));
            }
            start += parser.length();
            parser.restart();
        }
        if (end == bytes.size()) return seen;
    }
}

}  // namespace
}  // namespace tutti::server

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tutti::server;
    if (size == 0) return 0;
    static const auto* const procedures = [] {
        auto* const made = new catalog;
        made->add("add", {}, [](long a, int b) { return a / 2 + b; });
        made->add("join", {}, [](const std::vector<std::string>& words) { return words; });
        made->add("maybe", {}, [](std::optional<double> x, std::optional<bool> y) { return std::pair{x, y}; });
        made->close();
        return made;
    }();
    static accounts nobody_in_particular{std::vector<user>{}};
    static timeline shown{1};
    static reply_cache answers{{.answers = 100, .bytes = 100'000, .time = std::chrono::minutes{1}}};
    static slow_log slow{std::chrono::microseconds{0}, 10};
    static const settings how{.max_request = 4096};
    static unused_service_control control;
    static const commands known{{.how = how,
                                 .procedures = *procedures,
                                 .users = nobody_in_particular,
                                 .recorder = shown,
                                 .clients = clients(),
                                 .replies = answers,
                                 .slow = slow,
                                 .control = control}};
    const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
    const auto whole = cut(bytes, bytes.size() + 1, &known);
    const auto pieces = cut(bytes, data[0] % 32 + 1, nullptr);
    demand(whole == pieces);
    return 0;
}

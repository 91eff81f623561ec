// Leaders and followers in one process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "server/client.hpp"
#include "server/durability/ledger.hpp"
#include "server/durability/log_folder.hpp"
#include "server/journal/machine_secret.hpp"
#include "tutti/server/service.hpp"

namespace tutti::server {

using namespace std::chrono_literals;

/// Authenticates a client as servers of one user on one machine do, so that the client may send a follower's requests.
inline void admit(client& c) { EXPECT_EQ(c({"FOLLOW", "AUTH", journal::machine_secret()}), "OK"); }

/// A server of the ledger in this process. Two of them exist, so both use threads.
struct bank {
    explicit bank(settings how, bool with_snapshot = true) : serves{std::move(how)} {
        state = ledger::add(serves.procedures(), with_snapshot);
        serves.start();
    }
    [[nodiscard]] std::vector<std::uint64_t> cells() const {
        std::vector<std::uint64_t> all;
        tutti::atomically([&](tutti::tx& t) {
            all.clear();
            for (auto& c : state->cells) all.push_back(c.get(t));
            all.push_back(static_cast<std::uint64_t>(state->left.get(t)));
        });
        return all;
    }
    std::string operator()(const std::vector<std::string>& words) const {
        client c{serves.port()};
        if (words[0] == "FOLLOW") admit(c);
        return c(words);
    }
    [[nodiscard]] bool says(const std::string& what) const { return serves.info().find(what) != std::string::npos; }

    service serves;
    std::shared_ptr<ledger::data> state;
};

class servers : public log_folder {
protected:
    settings with_log(const std::string& name) {
        settings how = logging_to(name, log_sync::always);
        how.port = 0;
        how.workers = 2;
        how.executor = execution::threads;
        return how;
    }
    settings following(const std::string& name, std::uint16_t port) {
        settings how = with_log(name);
        how.follow = {.host = "127.0.0.1", .port = port};
        return how;
    }
    bool has_notice(const std::string& what) { return notices().find(what) != std::string::npos; }
    int count_notices(const std::string& what) {
        const std::string all = notices();
        int times = 0;
        for (std::size_t at = all.find(what); at != std::string::npos; at = all.find(what, at + 1)) ++times;
        return times;
    }
    static std::string why_not(settings how) { return refusal_of<bank>(std::move(how)); }
    /// Polls until the condition holds; only the test's own time limit applies.
    template <class F>
    static void until(const F& holds) {
        while (!holds()) std::this_thread::sleep_for(1ms);
    }
    static void until_same(const bank& a, const bank& b) {
        until([&] { return a.cells() == b.cells(); });
    }
    static void write(const bank& to, int calls, int from = 1) {
        client c{to.serves.port()};
        for (int i = from; i < from + calls; ++i)
            EXPECT_EQ(c({"CALL", "next", "0", std::to_string(i)}), std::to_string(i));
    }
};

}  // namespace tutti::server

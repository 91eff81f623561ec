// A server of the ledger in this process, with a log.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/durability/ledger.hpp"
#include "server/durability/log_folder.hpp"
#include "tutti/server/service.hpp"

namespace tutti::server {

class durability : public log_folder {
protected:
    settings with_log(log_sync sync = log_sync::every_second) {
        settings how = logging_to("log", sync);
        how.workers = 4;
        if (std::getenv("TUTTI_TEST_THREADS") != nullptr) how.executor = execution::threads;
        return how;
    }

    /// Copies the log's files as they are now, which is their state after a kill.
    void copy_as_if_killed(const std::string& to) const {
        for (const char* const suffix : {"", "-wal"}) {
            if (std::filesystem::exists(file() + suffix)) std::filesystem::copy_file(file() + suffix, to + suffix);
        }
    }
};

struct bank {
    explicit bank(settings how, bool with_snapshot = false) : serves{std::move(how)} {
        state = ledger::add(serves.procedures(), with_snapshot);
        serves.start();
    }
    std::vector<std::uint64_t> cells() const {
        std::vector<std::uint64_t> all;
        for (auto& c : state->cells) all.push_back(c.load());
        all.push_back(static_cast<std::uint64_t>(state->left.load()));
        all.push_back(static_cast<std::uint64_t>(state->right.load()));
        return all;
    }
    std::string raw(std::string_view name, std::vector<std::string> arguments = {}) {
        std::promise<std::string> answered;
        serves.call_raw(name, std::move(arguments), {},
                        [&](std::string_view a) { answered.set_value(std::string{a}); });
        return answered.get_future().get();
    }

    service serves;
    std::shared_ptr<ledger::data> state;
};

/// Makes calls that conflict in every way, from several threads.
inline void mix(bank& b, std::size_t calls, unsigned cells) {
    std::vector<std::thread> callers;
    for (unsigned caller = 0; caller < 4; ++caller) {
        callers.emplace_back([&, caller] {
            std::mt19937 random{caller + 1};
            const auto cell = [&] { return std::size_t{random()} % cells; };
            std::vector<std::future<std::uint64_t>> mixes;
            std::vector<std::future<void>> puts;
            for (std::size_t i = 0; i < calls; ++i) {
                if (random() % 3 == 0) puts.push_back(b.serves.call<void>("put", {}, cell(), random()));
                else mixes.push_back(b.serves.call<std::uint64_t>("mix", {}, cell(), cell()));
                if (i % 64 != 63) continue;
                for (auto& m : mixes) m.get();
                for (auto& p : puts) p.get();
                mixes.clear();
                puts.clear();
            }
            for (auto& m : mixes) m.get();
            for (auto& p : puts) p.get();
        });
    }
    for (auto& c : callers) c.join();
}

}  // namespace tutti::server

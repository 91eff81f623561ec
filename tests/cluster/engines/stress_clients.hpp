// Clients that go on through every failure of their engine, and a check afterwards.
#pragma once

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/engines/journal.hpp"
#include "support/random.hpp"

namespace tutti::cluster::testing {

inline constexpr unsigned clients = 3;
inline constexpr std::uint64_t objects = 5;

/// Clients that go on through every failure. Each block of a client links to the client's previous block through an
/// object that no other client writes. The chains therefore show at the end which blocks have committed.
class stress_clients {
public:
    stress_clients(std::string address, std::uint64_t seed, const tls_options& tls = {})
        : address_{std::move(address)}, seed_{seed} {
        how_.address = address_;
        how_.tls = tls;
        how_.request_timeout = std::chrono::seconds{20};  // a server that has just started is slow
        const node here{how_};
        atomically([&](tx& t) {
            for (std::uint64_t i = 0; i < objects + clients; ++i) at(here, i).publish(t, {0});
        });
        how_.request_timeout = std::chrono::milliseconds{700};
        for (unsigned c = 0; c < clients; ++c) threads_.emplace_back([this, c] { live(c); });
    }
    ~stress_clients() { stop(); }

    /// Returns when `count` more blocks have committed.
    void let_commit(std::uint64_t count) const {
        const std::uint64_t until = acknowledged_.load() + count;
        while (acknowledged_.load() < until) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    [[nodiscard]] std::uint64_t acknowledged() const noexcept { return acknowledged_.load(); }
    [[nodiscard]] std::uint64_t errors() const noexcept { return errors_.load(); }
    void stop() {
        stop_ = true;
        for (std::thread& t : threads_) t.join();
        threads_.clear();
    }

    /// Waits until the engine answers again. Returns a description of the error, or an empty string.
    std::string judge(const std::string& address) {
        stop();
        how_.address = address;
        how_.request_timeout = std::chrono::seconds{20};
        const node here{how_};
        std::set<std::uint64_t> chained;
        for (unsigned c = 0; c < clients; ++c) {
            std::uint64_t tag = atomically([&](tx& t) { return at(here, objects + c).read(t).tag; });
            while (tag != 0) {
                if (!chained.insert(tag).second) return "a block is in its chain twice";
                std::uint64_t before = 0;
                for (const auto& [object, seen] : past_.of(tag).reads) {
                    if (object == objects + c) before = seen;
                }
                tag = before;
            }
        }
        for (const std::uint64_t tag : sure_) {
            if (!chained.contains(tag)) return "a block that was acknowledged is lost";
        }
        for (const std::uint64_t tag : failed_) {
            if (chained.contains(tag)) return "a block that was reported without effect has had one";
        }
        for (const std::uint64_t tag : restarted_) {
            if (chained.contains(tag)) return "a block that was run again had had an effect";
        }
        for (const std::uint64_t tag : chained) past_.of(tag).committed = true;
        std::printf("%zu acknowledged, %zu refused, %zu unknown\n", sure_.size(), failed_.size(), unknown_);
        return past_.judge();
    }

private:
    static ref<tagged> at(const node& n, std::uint64_t i) { return {n, {0, i}}; }

    void live(unsigned c) {
        support::random dice{seed_ * 31 + c};
        std::unique_ptr<node> mine;
        while (!stop_.load()) {
            std::uint64_t tag = 0;
            try {
                if (!mine) mine = std::make_unique<node>(how_);
                const std::uint64_t plan = dice.below(~std::uint64_t{0});
                atomically([&](tx& t) {
                    support::random steps{plan};
                    if (tag != 0) note(restarted_, tag);
                    tag = past_.begin(c);
                    const std::uint64_t first = steps.below(objects), second = (first + 1 + steps.below(4)) % objects;
                    for (const std::uint64_t i : {objects + c, first, second})
                        past_.of(tag).reads.emplace_back(i, at(*mine, i).read(t).tag);
                    for (const std::uint64_t i : {objects + c, first}) {
                        at(*mine, i).write(t).tag = tag;
                        past_.of(tag).writes.push_back(i);
                    }
                });
                note(sure_, tag);
                acknowledged_.fetch_add(1);
            } catch (const outcome_unknown&) {
                const std::lock_guard hold{guard_};
                ++unknown_;
                errors_.fetch_add(1);
            } catch (const node_lost&) {
                note(failed_, tag);
                errors_.fetch_add(1);
                std::this_thread::sleep_for(std::chrono::milliseconds{1});
            } catch (const std::length_error&) {  // the engine refuses writes
                note(failed_, tag);
                errors_.fetch_add(1);
                std::this_thread::sleep_for(std::chrono::milliseconds{1});
            } catch (const connection_error&) {
                errors_.fetch_add(1);
                std::this_thread::sleep_for(std::chrono::milliseconds{5});
            }
        }
    }
    void note(std::vector<std::uint64_t>& where, std::uint64_t tag) {
        const std::lock_guard hold{guard_};
        where.push_back(tag);
    }

    const std::string address_;
    const std::uint64_t seed_;
    engine_options how_;
    journal past_{1'000'000};
    std::mutex guard_;
    std::vector<std::uint64_t> sure_, failed_, restarted_;
    std::size_t unknown_ = 0;
    std::atomic<std::uint64_t> acknowledged_{0}, errors_{0};
    std::atomic<bool> stop_{false};
    std::vector<std::thread> threads_;
};

}  // namespace tutti::cluster::testing

// Commits whose answers are lost, and the commit records that tell their results.
#include "cluster/engines/suite.hpp"

#include <stdexcept>
#include <utility>
#include <vector>

#include "cluster/backend/address.hpp"
#include "cluster/backend/exactly_once.hpp"
#include "cluster/engines/wrapped.hpp"
#include "support/random.hpp"

namespace tutti::cluster::testing {
namespace {

/// An engine that loses answers to commits. A commit may have happened, or not, or happens a while later.
class forgetful final : public wrapped {
public:
    forgetful(std::unique_ptr<engine> of, std::uint64_t seed) : wrapped{std::move(of)}, dice_{seed} {}
    void commit(backend::request& r) override {
        // A late commit arrives before the one that aborts it, or long after its owner learned that it never happens.
        if (dice_.one_in(2)) deliver();
        const std::uint64_t what = dice_.below(6);
        if (what == 1) {
            late_.push_back({{r.checks.begin(), r.checks.end()}, {r.writes.begin(), r.writes.end()}});
        } else if (what != 2) {
            wrapped::commit(r);
        }
        if (what <= 2) r.status = backend::engine_status::unknown;
    }

private:
    struct kept {
        std::vector<backend::check> checks;
        std::vector<backend::write> writes;
    };
    void deliver() {
        for (const kept& k : late_) {
            backend::request r;
            r.checks = k.checks;
            r.writes = k.writes;
            wrapped::commit(r);
        }
        late_.clear();
    }

    support::random dice_;
    std::vector<kept> late_;
};

/// Notes which commit records were written, and loses an answer on demand.
class noting final : public wrapped {
public:
    using wrapped::wrapped;
    void commit(backend::request& r) override {
        for (const backend::write& w : r.writes) {
            if (w.of.starts_with("m")) mark = w.of;
        }
        if (!std::exchange(lose_next, false)) return wrapped::commit(r);
        r.status = backend::engine_status::unknown;  // the commit may take effect later
    }
    backend::key mark;
    bool lose_next = false;
};

}  // namespace

std::string lost_answers_are_found_out(const under_test& e, std::size_t rounds) {
    const engine_options how = e.options();
    const backend::settings same{how.prefix, how.request_timeout};
    forgetful engine{backend::open_engine(how.address, same), 7};
    const auto judge = backend::open_engine(how.address, same);
    backend::exactly_once committer{engine, std::chrono::seconds{10}};
    const backend::key one{"ocount"};
    std::vector<backend::record> found;
    const auto look = [&] {
        backend::read_snapshot any;
        if (judge->get(any, backend::freshness::now, {}, {&one, 1}, found) != backend::engine_status::good)
            throw std::runtime_error{"it cannot be read"};
        return found.front();
    };
    std::uint64_t acknowledged = 0;
    for (std::size_t i = 0; i < rounds; ++i) {
        while (true) {
            const backend::record now = look();
            std::vector<backend::check> checks{{one, now.at}};
            std::vector<backend::write> writes{
                {one, true, std::to_string((now.bytes.empty() ? 0 : std::stoull(now.bytes)) + 1)}};
            backend::version at = 0;
            const backend::engine_status result = committer.commit(checks, writes, at);
            if (result == backend::engine_status::unknown)
                return "an outcome stays unknown, although the engine answers";
            if (result == backend::engine_status::good) break;
        }
        ++acknowledged;
        // Checks after each commit, so that one extra and one missing increment do not cancel out.
        if (const std::string bytes = look().bytes; bytes != std::to_string(acknowledged))
            return "the count is " + bytes + " after " + std::to_string(acknowledged) + " acknowledged increments";
    }
    return {};
}

std::string commit_records_are_forgotten(const under_test& e) {
    const engine_options how = e.options();
    noting engine{backend::open_engine(how.address, {how.prefix, how.request_timeout})};
    // Returns true if the commit record does not exist after its owner is gone.
    const auto is_forgotten = [&](bool lost) {
        {
            backend::exactly_once committer{engine, how.request_timeout};
            engine.lose_next = lost;
            std::vector<backend::check> checks;
            std::vector<backend::write> writes{{"o1", true, "x"}};
            backend::version at = 0;
            if ((committer.commit(checks, writes, at) == backend::engine_status::good) == lost)
                throw std::runtime_error{"the outcome is another than the one that was arranged"};
        }
        backend::read_snapshot any;
        std::vector<backend::record> found;
        if (engine.get(any, backend::freshness::now, {}, {&engine.mark, 1}, found) != backend::engine_status::good)
            throw std::runtime_error{"it cannot be read"};
        return found.front().at == 0;
    };
    if (!is_forgotten(false)) return "a commit record of a program that has ended is still there";
    if (is_forgotten(true))
        return "a commit record is gone that a late commit would take for one that was never written";
    return {};
}

}  // namespace tutti::cluster::testing

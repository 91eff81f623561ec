// A group of a simulation, as a program's code sees it. The code calls this group as `group_client` and
// `raft_group_engine` call a real one, but on a simulated stack and by the simulation's clock.
#pragma once

#include <string>

#include "cluster/backend/group_engine.hpp"
#include "cluster/replica/group.hpp"
#include "cluster/replica/simulated_stack.hpp"

namespace tutti::cluster::replica::testing {

/// The simulation's time, read from a clock of the program.
class simulated_env final : public backend::runtime_env {
public:
    simulated_env(event_queue& events, simulated_stack& of) : events_{events}, stack_{of}, clock_{events} {}
    [[nodiscard]] skewed_clock& process_clock() noexcept { return clock_; }
    [[nodiscard]] clock::time_point now() const override {
        return clock::time_point{std::chrono::microseconds{clock_.now()}};
    }
    void pause(std::chrono::milliseconds how_long) const override;
    [[nodiscard]] std::string random_id() const override {
        return std::to_string(events_.below(~std::uint64_t{0})) + "." + std::to_string(events_.below(1u << 30));
    }

private:
    event_queue& events_;
    simulated_stack& stack_;
    skewed_clock clock_;
};

class simulated_group final : public backend::group_engine {
public:
    /// `request_timeout` limits one answer; `for_all` limits all tries.
    simulated_group(event_queue& events, simulated_stack& by, group& of, std::uint64_t number,
                    const backend::runtime_env& env, instant request_timeout, instant for_all);

    const backend::capabilities& abilities() const noexcept override { return abilities_; }
    const backend::runtime_env& env() const noexcept override { return env_; }
    backend::engine_status get(backend::read_snapshot& of, backend::freshness how, std::span<const backend::check> held,
                               std::span<const key> wanted, std::vector<backend::record>& found) override;
    void commit(backend::request& r) override;
    /// Forgets the keys. No program waits for this, so it may be lost.
    void forget(std::span<const key> all) noexcept override;
    std::unique_ptr<backend::key_feed> open_key_feed() override { return nullptr; }
    std::uint64_t number() const noexcept override { return number_; }
    std::function<void()> begin_prepare(const backend::blocking_transaction& who, backend::request& r,
                                        std::chrono::milliseconds request_timeout) override;
    std::function<bool()> begin_finish(const std::string& id, bool commits,
                                       std::chrono::milliseconds request_timeout) override;
    backend::engine_status list(backend::list_cursor& from, const backend::slot_set& slots,
                                std::vector<backend::change>& found) override;
    backend::engine_status list_changes(backend::list_cursor& from, const backend::slot_set& slots,
                                        std::vector<backend::change>& found) override;
    void import_records(backend::request& r, std::span<const backend::change> records,
                        backend::version absence) override;

private:
    struct asked {
        question what;
        instant late = 0;
        simulated_stack::promise<answer> first;
    };
    [[nodiscard]] simulated_stack::promise<answer> send(const question& q);
    [[nodiscard]] asked begin(question q);
    /// Ends a request. If the request must not be sent twice, a missing answer makes its outcome unknown.
    answer end(const asked& a, bool twice);
    [[nodiscard]] std::function<void()> begin_to_decide(backend::request& r, question q);

    event_queue& events_;
    simulated_stack& stack_;
    group& group_;
    const std::uint64_t number_;
    const backend::runtime_env& env_;
    const instant request_timeout_, for_all_;
    backend::capabilities abilities_;
    raft_id leader_ = 1;
};

}  // namespace tutti::cluster::replica::testing

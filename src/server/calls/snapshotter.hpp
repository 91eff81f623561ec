// Decides when to take snapshots, and adds the snapshots to the log.
//
// A snapshot contains the data at one position of the log. The position is reserved while no transaction runs
// (dumping_process.hpp). So the snapshot contains the effects of each call with an earlier position, and of no call
// with a later position. Calls continue while a copy of the process dumps the data. The copy may fail for lack of
// memory, or because a dump crashes. Then the previous snapshot and the calls after it stay, and the server tries
// again. At the shutdown, the last snapshot is taken without a copy of the process, because no call runs any more.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "server/calls/catalog.hpp"
#include "server/calls/dumping_process.hpp"
#include "server/journal/journal.hpp"

namespace tutti::server {

/// The operations of a snapshot that a leader and a follower perform differently.
class snapshot_position {
public:
    snapshot_position() = default;
    snapshot_position(const snapshot_position&) = delete;
    snapshot_position& operator=(const snapshot_position&) = delete;
    virtual ~snapshot_position() = default;
    /// Called before running transactions are requested to restart.
    virtual void before_pause() {}
    /// Called after transactions continue.
    virtual void after_pause() noexcept {}
    /// Returns the position of the first call whose effects the data do not contain. Called while no transaction runs.
    /// Returns nullopt if no position can be reserved now.
    [[nodiscard]] virtual std::optional<std::uint64_t> current() noexcept = 0;
    /// Stores the snapshot that was begun. Returns an error, or an empty string if the snapshot is on the disk.
    [[nodiscard]] virtual std::string store(std::uint64_t position) = 0;
};

/// Implements the operations for a server that leads: the snapshot reserves a position of the journal for itself.
class leader_position final : public snapshot_position {
public:
    explicit leader_position(journal::journal& of) : of_{of} {}
    [[nodiscard]] std::optional<std::uint64_t> current() noexcept override;
    [[nodiscard]] std::string store(std::uint64_t position) override { return of_.store_snapshot(position); }

private:
    journal::journal& of_;
};

/// Takes snapshots on a thread of its own whenever the log has grown enough.
class snapshotter {
public:
    /// `log` receives error messages. @throws std::system_error
    snapshotter(journal::journal& of, const catalog& procedures, std::unique_ptr<snapshot_position> where,
                std::function<void(const std::string&)> log);
    ~snapshotter();
    snapshotter(const snapshotter&) = delete;
    snapshotter& operator=(const snapshotter&) = delete;

    /// Ends a snapshot in progress. No snapshots are taken afterwards, except by take_final(). Idempotent.
    void stop() noexcept;
    /// Takes the last snapshot if there is new data. REQUIRES: stop() was called, and no call runs any more.
    void take_final() noexcept;

private:
    using milliseconds = std::chrono::milliseconds;
    enum class attempt_result : std::uint8_t {
        stored,
        failed,  ///< the failure was reported
        busy     ///< calls ran for longer than the wait limit, or no position could be reserved
    };
    void work();
    [[nodiscard]] bool is_due() const;
    attempt_result take() noexcept;
    [[nodiscard]] bool begin(dumping_process& child, std::uint64_t& position);
    [[nodiscard]] std::string store(dumping_process& child, std::uint64_t position, std::uint64_t& bytes,
                                    std::uint64_t& copied) noexcept;
    void handle_busy();

    journal::journal& of_;
    const catalog& procedures_;
    const std::unique_ptr<snapshot_position> where_;
    const std::function<void(const std::string&)> log_;
    milliseconds wait_limit_;  // how long to wait for running calls to end
    std::mutex mutex_;         // guards the members below
    std::condition_variable changed_;
    bool ending_ = false;
    dumping_process* child_ = nullptr;
    std::thread thread_;
};

}  // namespace tutti::server

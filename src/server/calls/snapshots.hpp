// When snapshots are taken, of which instant, and how they get into the log.
//
// A snapshot is the data at one position of the log, which is drawn while no transaction runs (dumping_process.hpp). So
// it holds each call that has drawn an earlier position, and none that draws a later one. Calls go on while a copy of
// the process dumps. Where that cannot be done (no memory for a copy, a crash in a dump), the snapshot before it and
// the calls behind that stay, and it is tried again. The last snapshot is taken without a copy: no call runs any more.
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

/// What differs between a server that leads and one that follows.
class snapshot_position {
public:
    snapshot_position() = default;
    snapshot_position(const snapshot_position&) = delete;
    snapshot_position& operator=(const snapshot_position&) = delete;
    virtual ~snapshot_position() = default;
    /// Before transactions are asked to end, and after they go on.
    virtual void hold() {}
    virtual void let_go() noexcept {}
    /// The position of the first call that the data do not hold. Called while no transaction runs. nullopt: none can
    /// be drawn now.
    [[nodiscard]] virtual std::optional<std::uint64_t> now() noexcept = 0;
    /// Keeps the snapshot that was begun. Returns why it cannot be kept; empty: it is on disk.
    [[nodiscard]] virtual std::string keep(std::uint64_t position) = 0;
};

/// Of a server that leads: a position of the journal is the snapshot's own.
class leading_position final : public snapshot_position {
public:
    explicit leading_position(journal::journal& of) : of_{of} {}
    [[nodiscard]] std::optional<std::uint64_t> now() noexcept override;
    [[nodiscard]] std::string keep(std::uint64_t position) override { return of_.keep(position); }

private:
    journal::journal& of_;
};

/// Takes snapshots on a thread of its own whenever the log has grown enough.
class snapshots {
public:
    /// `tell` gets what went wrong. @throws std::system_error
    snapshots(journal::journal& of, const catalog& procedures, std::unique_ptr<snapshot_position> where,
              std::function<void(const std::string&)> tell);
    ~snapshots();
    snapshots(const snapshots&) = delete;
    snapshots& operator=(const snapshots&) = delete;

    /// Ends one that is under way, and takes no more. Idempotent.
    void stop() noexcept;
    /// The last one, if there is something new. REQUIRES: stop(), no call runs any more.
    void take_last() noexcept;

private:
    using milliseconds = std::chrono::milliseconds;
    enum class taken : std::uint8_t {
        kept,
        failed,  ///< which has been told
        busy     ///< calls ran for longer than it waits
    };
    void work();
    [[nodiscard]] bool is_due() const;
    taken take() noexcept;
    [[nodiscard]] bool begin(dumping_process& child, std::uint64_t& position);
    [[nodiscard]] std::string keep(dumping_process& child, std::uint64_t position, std::uint64_t& bytes,
                                   std::uint64_t& copied) noexcept;
    void note_busy();

    journal::journal& of_;
    const catalog& procedures_;
    const std::unique_ptr<snapshot_position> where_;
    const std::function<void(const std::string&)> tell_;
    milliseconds patience_;  // with calls that run
    std::mutex mutex_;       // of what follows
    std::condition_variable changed_;
    bool ending_ = false;
    dumping_process* child_ = nullptr;
    std::thread thread_;
};

}  // namespace tutti::server

// How far the log is known to be on the disk, kept in a small file beside it (`-end`). A log that ends earlier has lost
// something, however whole it looks.
//
// The journal writes the file after each fsync of the log, so the file never says too much. The file itself is synced
// once a second. After a crash of the process it is exact. After a crash of the machine it may say less than was
// durable. Two slots are written in turn, so a write that a crash cut short leaves the other slot whole.
//
// Thread safety: one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace tutti::server::journal {

class durable_end {
public:
    explicit durable_end(std::string file);
    ~durable_end();
    durable_end(const durable_end&) = delete;
    durable_end& operator=(const durable_end&) = delete;

    /// The position of the first call that may be missing; none: the file is not there, or is new.
    /// @throws store_error  if it cannot be read, or is damaged
    [[nodiscard]] std::optional<std::uint64_t> read();
    /// All before `end` is on the disk. An error is left for later: an old number only finds less.
    void note(std::uint64_t end) noexcept;
    /// From now on less than that: on the disk when this returns. @throws store_error
    void lower(std::uint64_t end);

private:
    void open();
    [[nodiscard]] bool write(std::uint64_t end) noexcept;
    [[noreturn]] void fail(const std::string& doing) const;

    const std::string file_;
    int descriptor_ = -1;
    std::uint64_t turn_ = 0, last_ = 0;
    std::chrono::steady_clock::time_point synced_{};
};

}  // namespace tutti::server::journal

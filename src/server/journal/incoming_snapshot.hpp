// A snapshot that is being written to the log's file. The object accepts parts one by one and writes them in batches,
// so that the journal can write groups of calls between two batches. Only one batch is in memory.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::server::journal {

class journal;

class incoming_snapshot {
public:
    /// Drops the remains of an earlier snapshot. REQUIRES: no other snapshot of that journal exists.
    /// @throws log_store_error
    explicit incoming_snapshot(journal& to);
    incoming_snapshot(const incoming_snapshot&) = delete;
    incoming_snapshot& operator=(const incoming_snapshot&) = delete;

    /// Accepts a part, and writes the batch if it is full. @throws log_store_error
    void put(std::string part);
    /// Removes all parts except for the first `count`. @throws log_store_error
    void truncate(std::uint64_t count);
    /// Writes the remaining parts to the file. @throws log_store_error
    void flush();

    [[nodiscard]] std::uint64_t count() const noexcept { return written_ + batch_.size(); }
    /// Returns the number of bytes of all parts that `put` accepted.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

private:
    journal& to_;
    std::vector<std::string> batch_;
    std::size_t batch_bytes_ = 0;
    std::uint64_t written_ = 0, bytes_ = 0;
};

}  // namespace tutti::server::journal

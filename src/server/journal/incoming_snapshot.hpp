// A snapshot on its way into the file: it takes parts as they come and adds them in batches, so that groups of calls
// are written between two batches. It keeps one batch in memory.
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
    /// Drops what an earlier one has left. REQUIRES: there is no other for that journal. @throws store_error
    explicit incoming_snapshot(journal& to);
    incoming_snapshot(const incoming_snapshot&) = delete;
    incoming_snapshot& operator=(const incoming_snapshot&) = delete;

    /// @throws store_error
    void put(std::string part);
    /// Takes back all parts but the first `count`. @throws store_error
    void take_back(std::uint64_t count);
    /// Adds what is left to the file. @throws store_error
    void flush();

    [[nodiscard]] std::uint64_t count() const noexcept { return written_ + batch_.size(); }
    /// Of all parts that were put.
    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

private:
    journal& to_;
    std::vector<std::string> batch_;
    std::size_t batch_bytes_ = 0;
    std::uint64_t written_ = 0, bytes_ = 0;
};

}  // namespace tutti::server::journal

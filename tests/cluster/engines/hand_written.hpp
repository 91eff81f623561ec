// A user's code without Tutti: the same transaction in each engine's own client library.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace tutti::cluster::testing {

/// The client of one thread.
class hand_written {
public:
    virtual ~hand_written() = default;
    /// Reads both objects and adds one to each. Returns false if the transaction has to run again.
    virtual bool add_one(std::uint64_t a, std::uint64_t b) = 0;
    virtual bool read(std::uint64_t a, std::uint64_t b) = 0;
};

/// `shared` is the connection of all threads, for libraries that share one.
[[nodiscard]] std::shared_ptr<void> open_shared(const std::string& engine, const std::string& address);
[[nodiscard]] std::unique_ptr<hand_written> make_hand_written(const std::string& engine, const std::string& address,
                                                              const std::shared_ptr<void>& shared);
/// Creates the objects 0 to count - 1.
void fill_by_hand(const std::string& engine, const std::string& address, std::uint64_t count);

}  // namespace tutti::cluster::testing

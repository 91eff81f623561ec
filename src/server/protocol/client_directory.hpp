// The clients of all I/O threads, for the commands CLIENT LIST, INFO and KILL. A connection belongs to its I/O thread.
// The connection's entry in the directory contains the data that other threads may read. The entry records how much
// memory the connection holds, for the choice of connections to close (eviction.hpp). The entry also records whether
// the server admitted the client beyond the limit on clients because the client may be an admin.
//
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "server/calls/executor.hpp"
#include "server/protocol/principal.hpp"

namespace tutti::server {

class client_directory {
public:
    /// An I/O thread, which owns clients and closes them.
    class client_owner {
    public:
        /// Reports that one of the owner's clients has been marked to be closed. Any thread may call this function,
        /// which must not block.
        virtual void check_killed() noexcept = 0;

    protected:
        ~client_owner() = default;
    };

    /// Whether a client that was admitted beyond the limit on clients has shown that it is an admin.
    enum class provisional_state : std::uint8_t {
        confirmed,       ///< the client keeps its connection; also the state of clients within the limit
        not_logged_in,   ///< the client has not logged in
        names_operator,  ///< the client's first login names an admin
    };

    class client_entry {
    public:
        client_entry(std::uint64_t id, std::string address, instant now, client_owner& where)
            : id_{id}, address_{std::move(address)}, arrived_{now}, io_owner_{where}, last_request_{now} {}

        [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
        [[nodiscard]] const std::string& address() const noexcept { return address_; }
        [[nodiscard]] bool is_killed() const noexcept { return is_killed_.load(std::memory_order_acquire); }
        /// Called by the client's I/O thread.
        void record_request(instant now) noexcept { last_request_.store(now, std::memory_order_relaxed); }
        /// The reason for which the client is closed: CLIENT KILL, or the protection of other clients.
        enum class reason : std::uint8_t { killed, memory, displaced };
        [[nodiscard]] reason close_reason() const noexcept { return close_reason_.load(std::memory_order_relaxed); }
        [[nodiscard]] std::size_t held() const noexcept { return held_.load(std::memory_order_relaxed); }

    private:
        friend class client_directory;
        const std::uint64_t id_;
        const std::string address_;
        const instant arrived_;
        client_owner& io_owner_;
        std::string name_, library_, version_;  // guarded by the directory's mutex
        std::atomic<instant> last_request_;
        // Guarded by the directory's mutex:
        provisional_state provisional_state_ = provisional_state::confirmed;
        bool has_named_operator_ = false;
        std::shared_ptr<principal> origin_;  // the principal of its address, while the client is provisional
        std::shared_ptr<principal> owner_;
        std::atomic<std::size_t> held_{0};  // bytes, as last reported by the client's I/O thread
        std::atomic<reason> close_reason_{reason::killed};
        std::atomic<bool> is_killed_{false};
    };

    /// @throws std::bad_alloc
    [[nodiscard]] client_entry& add(std::string address, instant now, client_owner& where);
    void remove(client_entry& e) noexcept;

    /// These functions store what a client reports about itself. They return false if the value is not a printable word
    /// without blanks.
    [[nodiscard]] bool set_name(client_entry& e, std::string_view name);
    [[nodiscard]] bool set_library(client_entry& e, std::string_view name);
    [[nodiscard]] bool set_version(client_entry& e, std::string_view version);
    [[nodiscard]] std::string name_of(const client_entry& e) const;

    /// `list` returns a line for each client, in the order of arrival. `line_of` returns the line of one client. The
    /// lines have Redis's format.
    [[nodiscard]] std::string list(instant now) const;
    [[nodiscard]] std::string line_of(const client_entry& e, instant now) const;

    /// Makes the memory of `e` count as memory of this principal.
    void set_owner(client_entry& e, std::shared_ptr<principal> owner);
    [[nodiscard]] std::string owner_of(const client_entry& e) const;
    /// Records how much memory a client holds now. Only the client's I/O thread calls this function. The value is
    /// rounded down to a kibibyte, so that small requests do not cause writes to memory that all I/O threads share.
    void set_held(client_entry& e, std::size_t bytes) noexcept;
    /// Returns the bytes that all clients hold.
    [[nodiscard]] std::size_t held() const noexcept { return held_.load(std::memory_order_relaxed); }
    /// Closes connections until the remaining connections hold at most `limit` bytes. Returns the number of closed
    /// connections. Connections that are already being closed do not count. O(n log n) for n clients.
    /// @throws std::bad_alloc
    std::size_t evict(std::size_t limit);

    // ---- clients beyond the limit
    void set_provisional(client_entry& e, provisional_state now);
    [[nodiscard]] bool is_provisional(const client_entry& e) const;
    /// Records that a provisional client tries to log in as an admin. The first such login protects the client from
    /// displace() while there are provisional clients without such a login.
    void record_operator_login(client_entry& e);
    /// Closes a provisional client to make room for another client. Prefers clients that have not named an admin, and
    /// among these chooses the oldest client of the address with the most clients. Returns false if no client is
    /// provisional.
    bool displace() noexcept;

    struct filter {
        std::optional<std::uint64_t> id;
        std::optional<std::string_view> address;
        const client_entry* spared = nullptr;
    };
    /// Closes the clients that match. Returns their number.
    std::size_t kill(const filter& which);

private:
    static void mark(client_entry& e, client_entry::reason why) noexcept;
    static std::string described(const client_entry& e, instant now);

    mutable std::mutex mutex_;
    std::map<std::uint64_t, client_entry> all_;
    std::map<std::uint64_t, client_entry*> provisional_;
    std::atomic<std::size_t> held_{0};
    std::uint64_t next_id_ = 1;
};

}  // namespace tutti::server

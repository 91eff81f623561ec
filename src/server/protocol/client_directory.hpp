// All clients, whichever I/O thread has them: for CLIENT LIST, INFO and KILL. A connection belongs to its I/O thread,
// and its entry here shows other threads what they may see. The entry tells how much memory the connection holds, for
// the choice of those that are closed (eviction.hpp). It also tells whether the client was let in beyond the bound on
// clients because it may be an operator.
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
    /// An I/O thread, which has clients and closes them.
    class home {
    public:
        /// One of its clients has been marked. Any thread; must not wait.
        virtual void look_for_killed() noexcept = 0;

    protected:
        ~home() = default;
    };

    /// What the server knows of a client that it let in beyond the bound on clients, because it may be an operator.
    enum class standing : std::uint8_t {
        settled,         ///< every other client: its place is its own
        unknown,         ///< it has not logged in
        names_operator,  ///< its first login names an operator
    };

    class entry {
    public:
        entry(std::uint64_t id, std::string address, instant now, home& where)
            : id_{id}, address_{std::move(address)}, arrived_{now}, where_{where}, last_request_{now} {}

        [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
        [[nodiscard]] const std::string& address() const noexcept { return address_; }
        [[nodiscard]] bool killed() const noexcept { return killed_.load(std::memory_order_acquire); }
        /// By its I/O thread.
        void note_request(instant now) noexcept { last_request_.store(now, std::memory_order_relaxed); }
        /// Why the client is closed: by CLIENT KILL, or by the server for the sake of others.
        enum class reason : std::uint8_t { killed, memory, displaced };
        [[nodiscard]] reason why() const noexcept { return why_.load(std::memory_order_relaxed); }
        [[nodiscard]] std::size_t held() const noexcept { return held_.load(std::memory_order_relaxed); }

    private:
        friend class client_directory;
        const std::uint64_t id_;
        const std::string address_;
        const instant arrived_;
        home& where_;
        std::string name_, library_, version_;  // under the directory's mutex
        std::atomic<instant> last_request_;
        // Under the directory's mutex:
        standing standing_ = standing::settled;
        bool has_named_operator_ = false;
        std::shared_ptr<principal> origin_;  // its address, while it is provisional
        std::shared_ptr<principal> owner_;
        std::atomic<std::size_t> held_{0};  // bytes, as its I/O thread saw it last
        std::atomic<reason> why_{reason::killed};
        std::atomic<bool> killed_{false};
    };

    /// @throws std::bad_alloc
    [[nodiscard]] entry& add(std::string address, instant now, home& where);
    void remove(entry& e) noexcept;

    /// What a client says of itself. What is no printable word without blanks is refused: false.
    [[nodiscard]] bool set_name(entry& e, std::string_view name);
    [[nodiscard]] bool set_library(entry& e, std::string_view name);
    [[nodiscard]] bool set_version(entry& e, std::string_view version);
    [[nodiscard]] std::string name_of(const entry& e) const;

    /// A line for each client, in the order of their arrival, as Redis writes them; or of one.
    [[nodiscard]] std::string list(instant now) const;
    [[nodiscard]] std::string line_of(const entry& e, instant now) const;

    /// What `e` holds counts for this principal.
    void set_owner(entry& e, std::shared_ptr<principal> owner);
    [[nodiscard]] std::string owner_of(const entry& e) const;
    /// Tells what a client holds now. Only its I/O thread calls this. Less than a kibibyte counts as nothing, so that
    /// clients with small requests do not write to memory that all I/O threads share.
    void set_held(entry& e, std::size_t bytes) noexcept;
    /// Returns the bytes that all clients hold.
    [[nodiscard]] std::size_t held() const noexcept { return held_.load(std::memory_order_relaxed); }
    /// Has connections closed so that at most `most` bytes are left, and returns their number. Connections that are
    /// marked already do not count. O(n log n) for n clients. @throws std::bad_alloc
    std::size_t evict(std::size_t most);

    // ---- clients beyond the bound
    void set_provisional(entry& e, standing now);
    [[nodiscard]] bool is_provisional(const entry& e) const;
    /// A provisional client asks to log in as an operator. Its first such login protects it from displace() as long as
    /// there are others.
    void name_operator(entry& e);
    /// Has a provisional client closed, so that another may come. It chooses one that has not named an operator, if
    /// there is one, and among them the oldest of the address that has the most. Returns false if no client is
    /// provisional.
    bool displace() noexcept;

    struct filter {
        std::optional<std::uint64_t> id;
        std::optional<std::string_view> address;
        const entry* spared = nullptr;
    };
    /// Has those closed that fit; returns how many.
    std::size_t kill(const filter& which);

private:
    static void mark(entry& e, entry::reason why) noexcept;
    static std::string described(const entry& e, instant now);

    mutable std::mutex mutex_;
    std::map<std::uint64_t, entry> all_;
    std::map<std::uint64_t, entry*> provisional_;
    std::atomic<std::size_t> held_{0};
    std::uint64_t next_id_ = 1;
};

}  // namespace tutti::server

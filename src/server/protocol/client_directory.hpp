// All clients, whichever I/O thread has them: for CLIENT LIST, INFO and KILL. A connection belongs to its I/O thread;
// what others may see of it is in here.
//
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "server/calls/executor.hpp"

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

    class entry {
    public:
        entry(std::uint64_t id, std::string address, instant now, home& where)
            : id_{id}, address_{std::move(address)}, arrived_{now}, where_{where}, last_request_{now} {}

        [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
        [[nodiscard]] const std::string& address() const noexcept { return address_; }
        [[nodiscard]] bool killed() const noexcept { return killed_.load(std::memory_order_acquire); }
        /// By its I/O thread.
        void note_request(instant now) noexcept { last_request_.store(now, std::memory_order_relaxed); }

    private:
        friend class client_directory;
        const std::uint64_t id_;
        const std::string address_;
        const instant arrived_;
        home& where_;
        std::string name_, library_, version_;  // under the directory's mutex
        std::atomic<instant> last_request_;
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

    struct filter {
        std::optional<std::uint64_t> id;
        std::optional<std::string_view> address;
        const entry* spared = nullptr;
    };
    /// Has those closed that fit; returns how many.
    std::size_t kill(const filter& which);

private:
    static std::string described(const entry& e, instant now);

    mutable std::mutex mutex_;
    std::map<std::uint64_t, entry> all_;
    std::uint64_t next_id_ = 1;
};

}  // namespace tutti::server

/// @file
/// The transaction server as a part of a program. The server runs procedures by priority and deadline. The program
/// itself calls procedures. Clients can also call them over sockets, if the settings contain an address.
///
///     tutti::server::service bank{{.workers = 2}};
///     bank.procedures().add("balance", {.priority = 4}, [](int account) { return accounts[account].load(); });
///     bank.start();
///     std::future<long> balance = bank.call<long>("balance", {.priority = 5}, 17);
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/server/procedure.hpp"
#include "tutti/server/settings.hpp"

namespace tutti::server {

/// The options of one call. For an option that is not set, the procedure's own option applies.
struct call_options {
    std::optional<int> priority{};
    std::optional<std::chrono::microseconds> deadline{};
};

/// The error reply to a call. `code` is stable, and `what()` is a text for people. docs/server.md lists the codes.
class TUTTI_EXPORT call_error : public std::runtime_error {
public:
    call_error(std::string code, const std::string& message) : std::runtime_error{message}, code_{std::move(code)} {}
    [[nodiscard]] const std::string& code() const noexcept { return code_; }

private:
    std::string code_;
};

/// The reasons why the shutdown of a server waits.
struct drain_obstacles {
    std::vector<std::string> lines{};  ///< for people: calls with procedure, caller and time, or other reasons
    bool saves_data = false;           ///< true: a snapshot is in progress, which takes long for much data
};

/// A transaction server. Thread safety: before `start`, one thread at a time may use it; afterwards, any thread may
/// query the server and call procedures. A single thread calls `start` and `drain`.
class TUTTI_EXPORT service {
public:
    /// @throws std::invalid_argument  if a setting is invalid; the message names it and a valid value
    explicit service(settings how);
    /// Calls `drain`. Exceptions of `at_end` functions are dropped here.
    ~service();
    service(const service&) = delete;
    service& operator=(const service&) = delete;

    /// Returns the registry. REQUIRES: the service has not started.
    [[nodiscard]] registry& procedures() noexcept;
    /// Registers the procedures of a shared object. REQUIRES: the service has not started. @throws registration_error
    void load(const std::string& shared_object);
    /// Sets a value for registry::setting. A second value for a name replaces the first. REQUIRES: the service has not
    /// started, and the procedures that use the setting are not loaded yet.
    void set(std::string name, std::string value);
    /// Returns the settings that no procedure has read.
    [[nodiscard]] std::vector<std::string> unused_settings() const;

    /// Throws the exceptions that `start` would throw. Does not check the addresses, because another process may be
    /// listening on them.
    /// REQUIRES: the service has not started and will not start.
    void check();

    /// Starts to serve. After an exception, you can only destroy the service.
    /// @throws std::system_error  if an address cannot be listened on
    /// @throws std::runtime_error  if an address cannot be found, or a certificate or key is unusable
    /// @throws std::invalid_argument  if this machine does not support the executor, its ticks, the number of workers
    /// or `migrate`
    /// @throws std::logic_error  if the service has started before, or the process runs another preemptive server
    void start();
    /// Shuts down. Rejects new calls, including the program's own. Finishes all accepted calls, sends their replies,
    /// and closes every connection. Then runs the functions registered by `at_end` on this thread. Idempotent. Does
    /// nothing if the service has not started. A procedure must not call this function.
    /// @throws the first exception of an `at_end` function
    void drain();

    /// Returns the reasons why `drain` waits. You can also call this function while `start` is still running. Flushes
    /// the log first. When this function returns, the log contains all calls whose replies were sent, unless the log
    /// cannot be written for half a second. So a program may exit without a longer wait. You can call this function
    /// from any thread, while this object lives.
    [[nodiscard]] drain_obstacles awaited_by_drain();

    [[nodiscard]] std::uint16_t port() const noexcept;  ///< 0 without TCP
    /// Returns the port of the metrics, or 0 if there is none. The port is known before the log is read: any thread may
    /// call this function, also during start().
    [[nodiscard]] std::uint16_t metrics_port() const noexcept;
    /// Makes this follower a leader, which accepts calls that write. Returns an empty string once the server leads, or
    /// the reason why it cannot lead. One thread at a time may call this function.
    [[nodiscard]] std::string promote();
    /// Makes a follower the leader, without losing a call whose reply was sent. Afterwards this server follows the new
    /// leader. `to` is HOST:PORT of the follower, as this server reaches it. If `to` is empty, the most advanced
    /// follower becomes the leader. Meanwhile, clients' calls that write wait for at most `time_limit`, and the
    /// program's own calls that write are rejected. Returns an empty string once the other server leads, or the reason
    /// why it does not. In that case this server usually remains the leader. If the other server was told to lead and
    /// has not answered, this server accepts no calls that write until it answers.
    [[nodiscard]] std::string hand_over(const std::string& to = {},
                                        std::chrono::milliseconds time_limit = std::chrono::seconds{10});
    /// Reads the files of `settings::tls` again. New connections use the new files, and existing connections keep their
    /// certificates. Returns false if no files are set, or if the service has not started.
    /// @throws std::runtime_error  if a file is unusable; the message names the file, and the old certificates stay in
    /// use
    bool renew_certificates();
    /// Returns the reply of the command INFO.
    [[nodiscard]] std::string info() const;
    /// Returns true if each thread that owns sockets has made progress since the last call of this function, or has
    /// ended. A watchdog should call this function regularly, from one thread. The result says nothing about
    /// procedures.
    [[nodiscard]] bool responds() noexcept;

    /// Calls a procedure by name. `then` receives the reply in RESP3, exactly once. `then` usually runs on the thread
    /// that ran the call. If the call is rejected at once, `then` runs on this thread before the function returns.
    /// `then` runs on another thread of the server in two cases: a more urgent call has displaced the waiting call, or
    /// the call has not ended after its time limit. `then` may run transactions. `then` must not throw, because an
    /// exception terminates the program. `then` must not wait for another call, because `then` may occupy the worker
    /// that this call needs. After the error STACKOVERFLOW, `then` may use at most 64 KiB of stack.
    /// REQUIRES: the service has started. @throws std::bad_alloc  in this case `then` is not called
    void call_raw(std::string_view name, std::vector<std::string> arguments, const call_options& how,
                  std::function<void(std::string_view)> then);

    /// Calls a procedure with typed arguments. R is void, a number, bool or std::string. An argument is a number or a
    /// string. The future throws call_error, or bad_argument if the reply is not an R.
    template <class R, class... A>
    [[nodiscard]] std::future<R> call(std::string_view name, const call_options& how, const A&... arguments);

private:
    class impl;
    std::unique_ptr<impl> impl_;
};

namespace detail {

/// Returns the text between the type's character and the end of the first line. Throws call_error if that line is an
/// error.
[[nodiscard]] TUTTI_EXPORT std::string_view scalar_of(std::string_view answer);

template <class T>
std::string print(const T& value) {
    if constexpr (std::convertible_to<const T&, std::string_view>) {
        return std::string{std::string_view{value}};
    } else {
        std::string text;
        reply to{text};
        codec<T>::encode(to, value);
        return std::string{scalar_of(text)};
    }
}

}  // namespace detail

template <class R, class... A>
std::future<R> service::call(std::string_view name, const call_options& how, const A&... arguments) {
    auto promised = std::make_shared<std::promise<R>>();
    std::future<R> later = promised->get_future();
    call_raw(name, {detail::print(arguments)...}, how, [promised](std::string_view answer) {
        try {
            const std::string_view scalar = detail::scalar_of(answer);
            if constexpr (std::is_void_v<R>) promised->set_value();
            else promised->set_value(codec<R>::decode(scalar));
        } catch (...) {
            promised->set_exception(std::current_exception());
        }
    });
    return later;
}

}  // namespace tutti::server

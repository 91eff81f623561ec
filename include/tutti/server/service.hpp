/// @file
/// The transaction server as a part of a program. The server runs procedures by priority and deadline. The program
/// itself calls procedures, and clients can call them over sockets if the program asks for sockets.
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

namespace tutti::server {

struct tls_files {
    std::string certificate{};  ///< PEM file, including its chain; empty: no TLS
    std::string key{};
    std::string client_authority{};  ///< if set, a client needs a certificate that this authority has signed
    // These settings also apply to the connection to a server that this one follows.
    std::string minimum_version = "1.2";  ///< minimum version of TLS: 1.2 or 1.3
    std::string ciphers{};                ///< ciphers of TLS 1.2, as in openssl-ciphers(1); empty: OpenSSL's default
    std::string ciphersuites{};           ///< cipher suites of TLS 1.3, separated by colons; empty: OpenSSL's default
};

/// The longest duration that a setting may have: 100 years. With this limit, sums with clock times cannot overflow.
inline constexpr std::chrono::hours max_duration{24 * 36'525};

/// A user: name, password and permissions.
struct user {
    std::string name{};
    std::string password{};  ///< hash of the password as in crypt(5); `mkpasswd -m yescrypt` makes one
    std::vector<std::string> allowed_procedures{
        "*"};                             ///< procedures that the user may call, as patterns of fnmatch(3): *, ?, [a-z]
    int max_priority = highest_priority;  ///< highest priority of the user's calls, also of more urgent procedures
    unsigned rate = 0;                    ///< calls per second on average, and as many at once; 0: no limit
    /// True: the user may list and disconnect other clients (CLIENT LIST, CLIENT KILL), and record what runs
    /// (TIMELINE).
    bool is_admin = false;
    /// True: the user may run the commands of followers (FOLLOW), which read the whole log and can end a leader.
    bool replicates = false;
};

/// The executor of procedures.
enum class execution : std::uint8_t {
    /// Preemptive if the processor supports it (x86-64) and the process has no other preemptive server. Threads
    /// otherwise.
    automatic,
    threads,     ///< a worker finishes its call before it takes a more urgent one
    preemptive,  ///< a more urgent call interrupts a running one, which continues later
};

/// Settings of preemptive execution.
struct preemption_settings {
    std::string tick_source = "automatic";  ///< source of interrupts: automatic, kernel, on-demand, periodic, none
    unsigned contexts = 1024;        ///< maximum number of started calls that have not waited in retry; more wait
    std::size_t stack = 256 * 1024;  ///< bytes per call; memory is used only when touched
    /// Maximum number of preemptions of a call. After them, the call gets the highest priority of all procedures
    /// (C_max). Empty: no limit.
    std::optional<unsigned> max_preemptions{};
    bool lazy_priority_boost = false;  ///< each preemption raises a call's priority by one, up to C_max
    bool migrate = false;  ///< a preempted call may continue on another worker; not with `shared_thread_locals`
    /// True: calls use the thread-local variables of their worker. A call that is interrupted while it changes such a
    /// variable leaves the variable half changed to the next call. False: each started call has thread-local storage of
    /// its own, which takes one sleeping thread per call. Calls share the storage nevertheless if the processor or the
    /// kernel does not let a program set the base of FS (HWCAP2_FSGSBASE), and under AddressSanitizer.
    bool shared_thread_locals = false;
    /// The priority from which on calls run in real time. While a worker runs such a call, the worker has the lowest
    /// real-time priority, so other programs on its processor wait for the call. Empty: workers never have a real-time
    /// priority. Requires `io_realtime` of 2 or more, and its rights.
    std::optional<unsigned> realtime_min_priority{};
};

/// The importance of a message to an operator.
enum class severity : std::uint8_t { info, warning, error };

/// When the server flushes the log to the disk.
enum class log_sync : std::uint8_t {
    always,        ///< before the server sends a reply
    every_second,  ///< often enough that a crash loses only calls whose replies were sent within one second
    /// When the system chooses. If only the process ends, at most some tenths of a second of calls are lost.
    never,
};

/// Settings of durability. The server logs the committed calls, and a start restores the data from the log.
struct log_settings {
    std::string file{};  ///< path; empty: calls are not logged
    log_sync sync = log_sync::every_second;
    std::size_t max_pending = std::size_t{64} << 20;  ///< bytes that may wait to be written; beyond, calls get BUSY
    /// Bytes by which the log may grow before a snapshot replaces it. Applies if procedures can dump their data. A
    /// snapshot also replaces the log when the server ends. Zero: only then.
    std::size_t snapshot_after = std::size_t{64} << 20;
    /// The maximum time of a call that runs again from the log. A call that takes longer ends the start, because it
    /// waits for something that does not come.
    std::chrono::milliseconds replay_limit{60'000};
    /// Bytes of calls that the server keeps for followers after a snapshot has replaced them. A follower that was away
    /// for longer needs a copy of the snapshot.
    std::size_t replication_backlog = std::size_t{64} << 20;
    /// The number of followers that must have a writing call on their disks before the server replies. The reply is
    /// UNREPLICATED if this takes longer than `wait_followers_timeout`.
    unsigned wait_followers = 0;
    std::chrono::milliseconds wait_followers_timeout{1'000};
    /// The number of followers that a starting server waits for, if it follows no leader. Until that many followers
    /// have reported their logs, the server accepts no calls that write. So the server detects that its own log has
    /// lost calls before other calls replace them. A promotion ends the wait.
    unsigned await_followers = 0;
    // The server sets these two from `settings`: number of kept replies to calls with an ID, and for how long.
    std::size_t max_cached_replies = 10'000;
    std::chrono::milliseconds reply_cache_ttl{600'000};
};

/// The leader whose log this server follows, and the credentials for it.
struct leader_settings {
    std::string host{};  ///< empty: the server follows no leader
    std::uint16_t port = 7411;
    std::string user{};  ///< a user of the leader with `is_admin` or `replicates`; empty: no name is sent
    std::string password{};
    /// PEM file of authorities. If set, the connection uses TLS. The leader needs a certificate for `host` that one of
    /// these authorities has signed. This server presents its own certificate if it has one.
    std::string tls_authority{};
};

/// The settings of a server, for designated initializers. A server without an address has no socket.
struct settings {
    std::optional<std::uint16_t> port{};  ///< TCP port; 0: the system chooses a port
    std::string host = "127.0.0.1";       ///< address to listen on
    std::string unix_socket{};            ///< path; empty: no Unix socket
    std::optional<unsigned> unix_mode{};  ///< permissions of the socket's file, up to 0777; empty: as umask(2) says
    /// Listening sockets that the process has inherited, for instance by systemd's socket activation. The server uses
    /// them instead of `port` or in addition to it. At the end, the server leaves them listening, so that new clients
    /// wait for the next process that inherits them.
    std::vector<int> inherited{};
    std::string password{};  ///< password for AUTH; empty: clients need no password
    /// Users. If this list is not empty, a connection has to AUTH as one of them. A client that gives only a password
    /// is `default`. Excludes `password`.
    std::vector<user> users{};
    tls_files tls{};  ///< TLS for TCP connections
    /// True: every client may use the server. The server then listens beyond loopback without users, a password or TLS,
    /// and FOLLOW needs no credential. Use it only in a network that untrusted clients cannot reach.
    bool unprotected = false;
    /// The shared password of servers that follow one another; see docs/server-followers.md. Empty: users with
    /// `replicates`, or the secret that servers of one user on one machine share.
    std::string replication_password{};
    /// Port of the HTTP endpoint for monitoring programs: /metrics for Prometheus, /healthz, /readyz. 0: the system
    /// chooses a port. Call enable_statistics(true) to include commits and aborts in the metrics.
    std::optional<std::uint16_t> metrics_port{};
    std::string metrics_host = "127.0.0.1";

    /// True: a signal that ends the process (SIGSEGV, SIGABRT and similar) first reports on standard error the
    /// procedure and the place that raised it. This replaces the program's earlier handlers of these signals.
    /// `log_callback` also gets a line about a call that cannot be ended after its time limit. Another line reports a
    /// call that keeps its worker for `stuck_after`.
    bool report_crashes = false;
    /// The time for which a call may run without interruption by another call and without waiting in retry. Zero: such
    /// calls are not reported.
    std::chrono::milliseconds stuck_after{10'000};

    unsigned io_threads = 1;  ///< number of threads that own sockets
    /// Real-time priority of the I/O threads, 1 to 99 (SCHED_RR), or 0. Use it if other programs share the machine's
    /// processors, because a call waits for the I/O thread at its start and at its end. Requires CAP_SYS_NICE or a
    /// limit (RLIMIT_RTPRIO). An I/O thread with this priority also runs before workers on the same processor.
    int io_realtime = 0;
    /// Number of threads that run procedures, at most 64 with preemption. 0: the number of processors that I/O threads
    /// leave free, at least one.
    unsigned workers = 0;
    /// A worker may itself read and run calls of procedures that usually take less than this, so that the server need
    /// not wake another thread. The default is about the time to wake a thread. Zero: only I/O threads read.
    std::chrono::microseconds short_call_limit{20};

    /// True: the server reads clients in turn, instead of reading the client with the most urgent call first.
    bool round_robin_reads = false;

    execution executor = execution::automatic;
    preemption_settings preemption{};

    /// Maximum number of calls that wait for a worker. If the queue is full, the least urgent call gets BUSY. This is a
    /// waiting call if the new one has a higher priority, and the new one otherwise.
    std::size_t max_queued_calls = 10'000;
    /// Maximum number of connections. A further connection gets MAXCLIENTS and is closed. One more may connect through
    /// a Unix socket, so that an operator can always inspect the server.
    std::size_t max_clients = 10'000;
    /// Number of additional connections for operators: users with `is_admin`, or every client that knows the password.
    /// If the server has no login and listens beyond its own machine, clients on its own machine are operators. The
    /// next client replaces one that has not logged in. Zero: no additional connections.
    std::size_t reserved_clients = 32;
    std::size_t max_arguments = 1024;     ///< maximum number of words in a request
    std::size_t max_request = 1'048'576;  ///< maximum size of a request in bytes
    std::size_t max_pipeline = 1024;      ///< maximum number of requests of a connection without a reply
    /// Maximum number of bytes of finished replies that a connection may leave unread. Beyond this limit, the server
    /// does not read from the connection.
    std::size_t max_output_buffer = 1'048'576;
    /// Maximum number of cached replies to calls with an ID. The server keeps each for `reply_cache_ttl`, and uses
    /// at most a quarter of max_buffered_bytes for them.
    std::size_t max_cached_replies = 10'000;
    std::chrono::milliseconds reply_cache_ttl{600'000};
    /// Receives messages for the operator, one line each, on any thread. Null: the server writes them to standard
    /// error. The function must neither throw nor wait for a reader of the line: the caller may be a thread that serves
    /// clients (line_writer).
    std::function<void(severity, const std::string&)> log_callback{};
    /// A cluster whose objects procedures use (registry::cluster). The cluster must outlive the service. Excludes
    /// `log`, because a call that runs again from the log would write objects a second time.
    cluster_access* cluster = nullptr;
    /// Time limit of the shutdown. A leader waits at most nine tenths of it until all connected followers have all
    /// calls on their disks. Zero: the leader waits without a limit. `drain` itself waits without a limit for calls
    /// that the server has accepted: the program decides how long to wait for `drain` (service::awaited_by_drain).
    std::chrono::milliseconds shutdown_timeout{10'000};
    /// True: the server forwards calls to the server whose node owns their object (registry::add), and runs forwarded
    /// calls of other servers.
    bool forward = true;
    log_settings log{};  ///< its limits of the reply cache are set from those above
    /// A leader to follow. If set, this server appends the leader's log to its own, runs the calls in it, and serves
    /// read-only procedures, until it is promoted. Requires a log.
    leader_settings follow{};
    /// Maximum number of bytes of requests and replies that the server holds for all clients together. Beyond this
    /// limit, new calls of clients get BUSY. Calls that already run may exceed the limit.
    std::size_t max_buffered_bytes = std::size_t{1} << 30;
    /// Maximum number of bytes of requests and replies that connections hold. Beyond this limit, the server closes the
    /// largest connections of those users that hold the most for their highest priority. The rest of max_buffered_bytes
    /// is for the arguments of accepted calls: a user that holds its share of the rest gets BUSY. Must be less than
    /// max_buffered_bytes. Zero: the server closes no connections and divides no memory. Empty: three quarters of
    /// max_buffered_bytes.
    std::optional<std::size_t> max_buffered_bytes_clients{};
    std::chrono::milliseconds time_limit{0};    ///< limit of procedures without their own; zero: no limit
    std::chrono::milliseconds idle_timeout{0};  ///< maximum time without a request; zero: no limit
    /// Maximum time without progress of a reply, and of the end of a connection. Zero: no limit until the server ends,
    /// and 10 s from then on. After its last call, a slow client has six times this limit in all.
    std::chrono::milliseconds write_timeout{10'000};
    /// Time of silence after which the system probes a TCP client. The client counts as disconnected if it does not
    /// answer for the same time again. Zero: the system never probes.
    std::chrono::seconds keepalive{60};
    /// Maximum time from a client's connection until its TLS handshake and AUTH are done, if these are required. Zero:
    /// no limit.
    std::chrono::milliseconds login_timeout{10'000};
    /// Maximum time from the first byte of a request to its last. Half of it before AUTH, if AUTH is required. Zero: no
    /// limit.
    std::chrono::milliseconds request_timeout{10'000};
    /// Minimum duration of a client's call, from its begin to its reply, for SLOWLOG. The server keeps the latest
    /// slow_log_max_len of these calls, at most some 5 KB each. Negative, or slow_log_max_len of 0: no calls are kept.
    std::chrono::microseconds slow_log_slower_than{10'000};
    std::size_t slow_log_max_len = 128;
};

/// The options of one call. Missing options are those of the procedure.
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

/// The reasons why the end of a server waits.
struct drain_obstacles {
    std::vector<std::string> lines{};  ///< for people: calls with procedure, caller and time, or other reasons
    bool saves_data = false;           ///< true: a snapshot is in progress, which takes long for much data
};

/// A transaction server. Thread safety: before `start`, one thread at a time may use it; afterwards, any thread may
/// query and call. One thread calls `start` and `drain`.
class TUTTI_EXPORT service {
public:
    /// @throws std::invalid_argument  if a setting is invalid; the message names it and a valid value
    explicit service(settings how);
    /// Drains. Exceptions of `at_end` functions are lost here.
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

    /// Throws the exceptions that `start` would throw, except for addresses: another process may be listening there.
    /// REQUIRES: the service has not started and will not start.
    void check();

    /// Starts to serve. After an exception, you can only destroy the service.
    /// @throws std::system_error  if an address cannot be listened on
    /// @throws std::runtime_error  if an address cannot be found, or a certificate or key is unusable
    /// @throws std::invalid_argument  if this machine does not support the executor, its ticks, the number of workers
    /// or `migrate`
    /// @throws std::logic_error  if the service has started before, or the process runs another preemptive server
    void start();
    /// Shuts down. Refuses new calls, also the program's own. Finishes all accepted calls, sends their replies, and
    /// closes every connection. Then runs the functions registered by `at_end` on this thread. Idempotent. Does nothing
    /// if the service has not started. A procedure must not call this function.
    /// @throws the first exception of an `at_end` function
    void drain();

    /// Returns the reasons why `drain` waits, also while `start` is still running. Flushes the log first. When this
    /// function returns, the log contains all calls whose replies were sent, unless the log cannot be written for half
    /// a second. So a program may exit without a longer wait. You can call this function from any thread, while this
    /// object lives.
    [[nodiscard]] drain_obstacles awaited_by_drain();

    [[nodiscard]] std::uint16_t port() const noexcept;  ///< 0 without TCP
    /// Returns the port of the metrics, or 0 without one. The port is known before the log is read: any thread may call
    /// this function, also during start().
    [[nodiscard]] std::uint16_t metrics_port() const noexcept;
    /// Ends following: from here on this server leads, and accepts calls that write. Returns an empty string once the
    /// server leads, or the reason why it cannot lead. One thread at a time may call this function.
    [[nodiscard]] std::string promote();
    /// Makes a follower the leader, without losing a call whose reply was sent. Afterwards this server follows the new
    /// leader. `to` is HOST:PORT of the follower, as this server reaches it. If `to` is empty, the most advanced
    /// follower becomes the leader. Clients' calls that write wait meanwhile, for at most `time_limit`. The program's
    /// own calls that write are refused. Returns an empty string once the other server leads, or the reason why it does
    /// not. In that case this server normally leads as before. If the other server was told to lead and has not
    /// answered, this server accepts no calls that write until it answers.
    [[nodiscard]] std::string hand_over(const std::string& to = {},
                                        std::chrono::milliseconds time_limit = std::chrono::seconds{10});
    /// Reads the files of `settings::tls` again. New connections use them, and existing connections keep theirs.
    /// Returns false if there are no such files, or if the service has not started.
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
    /// that ran the call. If the call was refused, `then` runs on this thread before the function returns. In two other
    /// cases, `then` runs on a thread of the server. First, a more urgent call may displace the call before its begin.
    /// Second, the call may not end after its time limit. `then` may run transactions. `then` must not throw, because
    /// an exception terminates the program. `then` must not wait for another call, because `then` may block that call's
    /// worker. After the error STACKOVERFLOW, `then` may use at most 64 KiB of stack.
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

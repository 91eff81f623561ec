/// @file
/// The settings of a transaction server: addresses, users, TLS, executors, the log, its leader, and limits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
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
    // The following settings also apply to the connection of this server to the leader that it follows.
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
    int max_priority = highest_priority;  ///< highest priority of the user's calls, whatever the procedure's priority
    unsigned rate = 0;                    ///< calls per second on average, and at most as many at once; 0: no limit
    /// True: the user may list and disconnect other clients (CLIENT LIST, CLIENT KILL), and record what runs
    /// (TIMELINE).
    bool is_admin = false;
    /// True: the user may run the commands of followers (FOLLOW), which read the whole log and can demote a leader.
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
    unsigned contexts = 1024;        ///< maximum number of started calls that have not waited in retry; others wait
    std::size_t stack = 256 * 1024;  ///< bytes per call; memory is used only when touched
    /// Maximum number of preemptions of a call. A call that has been preempted so often gets the highest priority of
    /// all procedures (C_max). Empty: no limit.
    std::optional<unsigned> max_preemptions{};
    bool lazy_priority_boost = false;  ///< each preemption raises a call's priority by one, up to C_max
    bool migrate = false;  ///< a preempted call may continue on another worker; not with `shared_thread_locals`
    /// True: calls use the thread-local variables of their worker. If a call is interrupted while it changes such a
    /// variable, the next call on the worker sees a half-changed variable. False: each started call has thread-local
    /// storage of its own, which takes one sleeping thread per call. Even with false, calls share the storage if the
    /// processor or the kernel does not let a program set the base of FS (HWCAP2_FSGSBASE), and under AddressSanitizer.
    bool shared_thread_locals = false;
    /// Calls with this priority or a higher one run in real time. While a worker runs such a call, the worker has the
    /// lowest real-time priority, so other programs on its processor wait for the call. Empty: workers never have a
    /// real-time priority. Requires an `io_realtime` of 2 or more, and the same rights as that setting.
    std::optional<unsigned> realtime_min_priority{};
};

/// The importance of a message to an operator.
enum class severity : std::uint8_t { info, warning, error };

/// When the server flushes the log to the disk.
enum class log_sync : std::uint8_t {
    always,        ///< before the server sends a reply
    every_second,  ///< often enough that a crash loses only calls whose replies were sent within one second
    /// When the system chooses. If only the process ends, at most the calls of the last few tenths of a second are
    /// lost.
    never,
};

/// Settings of durability. The server logs the committed calls, and a start restores the data from the log.
struct log_settings {
    std::string file{};  ///< path; empty: calls are not logged
    log_sync sync = log_sync::every_second;
    std::size_t max_pending = std::size_t{64} << 20;  ///< bytes not yet written, above which calls get BUSY
    /// Bytes by which the log may grow before a snapshot replaces it. Applies if procedures can dump their data. A
    /// snapshot also replaces the log when the server ends. Zero: a snapshot is written only at the end.
    std::size_t snapshot_after = std::size_t{64} << 20;
    /// The maximum time of a call that runs again from the log. If a call takes longer, the start fails, because such a
    /// call waits for an event that will not happen.
    std::chrono::milliseconds replay_limit{60'000};
    /// Bytes of calls that the server keeps for followers after a snapshot has replaced these calls. A follower that
    /// misses older calls needs a copy of the snapshot.
    std::size_t replication_backlog = std::size_t{64} << 20;
    /// The number of followers that must have a writing call on their disks before the server replies. The reply is
    /// UNREPLICATED if this takes longer than `wait_followers_timeout`.
    unsigned wait_followers = 0;
    std::chrono::milliseconds wait_followers_timeout{1'000};
    /// The number of followers that a starting server waits for, if it follows no leader. Until that many followers
    /// have reported their logs, the server accepts no calls that write. So if the server's own log has lost calls, the
    /// server detects the loss before other calls replace the lost calls. A promotion ends the wait.
    unsigned await_followers = 0;
    // The server copies these two from `settings`: the number of cached replies to calls with an ID, and the time for
    // which it caches them.
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
    std::optional<unsigned> unix_mode{};  ///< permissions of the socket's file, up to 0777; empty: umask(2) decides
    /// Listening sockets that the process has inherited, for instance by systemd's socket activation. The server uses
    /// them instead of `port` or in addition to it. At the end, the server does not close these sockets, so that new
    /// clients wait for the next process that inherits them.
    std::vector<int> inherited{};
    std::string password{};  ///< password for AUTH; empty: clients need no password
    /// Users. If this list is not empty, a connection has to authenticate (AUTH) as one of these users. A client that
    /// gives only a password is `default`. Excludes `password`.
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

    /// True: before a signal such as SIGSEGV or SIGABRT ends the process, the server reports on standard error the
    /// procedure and the place that raised the signal. The server's handlers replace the program's earlier handlers of
    /// these signals. `log_callback` also gets a line about a call that cannot be ended after its time limit. Another
    /// line reports a call that occupies its worker for `stuck_after`.
    bool report_crashes = false;
    /// The time for which a call may run without interruption by another call and without waiting in retry. A call that
    /// runs for longer is reported. Zero: no call is reported.
    std::chrono::milliseconds stuck_after{10'000};

    unsigned io_threads = 1;  ///< number of threads that own sockets
    /// Real-time priority of the I/O threads, 1 to 99 (SCHED_RR), or 0. Use this setting if other programs share the
    /// machine's processors, because a call waits for the I/O thread at its start and at its end. Requires CAP_SYS_NICE
    /// or a limit (RLIMIT_RTPRIO). An I/O thread with this priority also runs before workers on the same processor.
    int io_realtime = 0;
    /// Number of threads that run procedures, at most 64 with preemption. 0: the number of processors that I/O threads
    /// leave free, at least one.
    unsigned workers = 0;
    /// A worker may itself read and run calls of procedures that usually take less than this time, so that the server
    /// need not wake another thread. The default is about the time to wake a thread. Zero: only I/O threads read.
    std::chrono::microseconds short_call_limit{20};

    /// True: the server reads clients in turn, instead of reading the client with the most urgent call first.
    bool round_robin_reads = false;

    execution executor = execution::automatic;
    preemption_settings preemption{};

    /// Maximum number of calls that wait for a worker. If the queue is full, the least urgent call gets BUSY. The least
    /// urgent call is a waiting call if the new call has a higher priority, and the new call otherwise.
    std::size_t max_queued_calls = 10'000;
    /// Maximum number of connections. A further connection gets MAXCLIENTS and is closed. One more client may connect
    /// through a Unix socket, so that an operator can always inspect the server.
    std::size_t max_clients = 10'000;
    /// Number of additional connections for operators: users with `is_admin`, or every client that knows the password.
    /// If the server has no login and listens beyond its own machine, clients on its own machine are operators. If all
    /// additional connections are in use, the next client replaces a client that has not logged in. Zero: no additional
    /// connections.
    std::size_t reserved_clients = 32;
    std::size_t max_arguments = 1024;     ///< maximum number of words in a request
    std::size_t max_request = 1'048'576;  ///< maximum size of a request in bytes
    std::size_t max_pipeline = 1024;      ///< maximum number of requests of a connection without a reply
    /// Maximum number of bytes of finished replies that a connection may leave unread. Beyond this limit, the server
    /// does not read from the connection.
    std::size_t max_output_buffer = 1'048'576;
    /// Maximum number of cached replies to calls with an ID. The server keeps each reply for `reply_cache_ttl`, and
    /// uses at most a quarter of max_buffered_bytes for them.
    std::size_t max_cached_replies = 10'000;
    std::chrono::milliseconds reply_cache_ttl{600'000};
    /// Receives messages for the operator, one line each, on any thread. Null: the server writes them to standard
    /// error. The function must neither throw nor wait for a reader of the line: the caller may be a thread that serves
    /// clients (line_writer).
    std::function<void(severity, const std::string&)> log_callback{};
    /// A cluster whose objects procedures use (registry::cluster). The cluster must outlive the service. Excludes
    /// `log`, because a call that runs again from the log would write objects a second time.
    cluster_access* cluster = nullptr;
    /// Time limit of the shutdown. A leader spends at most nine tenths of this time on waiting until all connected
    /// followers have all calls on their disks. Zero: the leader waits without a limit. `drain` itself waits without a
    /// limit for calls that the server has accepted: the program decides how long to wait for `drain`
    /// (service::awaited_by_drain).
    std::chrono::milliseconds shutdown_timeout{10'000};
    /// True: the server forwards calls to the server whose node owns their object (registry::add), and runs forwarded
    /// calls of other servers.
    bool forward = true;
    log_settings log{};  ///< the server copies `max_cached_replies` and `reply_cache_ttl` into these
    /// A leader to follow. If set, this server appends the leader's log to its own, runs the calls in it, and runs only
    /// read-only procedures for clients, until it is promoted. Requires a log.
    leader_settings follow{};
    /// Maximum number of bytes of requests and replies that the server holds for all clients together. Beyond this
    /// limit, new calls of clients get BUSY. Calls that already run may exceed the limit.
    std::size_t max_buffered_bytes = std::size_t{1} << 30;
    /// Maximum number of bytes of requests and replies that connections hold. Beyond this limit, the server closes
    /// connections of the users that hold the most in relation to their `max_priority`, the largest connections first.
    /// The rest of max_buffered_bytes is for the arguments of accepted calls: a user that holds its share of the rest
    /// gets BUSY. Must be less than max_buffered_bytes. Zero: the server closes no connections and divides no memory.
    /// Empty: three quarters of max_buffered_bytes.
    std::optional<std::size_t> max_buffered_bytes_clients{};
    std::chrono::milliseconds time_limit{0};    ///< limit of procedures without their own; zero: no limit
    std::chrono::milliseconds idle_timeout{0};  ///< maximum time without a request; zero: no limit
    /// Maximum time without progress of a reply, and of the end of a connection. Zero: no limit until the server ends,
    /// and 10 s from then on. After its last call, a slow client gets six times this limit in total to read its
    /// replies.
    std::chrono::milliseconds write_timeout{10'000};
    /// Time of silence after which the system probes a TCP client. If the client does not answer within the same time,
    /// it counts as disconnected. Zero: the system never probes.
    std::chrono::seconds keepalive{60};
    /// Maximum time from a client's connection until its TLS handshake and AUTH are done, if these are required. Zero:
    /// no limit.
    std::chrono::milliseconds login_timeout{10'000};
    /// Maximum time from the first byte of a request to its last byte. If AUTH is required, half of this time applies
    /// before AUTH. Zero: no limit.
    std::chrono::milliseconds request_timeout{10'000};
    /// Minimum duration of a client's call, from its begin to its reply, for SLOWLOG. The server records the latest
    /// slow_log_max_len of these calls, in at most some 5 KB each. If the duration is negative or slow_log_max_len is
    /// 0, no calls are recorded.
    std::chrono::microseconds slow_log_slower_than{10'000};
    std::size_t slow_log_max_len = 128;
};

}  // namespace tutti::server

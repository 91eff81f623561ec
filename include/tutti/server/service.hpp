/// @file
/// The transaction server as a part of a program: procedures run by priority and deadline, called from the program
/// itself, and over sockets only if it asks for them.
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
    std::string certificate{};  ///< PEM, with its chain; empty: no TLS
    std::string key{};
    std::string client_authority{};  ///< if given, clients must show a certificate that it has signed
    // The following hold also for the connection to a server that this one follows.
    std::string minimum_version = "1.2";  ///< of TLS: 1.2 or 1.3
    std::string ciphers{};                ///< of TLS 1.2, as openssl-ciphers(1) has them; empty: OpenSSL's
    std::string ciphersuites{};           ///< of TLS 1.3, with colons between; empty: OpenSSL's
};

/// The longest duration that a setting may have: 100 years. Sums with times of the clock cannot overflow.
inline constexpr std::chrono::hours longest_duration{24 * 36'525};

/// Who may ask, and for what.
struct user {
    std::string name{};
    std::string password{};               ///< its hash as crypt(5) has it: `mkpasswd -m yescrypt` makes one
    std::vector<std::string> calls{"*"};  ///< procedures that it may call, as patterns of fnmatch(3): *, ?, [a-z]
    int highest = highest_priority;       ///< of its calls: those of a more urgent procedure get this one
    unsigned rate = 0;                    ///< its calls a second on average, and as many at once; 0: any
    /// It may see and close other clients (CLIENT LIST, CLIENT KILL), and record what runs (TIMELINE).
    bool operates = false;
    /// It may give the commands of followers (FOLLOW), which show the whole log and can end a leader.
    bool replicates = false;
};

/// What runs procedures.
enum class execution : std::uint8_t {
    /// Preemptive where the processor has it (x86-64) and the process no other such server; threads otherwise.
    automatic,
    threads,     ///< a worker ends what it runs before it looks for what is more urgent
    preemptive,  ///< what is more urgent interrupts what runs, which goes on later where it was
};

/// Of preemptive execution.
struct preemption_settings {
    std::string ticks = "automatic";  ///< what interrupts a worker: automatic, kernel, on-demand, periodic, none
    unsigned contexts = 1024;         ///< calls begun at once, but for those that have waited in retry; others wait
    std::size_t stack = 256 * 1024;   ///< bytes for each; taken as they are touched
    /// Of a call; then it gets the highest priority that a procedure has (C_max). None: no bound.
    std::optional<unsigned> most_preemptions{};
    bool lazy_promotion = false;  ///< each preemption raises a call's priority by one, up to that
    bool migrate = false;         ///< a preempted call may go on on another worker; not with `shared_thread_locals`
    /// Calls use the thread-local variables of their worker: one that is interrupted in the middle of changing such a
    /// variable leaves it half changed to the next call. False: each call that has begun has thread-local storage of
    /// its own, which takes a sleeping thread for each; calls share it all the same where the processor or the kernel
    /// does not let a program set the base of FS (HWCAP2_FSGSBASE), and under AddressSanitizer.
    bool shared_thread_locals = false;
    /// While a worker runs a call of that priority or more it has a real-time priority, the lowest: other programs on
    /// its processor wait for the call. None: workers have none. Needs `io_realtime` of 2 or more, and its rights.
    std::optional<unsigned> realtime_from{};
};

/// How much an operator should care for a line.
enum class severity : std::uint8_t { info, warning, error };

/// When a log is written through to the disk.
enum class log_sync : std::uint8_t {
    always,        ///< before an answer goes out
    every_second,  ///< so often that a crash loses at most what was answered within one second
    /// When the system likes; the end of the process alone loses at most some tenths of a second.
    never,
};

/// Of durability: a log of the calls that have committed, from which a start makes the data again.
struct log_settings {
    std::string file{};  ///< path; empty: nothing is logged
    log_sync sync = log_sync::every_second;
    std::size_t max_pending = std::size_t{64} << 20;  ///< bytes that wait to be written; beyond, calls are BUSY
    /// Where procedures can dump their data: a snapshot takes the place of the log whenever it has grown by so many
    /// bytes, and when the server ends. Zero: only then.
    std::size_t snapshot_after = std::size_t{64} << 20;
    /// A call that takes longer when it is run again ends the start: it waits for something that does not come.
    std::chrono::milliseconds replay_limit{60'000};
    /// Bytes of calls that a snapshot has taken the place of, and that are kept for followers all the same: one that
    /// has been away for longer needs a copy of the snapshot.
    std::size_t backlog = std::size_t{64} << 20;
    /// A call that has written something is answered when so many followers have it on their disks; UNREPLICATED if
    /// that takes longer than `replicas_timeout`.
    unsigned replicas = 0;
    std::chrono::milliseconds replicas_timeout{1'000};
    /// A start without a leader to follow takes no calls that write before so many followers have shown what they have:
    /// so a log that has lost calls is found out before others take their place. A promotion ends the wait.
    unsigned await_followers = 0;
    // Of `settings`: how many answers of calls with an ID are kept, and for how long.
    std::size_t answers = 10'000;
    std::chrono::milliseconds answers_for{600'000};
};

/// The server whose log this one follows, and what it says there.
struct leader_settings {
    std::string host{};  ///< empty: it follows none
    std::uint16_t port = 7411;
    std::string user{};  ///< who operates the leader; empty: none is named
    std::string password{};
    /// PEM: the leader speaks TLS, with a certificate for `host` that one of these has signed. Where the server has a
    /// certificate of its own, it shows that.
    std::string tls_authority{};
};

/// What a server is to be, written with designated initialisers. Without an address it has no socket.
struct settings {
    std::optional<std::uint16_t> port{};  ///< of TCP; 0: one that the system chooses
    std::string host = "127.0.0.1";       ///< to listen on
    std::string unix_socket{};            ///< path; empty: none
    std::optional<unsigned> unix_mode{};  ///< permissions of the socket's file, up to 0777; none: as umask(2) says
    /// Listening sockets that the process was handed, as by systemd's socket activation. The server takes them over, in
    /// place of `port` or beside it, and leaves them to listen when it ends: a client that connects then waits for the
    /// next process that has them.
    std::vector<int> inherited{};
    std::string password{};  ///< that a connection has to AUTH with first; empty: none has to
    /// If there are any, a connection has to AUTH as one of them; a client that gives a password alone is
    /// `default`. Not beside `password`.
    std::vector<user> users{};
    tls_files tls{};  ///< for TCP
    /// Whoever reaches the server may use it: it listens beyond loopback without users, a password or TLS, and FOLLOW
    /// needs no credential. For a network that keeps strangers away.
    bool unprotected = false;
    /// What servers that follow one another show, the same for all of them; see docs/server-followers.md. Empty: users
    /// with `replicates`, or the secret that servers of one user on one machine share.
    std::string replication_password{};
    /// Where programs may ask that look after the server, by HTTP: /metrics for Prometheus, /healthz, /readyz. 0: the
    /// system chooses. For commits and aborts among the metrics call enable_statistics(true).
    std::optional<std::uint16_t> metrics_port{};
    std::string metrics_host = "127.0.0.1";

    /// A signal that ends the process (SIGSEGV, SIGABRT and their like) first tells on the standard error which
    /// procedure it came from, and where. Handlers that the program has put there before are replaced. `notice` gets a
    /// line about a call that cannot be ended although its time limit has passed, and about one that keeps its worker
    /// for `stuck_after`.
    bool report_crashes = false;
    /// Without interruption by another call, and without waiting in retry. Zero: no such call is told.
    std::chrono::milliseconds stuck_after{10'000};

    unsigned io_threads = 1;  ///< threads that own sockets
    /// Their real-time priority, 1 to 99 (SCHED_RR), or 0. For a machine whose processors other programs use as well:
    /// a call waits for the I/O thread at both of its ends. It needs CAP_SYS_NICE or a limit (RLIMIT_RTPRIO); an I/O
    /// thread that has it goes before workers, too, where it shares a processor with them.
    int io_realtime = 0;
    /// Threads that run procedures, at most 64 where they are preempted; 0: the processors that I/O threads leave, at
    /// least one.
    unsigned workers = 0;
    /// A worker may read and run the calls of a procedure that usually take less than this, so that the server wakes no
    /// thread for them. About what it takes to wake one; zero: only I/O threads read.
    std::chrono::microseconds brief_call{20};

    /// Clients that have sent something are read in turn, and not the one first that has called what is more urgent.
    bool read_in_turn = false;

    execution executor = execution::automatic;
    preemption_settings preemption{};

    /// Calls that may wait for a worker. Beyond that the least urgent is answered BUSY: one that waits, if what comes
    /// has a higher priority, else what comes.
    std::size_t queue = 10'000;
    /// Connections at once; a further one is answered MAXCLIENTS and closed. One more may come through a unix socket: a
    /// operator who has to look what is the matter.
    std::size_t max_clients = 10'000;
    /// The server lets in so many more for operators: users who operate, or everybody who knows the password. Without
    /// any login, clients on its own machine are operators of a server that listens beyond it. A client that has not
    /// logged in gives way to the next. Zero: none.
    std::size_t reserved_clients = 32;
    std::size_t max_arguments = 1024;     ///< words of a request
    std::size_t max_request = 1'048'576;  ///< bytes of a request
    std::size_t max_pipeline = 1024;      ///< requests of a connection that are not answered yet
    /// Bytes of answers, of calls that have ended, that a connection may leave unread before it is not read from.
    std::size_t max_unsent = 1'048'576;
    /// So many answers of calls with an ID are remembered, for so long, and in no more than a quarter of max_held.
    std::size_t remembered = 10'000;
    std::chrono::milliseconds remember_for{600'000};
    /// Gets what an operator should know, a line each, from any thread; null: the standard error. Must not throw, and
    /// must not wait for whoever reads the line: the caller may be a thread that serves clients (line_writer).
    std::function<void(severity, const std::string&)> notice{};
    /// A cluster whose objects procedures use (registry::cluster); it lives until the service has ended. Not beside
    /// `log`: what a start runs again would write objects a second time.
    cluster_access* cluster = nullptr;
    /// A time limit for the end. A leader waits for nine tenths of it, at most, until followers that are connected have
    /// all calls on their disks; zero: as long as it takes. `drain` waits without a limit for calls that were accepted:
    /// the program decides how long it waits for `drain` (service::awaited_by_drain).
    std::chrono::milliseconds shutdown_timeout{10'000};
    /// Whether calls go to the server whose node owns what they are about (registry::add), and those of others are run.
    bool forward = true;
    log_settings log{};  ///< its `answers` are `remembered`, its `answers_for` is `remember_for`
    /// If it names a server: this one appends what that one logs to its own log, runs it, and serves procedures that
    /// are read-only, until it is promoted. It needs a log.
    leader_settings follow{};
    /// Bytes of requests and answers that the server holds for all clients together. Beyond it no call of a client
    /// begins: each is answered BUSY. What runs already may make it more.
    std::size_t max_held = std::size_t{1} << 30;
    /// Bytes of requests and answers that connections hold. Beyond it the server closes the largest connections of the
    /// users that hold the most for their highest priority. The rest of max_held is for arguments of accepted calls:
    /// calls of a user that holds its share of that are answered BUSY. Less than max_held. Zero: the server closes no
    /// connection, and divides no memory. None: three quarters of max_held.
    std::optional<std::size_t> max_held_clients{};
    std::chrono::milliseconds time_limit{0};    ///< of procedures that have none; zero: none
    std::chrono::milliseconds idle_timeout{0};  ///< without a request; zero: none
    /// Without progress of an answer; also of the end of a connection. Zero: none, until the server ends: then 10 s.
    /// Six times that is what a client that reads slowly then has in all, once its last call has ended.
    std::chrono::milliseconds write_timeout{10'000};
    /// A client over TCP that has been silent for so long is asked for a sign of life by the system, and counts as gone
    /// when none comes for as long again. Zero: never.
    std::chrono::seconds keepalive{60};
    /// From a client's arrival on, for the handshake of TLS and AUTH, where they are asked for. Zero: none.
    std::chrono::milliseconds login_timeout{10'000};
    /// From the first byte of a request to its last; half of it before AUTH, where that is asked for. Zero: none.
    std::chrono::milliseconds request_timeout{10'000};
    /// Clients' calls that take longer from their begin to their answer are kept for SLOWLOG, the latest
    /// slow_log_max_len of them, with some 5 KB of each at most. Negative, or none of them: none is kept.
    std::chrono::microseconds slow_log_slower_than{10'000};
    std::size_t slow_log_max_len = 128;
};

/// How one call is to run; what is not given is the procedure's.
struct call_options {
    std::optional<int> priority{};
    std::optional<std::chrono::microseconds> deadline{};
};

/// A call that was answered by an error. `code` is stable, `what()` is for people; docs/server.md lists the codes.
class TUTTI_EXPORT call_error : public std::runtime_error {
public:
    call_error(std::string code, const std::string& message) : std::runtime_error{message}, code_{std::move(code)} {}
    [[nodiscard]] const std::string& code() const noexcept { return code_; }

private:
    std::string code_;
};

/// What the end of a server waits for.
struct drain_obstacles {
    std::vector<std::string> lines{};  ///< for people: calls with their procedure, caller and time, or anything else
    bool saves_data = false;           ///< a snapshot is being taken, which takes long where there are many data
};

/// Thread safety: until it has started, one thread at a time uses it; from then on any thread may ask and call. `start`
/// and `drain` are called by one thread.
class TUTTI_EXPORT service {
public:
    /// @throws std::invalid_argument  when a setting makes no sense; the message says which, and what would
    explicit service(settings how);
    /// Drains. What `at_end` functions throw is lost here.
    ~service();
    service(const service&) = delete;
    service& operator=(const service&) = delete;

    /// REQUIRES: it has not started.
    [[nodiscard]] registry& procedures() noexcept;
    /// Hands a shared object's procedures in. REQUIRES: it has not started. @throws registration_error
    void load(const std::string& shared_object);
    /// For registry::setting; a second value for a name takes the place of the first. REQUIRES: it has not started, and
    /// the procedures that ask for it are not loaded yet.
    void set(std::string name, std::string value);
    /// Settings that no procedure has asked for.
    [[nodiscard]] std::vector<std::string> unused_settings() const;

    /// Throws what `start` would throw, but for addresses, which are not looked at: another process may be listening
    /// there. REQUIRES: it has not started, nor does so afterwards.
    void check();

    /// From here on it serves. After an exception it is good for nothing but its destructor.
    /// @throws std::system_error      when an address cannot be listened on
    /// @throws std::runtime_error     the same, when it cannot be found; when a certificate or key is not usable
    /// @throws std::invalid_argument  when the executor, its ticks, so many workers or `migrate` cannot be had here
    /// @throws std::logic_error       when it has started before, or the process runs another preemptive server
    void start();
    /// Refuses new calls, the program's too, ends all that were accepted, answers them, closes every connection, runs
    /// what was registered by `at_end` on this thread. Idempotent; without a start it does nothing. Must not be called
    /// by a procedure.
    /// @throws what `at_end` functions throw, the first of it
    void drain();

    /// Says what `drain` waits for, also where `start` has not come to its end yet. What was answered is in the log
    /// when this returns, unless the log cannot be written for half a second: so a program may end without waiting for
    /// longer. Any thread, while this object lives.
    [[nodiscard]] drain_obstacles awaited_by_drain();

    [[nodiscard]] std::uint16_t port() const noexcept;  ///< 0 without TCP
    /// 0 without one. Known before the log is read: any thread may ask, also while start() is under way.
    [[nodiscard]] std::uint16_t metrics_port() const noexcept;
    /// Ends following: from here on this server leads, and takes calls that write. Returns when it does, or why it
    /// cannot; empty: it leads. By one thread at a time.
    [[nodiscard]] std::string promote();
    /// Has a follower lead, without the loss of a call that was answered; then this server follows that one.
    /// `to`: HOST:PORT of the follower, as this server reaches it; empty: the one that has most. Clients' calls that
    /// write wait meanwhile, for at most `longest`; those of the program are refused. Returns when the other server
    /// leads, or why it does not: then this server leads as before, or, if the other one was told to lead and has not
    /// answered, takes no calls that write until it has.
    [[nodiscard]] std::string hand_over(const std::string& to = {},
                                        std::chrono::milliseconds longest = std::chrono::seconds{10});
    /// Reads the files of `settings::tls` again, for clients that connect from now on; others keep what they began
    /// with. False: there are none, or it has not started.
    /// @throws std::runtime_error  when one is not usable; the message names it, and what was read before stays
    bool renew_certificates();
    /// What the command INFO answers.
    [[nodiscard]] std::string info() const;
    /// Whether each thread that owns sockets has gone round since the latest time that this was asked, or has come to
    /// its end: a sign of life for whoever watches over the program, to be asked for every so often, by one thread. It
    /// says nothing of procedures.
    [[nodiscard]] bool responds() noexcept;

    /// Calls a procedure by name. `then` gets the answer in RESP3, once: on the thread that ran it, at once on this one
    /// if the call was refused, or on one of the server's if the call gave way to a more urgent one before it began, or
    /// has run past its time limit and does not end. It may run transactions, must not throw, which ends the program,
    /// and must not wait for another call, whose worker it may be holding up. After the error STACK it may have no more
    /// than 64 KiB of stack.
    /// REQUIRES: it has started. @throws std::bad_alloc; `then` is not called
    void call_raw(std::string_view name, std::vector<std::string> arguments, const call_options& how,
                  std::function<void(std::string_view)> then);

    /// The same with types: R is void, a number, bool or std::string; an argument is a number or a string. The future
    /// throws call_error, or bad_argument where the answer is no R.
    template <class R, class... A>
    [[nodiscard]] std::future<R> call(std::string_view name, const call_options& how, const A&... arguments);

private:
    class body;
    std::unique_ptr<body> body_;
};

namespace detail {

/// What is between the type's character and the end of the first line; throws call_error if that line is an error.
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

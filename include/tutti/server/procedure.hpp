/// @file
/// Procedures: C++ functions that clients of the transaction server call by name.
///
///     #include <tutti/server/procedure.hpp>
///
///     TUTTI_PROCEDURES(server) {
///         server.add("transfer", {.priority = 5, .deadline = 10ms}, [](long from, long to, long amount) { … });
///     }
///
/// `tutti serve` loads a shared object with such a function. A program that embeds the server calls `add` itself.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tutti/cluster/id.hpp"
#include "tutti/deadline.hpp"
#include "tutti/detail/config.hpp"
#include "tutti/server/cluster.hpp"
#include "tutti/server/codec.hpp"
#include "tutti/server/no_preemption_guard.hpp"

namespace tutti::server {

/// The highest priority. Priorities start at 0, and a higher one runs first.
inline constexpr int highest_priority = 31;

struct procedure_options {
    int priority = 1;  ///< from 0 to highest_priority: a higher one runs first. A call may set its own priority
    /// The deadline, counted from the arrival of a call. A call may set its own deadline. Zero: no deadline.
    std::chrono::microseconds deadline{0};
    /// The time after which the caller gets TIMEOUT and the call is cancelled at its next transactional access. Zero:
    /// the server's limit applies.
    std::chrono::milliseconds time_limit{0};
    /// True: a call that has not begun by its deadline does not run, and gets the reply DEADLINE.
    bool refuse_late = false;
    /// The highest priority that a client may set. A client that sets a higher priority gets ARGUMENT. The program's
    /// own calls may set any priority.
    int max_client_priority = highest_priority;
    /// True: a call that waits in `retry` continues to wait after its client has disconnected or closed its sending
    /// side. The call then has no reply. False: tutti::interrupted ends such a call.
    bool outlives_client = false;
    /// True: a client may set a deadline.
    bool clients_set_deadline = true;
    /// Promises that the procedure writes nothing. If calls are logged (log_settings), the procedure then runs as one
    /// read-only block and is never logged. The procedure also runs while the log cannot be written. If the procedure
    /// writes, the reply is EXCEPTION. Without a log, the option has no effect.
    bool read_only = false;
};

/// Information about a call, for a procedure whose first parameter is a `const call&`. You can pass its priority and
/// deadline to the options of the same names of an atomic block.
struct call {
    int priority = 0;
    tutti::deadline deadline{};
    const std::atomic<bool>* gone = nullptr;  ///< the server's flag; see abandoned()
    std::int64_t began = 0;                   ///< microseconds since 1970; 0: now() reads the clock
    /// A number that differs from call to call, to seed generators of random numbers. If calls are logged, a call that
    /// runs again gets the seed of its first run. Take all random numbers from this seed. With any other source, the
    /// call would have another result when it runs again.
    std::uint64_t seed = 0;
    /// True if the call runs again from the log because the server has started. Check this flag before an action
    /// outside the server's data that must not happen twice, for instance before you send a message.
    bool replayed = false;

    /// Returns the time of day for this call. If the call is logged, the function returns the time at which the call
    /// began to run. When the call runs again from the log, the function still returns the time of the first run. Use
    /// this clock, and no other, for every time that a procedure stores or uses in a decision.
    [[nodiscard]] std::chrono::system_clock::time_point now() const noexcept {
        if (began == 0) return std::chrono::system_clock::now();
        return std::chrono::system_clock::time_point{std::chrono::microseconds{began}};
    }

    /// Returns true if the client has disconnected, so that the reply will not be read. A procedure that removes
    /// something for its client should call this function at the end of its block. If the function returns true, the
    /// procedure should cancel the block. The client may still disconnect afterwards. Only an acknowledgement, a second
    /// call, shows that a reply has arrived.
    [[nodiscard]] bool abandoned() const noexcept { return gone != nullptr && gone->load(std::memory_order_relaxed); }
};

/// The reason why a procedure cannot be registered, or a shared object cannot be loaded.
class TUTTI_EXPORT registration_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A procedure without its C++ types, so that all procedures can be stored alike.
struct procedure {
    std::string name;
    procedure_options options;
    std::size_t min_arguments = 0;  ///< minimum number of arguments
    std::size_t max_arguments = 0;
    std::function<void(const call&, std::span<const std::string_view>, reply&)> body;
    /// If set, returns the object of the cluster by which a call is routed. The call then runs on the server whose node
    /// owns that object.
    std::function<cluster::object_id(std::span<const std::string_view>)> routing_object{};
};

namespace detail {

using arguments = std::span<const std::string_view>;

/// Decodes the arguments of one parameter.
template <class T>
struct parameter {
    static constexpr std::size_t min_arguments = 1, max_arguments = 1;
    static T take(arguments& from) {
        const std::string_view first = from.front();
        from = from.subspan(1);
        return codec<T>::decode(first);
    }
};
template <class T>
struct parameter<std::optional<T>> {
    static constexpr std::size_t min_arguments = 0, max_arguments = parameter<T>::max_arguments;
    static std::optional<T> take(arguments& from) {
        if (from.empty()) return std::nullopt;
        return parameter<T>::take(from);
    }
};
template <class T>
struct parameter<std::vector<T>> {
    static constexpr std::size_t min_arguments = 0, max_arguments = std::size_t{1} << 32;
    static std::vector<T> take(arguments& from) {
        std::vector<T> all;
        all.reserve(from.size());
        while (!from.empty()) all.push_back(parameter<T>::take(from));
        return all;
    }
};

template <class... P>
struct types {};

/// Returns true if calls can pass arguments to every parameter: no optional parameter precedes a required one, and a
/// vector is the last parameter.
template <class... P>
constexpr bool in_order() {
    bool fits = true, may_be_left_out = false, takes_all = false;
    [[maybe_unused]] const auto check_parameter = [&](std::size_t min_arguments, std::size_t max_arguments) {
        fits = fits && !takes_all && (min_arguments == 0 || !may_be_left_out);
        may_be_left_out = may_be_left_out || min_arguments == 0;
        takes_all = takes_all || max_arguments > 1;
    };
    (check_parameter(parameter<P>::min_arguments, parameter<P>::max_arguments), ...);
    return fits;
}

template <class Pointer>
struct pointed;
template <class R, class... P>
struct pointed<R (*)(P...)> {
    using result = R;
    using parameters = types<std::remove_cvref_t<P>...>;
};
template <class R, class C, class... P>
struct pointed<R (C::*)(P...) const> : pointed<R (*)(P...)> {};
template <class R, class C, class... P>
struct pointed<R (C::*)(P...)> : pointed<R (*)(P...)> {};
template <class R, class C, class... P>
struct pointed<R (C::*)(P...) const noexcept> : pointed<R (*)(P...)> {};
template <class R, class... P>
struct pointed<R (*)(P...) noexcept> : pointed<R (*)(P...)> {};

template <class F>
struct signature : pointed<F> {};
template <class F>
    requires requires { &F::operator(); }
struct signature<F> : pointed<decltype(&F::operator())> {};

/// Calls f with `first` and the decoded arguments of `given`.
template <class R, class... P, class F, class... First>
void invoke(F& f, types<P...>, [[maybe_unused]] arguments given, reply& to, First&... first) {
    static_assert(
        in_order<P...>(),
        "tutti: a std::vector must be the last parameter, and only optional parameters may follow a std::optional");
    // The braces make the arguments decode from left to right.
    std::tuple<P...> decoded{parameter<P>::take(given)...};
    const auto run = [&]() -> R {
        return std::apply([&](P&... p) -> R { return f(first..., std::move(p)...); }, decoded);
    };
    if constexpr (std::is_void_v<R>) {
        run();
        to.status("OK");
    } else {
        codec<std::remove_cvref_t<R>>::encode(to, run());
    }
}

template <class R, class F, class... P>
procedure make(std::string name, const procedure_options& options, F f, types<call, P...>) {
    return {std::move(name), options, (std::size_t{0} + ... + parameter<P>::min_arguments),
            (std::size_t{0} + ... + parameter<P>::max_arguments),
            [f = std::move(f)](const call& how, arguments given, reply& to) mutable {
                invoke<R>(f, types<P...>{}, given, to, how);
            }};
}
template <class R, class F, class... P>
procedure make(std::string name, const procedure_options& options, F f, types<P...>) {
    return {std::move(name), options, (std::size_t{0} + ... + parameter<P>::min_arguments),
            (std::size_t{0} + ... + parameter<P>::max_arguments),
            [f = std::move(f)](const call&, arguments given, reply& to) mutable {
                invoke<R>(f, types<P...>{}, given, to);
            }};
}

/// Converts a function of a call's first arguments to the function that returns the object by which the call is routed.
template <std::size_t Given, class A, class... P>
auto make_routing_function(A a, types<P...>) {
    static_assert((std::size_t{0} + ... + parameter<P>::min_arguments) <= Given,
                  "tutti: a routing function may take only arguments that every call has");
    return [a = std::move(a)](arguments given) -> cluster::object_id {
        std::tuple<P...> decoded{parameter<P>::take(given)...};
        return std::apply([&a](P&... p) -> cluster::object_id { return a(std::move(p)...); }, decoded);
    };
}
template <class... P>
consteval std::size_t min_arguments_of(types<call, P...>) {
    return (std::size_t{0} + ... + parameter<P>::min_arguments);
}
template <class... P>
consteval std::size_t min_arguments_of(types<P...>) {
    return (std::size_t{0} + ... + parameter<P>::min_arguments);
}

}  // namespace detail

/// Receives the data of a procedure for a snapshot, piece by piece.
class TUTTI_EXPORT snapshot_writer {
public:
    snapshot_writer() = default;
    snapshot_writer(const snapshot_writer&) = delete;
    snapshot_writer& operator=(const snapshot_writer&) = delete;
    virtual ~snapshot_writer() = default;
    virtual void put(std::string_view piece) = 0;
};

/// Returns the data of a procedure when a snapshot is loaded, in the pieces in which they were saved.
class TUTTI_EXPORT snapshot_reader {
public:
    snapshot_reader() = default;
    snapshot_reader(const snapshot_reader&) = delete;
    snapshot_reader& operator=(const snapshot_reader&) = delete;
    virtual ~snapshot_reader() = default;
    /// Returns the next piece, which is valid until the next call. Returns nullopt after the last piece.
    [[nodiscard]] virtual std::optional<std::string_view> next() = 0;
};

/// The registry of procedures. Register them before the server starts.
class TUTTI_EXPORT registry {
public:
    registry() = default;
    registry(const registry&) = delete;
    registry& operator=(const registry&) = delete;
    virtual ~registry() = default;

    /// Registers a procedure. `f` takes its arguments by value or const reference, of types that have a codec. `f`
    /// returns such a type or nothing. A std::vector must be the last parameter. All parameters after a std::optional
    /// must be optional or a vector. `f` runs on many threads at once. An exception that leaves `f` becomes an error
    /// reply. Each of Tutti's own exceptions has an error code (docs/server.md). For any other exception, the reply is
    /// EXCEPTION with the exception's name and `what()`. A name has 1 to 100 printable ASCII characters without blanks.
    /// The words that can precede a name in a call are not allowed as names: PRIORITY, DEADLINE, ID, --.
    /// @throws registration_error  if the name is taken or invalid, or an option is out of range
    template <class F>
    void add(std::string name, const procedure_options& options, F f) {
        using s = detail::signature<F>;
        add(detail::make<typename s::result>(std::move(name), options, std::move(f), typename s::parameters{}));
    }
    /// Registers a procedure whose calls run, on a cluster, at the server whose node owns a given object. If that
    /// server lacks the procedure or has no room, the call runs on the server that received the call
    /// (docs/server-cluster.md). `routing_object` takes the call's first arguments, or all of them, by value or const
    /// reference, and returns the object. The result is a cluster::object_id, or a text that names the object.
    /// `routing_object` runs on many threads at once, which also serve clients, so it should only compute the id. If
    /// `routing_object` throws, the call runs on the server that received it. Without a cluster, `routing_object` has
    /// no effect.
    template <class F, class A>
    void add(std::string name, const procedure_options& options, F f, A routing_object) {
        using s = detail::signature<F>;
        using parameters = typename s::parameters;
        procedure p = detail::make<typename s::result>(std::move(name), options, std::move(f), parameters{});
        p.routing_object = detail::make_routing_function<detail::min_arguments_of(parameters{})>(
            std::move(routing_object), typename detail::signature<A>::parameters{});
        add(std::move(p));
    }
    virtual void add(procedure p) = 0;

    /// Returns the operator's setting for `name` (`tutti serve --set name=value`), or `otherwise` if there is no such
    /// setting.
    [[nodiscard]] virtual std::string setting(std::string_view name, std::string_view otherwise) const = 0;
    /// Runs `f` after the last call has ended, on the thread that drains the server. Several functions run in the order
    /// of their registration. If a function throws, the other functions still run, and the server exits with a failure.
    /// A server that was never started runs none of these functions.
    virtual void at_end(std::function<void()> f) = 0;
    /// Sets how a server that logs its calls saves the data of `name` to a snapshot and restores them. Without these
    /// functions, a start runs all logged calls again.
    ///
    /// `dump` runs in a copy of the process with one thread, while calls run in the original process, or at the end of
    /// the server. `dump` runs inside a read-only transaction, and must read all data by transactions of its own or of
    /// the library's functions. `dump` must not take a lock that another thread may have held when the process was
    /// copied. `load` runs before the first call, on the initial data of the shared object. If there is no snapshot
    /// yet, `load` is not called. Every object that keeps data must be in the snapshot, because the server drops the
    /// log from before the snapshot.
    /// @throws registration_error  if the name is taken
    virtual void at_snapshot(std::string name, std::function<void(snapshot_writer&)> dump,
                             std::function<void(snapshot_reader&)> load) = 0;
    /// Returns the server's node of a cluster. Procedures may use the node's objects through `cluster::ref<T>`
    /// (<tutti/cluster/ref.hpp>). The node lives until all functions registered by at_end have run.
    /// @throws registration_error  if the server has no node
    [[nodiscard]] virtual cluster::node& cluster() const = 0;
};

namespace detail {

/// The compiler's layout of the types that a shared object and its server exchange. The object contains its layout as
/// plain data. The server reads these data from the file before it loads the object, so no code of the object has run
/// by then.
struct object_layout {
    char magic[16];
    std::uint32_t version;           ///< version of the interface
    std::uint32_t libcxx;            ///< 1: LLVM's standard library
    std::uint32_t debug_containers;  ///< 1: _GLIBCXX_DEBUG
    std::uint32_t new_strings;       ///< 1: _GLIBCXX_USE_CXX11_ABI
    std::uint32_t sizes[7];          ///< sizes of types of the standard library and of the interface
    bool operator==(const object_layout&) const = default;
};

consteval object_layout layout_of_this_object() {
    object_layout l{"tutti-procedure", 5, 0, 0, 0, {}};
#if defined(_LIBCPP_VERSION)
    l.libcxx = 1;
#endif
#if defined(_GLIBCXX_DEBUG)
    l.debug_containers = 1;
#endif
#if defined(_GLIBCXX_USE_CXX11_ABI)
    l.new_strings = _GLIBCXX_USE_CXX11_ABI;
#endif
    std::uint32_t* at = l.sizes;
    for (const std::size_t size : {sizeof(std::string), sizeof(std::vector<std::string>), sizeof(std::function<void()>),
                                   sizeof(procedure_options), sizeof(call), sizeof(procedure), sizeof(registry)}) {
        *at++ = static_cast<std::uint32_t>(size);
    }
    return l;
}

}  // namespace detail
}  // namespace tutti::server

/// Begins the function in which a shared object registers its procedures. The function's name contains the version of
/// the interface, so that the server can reject an object of another version. The server also rejects an object whose
/// standard library types have another layout.
#define TUTTI_PROCEDURES(registry_name)                                                     \
    TUTTI_NO_PREEMPTION_STATICS                                                             \
    static void tutti_define_procedures(tutti::server::registry& registry_name);            \
    extern "C" TUTTI_EXPORT const tutti::server::detail::object_layout tutti_server_layout; \
    constinit const tutti::server::detail::object_layout tutti_server_layout =              \
        tutti::server::detail::layout_of_this_object();                                     \
    extern "C" TUTTI_EXPORT void tutti_server_procedures_5(tutti::server::registry* to);    \
    extern "C" TUTTI_EXPORT void tutti_server_procedures_5(tutti::server::registry* to) {   \
        tutti_define_procedures(*to);                                                       \
    }                                                                                       \
    static void tutti_define_procedures(tutti::server::registry& registry_name)

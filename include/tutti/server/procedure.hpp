/// @file
/// Procedures: C++ functions that clients of the transaction server call by name.
///
///     #include <tutti/server/procedure.hpp>
///
///     TUTTI_PROCEDURES(server) {
///         server.add("transfer", {.priority = 5, .deadline = 10ms}, [](long from, long to, long amount) { … });
///     }
///
/// A shared object with such a function is what `tutti serve` loads; a program that embeds the server calls `add`
/// itself.
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
#include "tutti/server/undisturbed.hpp"

namespace tutti::server {

/// Priorities go from 0 to this; the higher runs first.
inline constexpr int highest_priority = 31;

struct procedure_options {
    int priority = 1;  ///< from 0 to highest_priority: the higher runs sooner. A call may bring another
    /// Counted from the arrival of a call, which may bring another one. Zero: none.
    std::chrono::microseconds deadline{0};
    /// After so long its caller gets TIMEOUT, and it is cancelled at its next transactional access. Zero: the server's.
    std::chrono::milliseconds time_limit{0};
    /// Whether a call that has not begun by its deadline is answered by DEADLINE instead of being run.
    bool refuse_late = false;
    /// A client may bring a priority up to this; a higher one is answered by ARGUMENT. The program's own calls may
    /// bring any.
    int highest_of_clients = highest_priority;
    /// Whether a call goes on waiting in `retry` when its client has gone, or has said that it sends no more; nobody is
    /// answered then. Otherwise it is ended there, by tutti::interrupted.
    bool outlives_client = false;
    /// Whether a client may bring a deadline.
    bool clients_set_deadline = true;
    /// Promises that the procedure writes nothing. Where calls are logged (log_settings) it then runs as one read-only
    /// block, is never logged, and runs also while the log cannot be written; a write is answered by EXCEPTION. Without
    /// a log nothing is different.
    bool read_only = false;
};

/// What a procedure may know about the call that it serves, if its first parameter is a `const call&`. Priority and
/// deadline fit the options of an atomic block of the same name.
struct call {
    int priority = 0;
    tutti::deadline deadline{};
    const std::atomic<bool>* gone = nullptr;  ///< the server's; see abandoned()
    std::int64_t began = 0;                   ///< microseconds since 1970; 0: as of now. See now()
    /// A number that differs from call to call, for generators of random numbers. Where calls are logged, one that is
    /// run again has the one of its first run; what else is random would come out differently.
    std::uint64_t seed = 0;
    /// Whether it runs again from the log, because the server has started: for what must not happen twice outside of
    /// the server's data, as a message that is sent.
    bool replayed = false;

    /// The time of day, as the call is to see it: where calls are logged that of its begin, also when it is run again
    /// from the log. What a procedure keeps, or decides by, must come from here and from no other clock.
    [[nodiscard]] std::chrono::system_clock::time_point now() const noexcept {
        if (began == 0) return std::chrono::system_clock::now();
        return std::chrono::system_clock::time_point{std::chrono::microseconds{began}};
    }

    /// Whether the client has gone, so that the answer will not be read. A procedure that takes something for its
    /// client asks at the end of its block, and cancels the block rather than lose it. The client may still go after
    /// that: only an acknowledgement, a second call, tells that an answer has arrived.
    [[nodiscard]] bool abandoned() const noexcept { return gone != nullptr && gone->load(std::memory_order_relaxed); }
};

/// Why a procedure cannot be registered, or a shared object not be loaded.
class TUTTI_EXPORT registration_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A procedure without its types.
struct procedure {
    std::string name;
    procedure_options options;
    std::size_t least = 0;  ///< arguments
    std::size_t most = 0;
    std::function<void(const call&, std::span<const std::string_view>, reply&)> body;
    /// The object of the cluster that a call is about, if it says so: it then runs on the server whose node owns that.
    std::function<cluster::object_id(std::span<const std::string_view>)> about{};
};

namespace detail {

using arguments = std::span<const std::string_view>;

/// How a parameter takes its arguments.
template <class T>
struct parameter {
    static constexpr std::size_t least = 1, most = 1;
    static T take(arguments& from) {
        const std::string_view first = from.front();
        from = from.subspan(1);
        return codec<T>::decode(first);
    }
};
template <class T>
struct parameter<std::optional<T>> {
    static constexpr std::size_t least = 0, most = parameter<T>::most;
    static std::optional<T> take(arguments& from) {
        if (from.empty()) return std::nullopt;
        return parameter<T>::take(from);
    }
};
template <class T>
struct parameter<std::vector<T>> {
    static constexpr std::size_t least = 0, most = std::size_t{1} << 32;
    static std::vector<T> take(arguments& from) {
        std::vector<T> all;
        all.reserve(from.size());
        while (!from.empty()) all.push_back(parameter<T>::take(from));
        return all;
    }
};

template <class... P>
struct types {};

/// Whether each parameter finds the arguments that it needs: one that may be left out takes what a later one cannot do
/// without, and one that takes all that are left leaves none.
template <class... P>
constexpr bool in_order() {
    bool fits = true, may_be_left_out = false, takes_all = false;
    [[maybe_unused]] const auto look = [&](std::size_t least, std::size_t most) {
        fits = fits && !takes_all && (least == 0 || !may_be_left_out);
        may_be_left_out = may_be_left_out || least == 0;
        takes_all = takes_all || most > 1;
    };
    (look(parameter<P>::least, parameter<P>::most), ...);
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

/// Calls f with what `given` decodes to, after `first`.
template <class R, class... P, class F, class... First>
void invoke(F& f, types<P...>, [[maybe_unused]] arguments given, reply& to, First&... first) {
    static_assert(in_order<P...>(),
                  "tutti: a procedure's std::vector comes last, and behind a std::optional everything may be left out");
    // Braces: the arguments are taken from left to right.
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
    return {std::move(name), options, (std::size_t{0} + ... + parameter<P>::least),
            (std::size_t{0} + ... + parameter<P>::most),
            [f = std::move(f)](const call& how, arguments given, reply& to) mutable {
                invoke<R>(f, types<P...>{}, given, to, how);
            }};
}
template <class R, class F, class... P>
procedure make(std::string name, const procedure_options& options, F f, types<P...>) {
    return {std::move(name), options, (std::size_t{0} + ... + parameter<P>::least),
            (std::size_t{0} + ... + parameter<P>::most),
            [f = std::move(f)](const call&, arguments given, reply& to) mutable {
                invoke<R>(f, types<P...>{}, given, to);
            }};
}

/// What a call is about, by a function of its first arguments.
template <std::size_t Given, class A, class... P>
auto about(A a, types<P...>) {
    static_assert((std::size_t{0} + ... + parameter<P>::least) <= Given,
                  "tutti: what a call is about follows from arguments that every call has");
    return [a = std::move(a)](arguments given) -> cluster::object_id {
        std::tuple<P...> decoded{parameter<P>::take(given)...};
        return std::apply([&a](P&... p) -> cluster::object_id { return a(std::move(p)...); }, decoded);
    };
}
template <class... P>
consteval std::size_t least_of(types<call, P...>) {
    return (std::size_t{0} + ... + parameter<P>::least);
}
template <class... P>
consteval std::size_t least_of(types<P...>) {
    return (std::size_t{0} + ... + parameter<P>::least);
}

}  // namespace detail

/// Where a procedure's data go for a snapshot, piece by piece.
class TUTTI_EXPORT snapshot_writer {
public:
    snapshot_writer() = default;
    snapshot_writer(const snapshot_writer&) = delete;
    snapshot_writer& operator=(const snapshot_writer&) = delete;
    virtual ~snapshot_writer() = default;
    virtual void put(std::string_view piece) = 0;
};

/// And from where they come back, in the same pieces.
class TUTTI_EXPORT snapshot_reader {
public:
    snapshot_reader() = default;
    snapshot_reader(const snapshot_reader&) = delete;
    snapshot_reader& operator=(const snapshot_reader&) = delete;
    virtual ~snapshot_reader() = default;
    /// The next piece, valid until the next call; none: that was the last.
    [[nodiscard]] virtual std::optional<std::string_view> next() = 0;
};

/// Where procedures are registered, before the server starts.
class TUTTI_EXPORT registry {
public:
    registry() = default;
    registry(const registry&) = delete;
    registry& operator=(const registry&) = delete;
    virtual ~registry() = default;

    /// `f` takes its arguments by value or const reference, of types that have a codec, and returns one or nothing. A
    /// std::vector comes last; behind a std::optional everything may be left out. It runs on many threads at once. What
    /// it throws is answered by an error: of Tutti's own exceptions by a code of their own (docs/server.md), of others
    /// by EXCEPTION, its name and `what()`. A name is 1 to 100 printable ASCII characters without blanks, and none of
    /// the words that may come before it in a call: PRIORITY, DEADLINE, ID, --.
    /// @throws registration_error  when the name is taken or unfit, or an option out of range
    template <class F>
    void add(std::string name, const procedure_options& options, F f) {
        using s = detail::signature<F>;
        add(detail::make<typename s::result>(std::move(name), options, std::move(f), typename s::parameters{}));
    }
    /// The same, on a cluster: a call runs on the server whose node owns the object that it is about, if that one has
    /// the procedure and room for it, and else where it was asked (docs/server-cluster.md). `about` takes the call's
    /// first arguments, or all of them, by value or const reference, and returns a cluster::object_id, or a text that
    /// stands for one. It runs on threads that serve clients, on many at once: it works the id out and does nothing
    /// else. If it throws, the call runs where it was asked. Without a cluster nothing is different.
    template <class F, class A>
    void add(std::string name, const procedure_options& options, F f, A about) {
        using s = detail::signature<F>;
        using parameters = typename s::parameters;
        procedure p = detail::make<typename s::result>(std::move(name), options, std::move(f), parameters{});
        p.about = detail::about<detail::least_of(parameters{})>(std::move(about),
                                                                typename detail::signature<A>::parameters{});
        add(std::move(p));
    }
    virtual void add(procedure p) = 0;

    /// What the server's operator gave for `name` (`tutti serve --set name=value`).
    [[nodiscard]] virtual std::string setting(std::string_view name, std::string_view otherwise) const = 0;
    /// Runs `f` once the last call has ended, in the order of registration, on the thread that drains the server. What
    /// one throws makes the server end in failure, after the others have run. A server that never started runs none.
    virtual void at_end(std::function<void()> f) = 0;
    /// For a server that logs its calls: how the data that belong to `name` become a snapshot, and what makes them
    /// again from it. Without them a start runs all calls again that were ever logged.
    ///
    /// `dump` runs in a copy of the process with one thread, while calls run here, or at the end of the server. It runs
    /// inside a transaction that only reads: all that it reads, it reads by transactions of its own or of the library's
    /// functions. It takes no lock that another thread may have had when the process was copied. `load` runs before the
    /// first call, on data as the shared object has made them; it finds no piece where there is no snapshot yet, and is
    /// then not called. All objects that keep data have to be in it, because the log from before is dropped.
    /// @throws registration_error  when the name is taken
    virtual void at_snapshot(std::string name, std::function<void(snapshot_writer&)> dump,
                             std::function<void(snapshot_reader&)> load) = 0;
    /// The node whose objects procedures may use, as `cluster::ref<T>` (<tutti/cluster/ref.hpp>); it lives until all
    /// that was registered by at_end has run.
    /// @throws registration_error  when the server has none
    [[nodiscard]] virtual cluster::node& cluster() const = 0;
};

namespace detail {

/// How the compiler laid out what a shared object and its server pass to each other. The object has one as plain data,
/// which the server reads from the file before it loads it: by then no code of the object has run.
struct object_layout {
    char magic[16];
    std::uint32_t version;           ///< of the interface
    std::uint32_t libcxx;            ///< 1: LLVM's standard library
    std::uint32_t debug_containers;  ///< 1: _GLIBCXX_DEBUG
    std::uint32_t new_strings;       ///< 1: _GLIBCXX_USE_CXX11_ABI
    std::uint32_t sizes[7];          ///< of types of the standard library and of the interface
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

/// Begins the function that a shared object registers its procedures in. The name carries the version of the interface,
/// so that an object that was built for another one is refused. So is one in which types of the standard library have
/// another layout than in the server.
#define TUTTI_PROCEDURES(registry_name)                                                     \
    TUTTI_UNDISTURBED_STATICS                                                               \
    static void tutti_define_procedures(tutti::server::registry& registry_name);            \
    extern "C" TUTTI_EXPORT const tutti::server::detail::object_layout tutti_server_layout; \
    constinit const tutti::server::detail::object_layout tutti_server_layout =              \
        tutti::server::detail::layout_of_this_object();                                     \
    extern "C" TUTTI_EXPORT void tutti_server_procedures_5(tutti::server::registry* to);    \
    extern "C" TUTTI_EXPORT void tutti_server_procedures_5(tutti::server::registry* to) {   \
        tutti_define_procedures(*to);                                                       \
    }                                                                                       \
    static void tutti_define_procedures(tutti::server::registry& registry_name)

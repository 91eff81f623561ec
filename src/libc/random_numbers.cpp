// Random numbers. A roll-back restores the generator, so a seed leads to the same numbers however often blocks restart.
//
// The drand48 family and rand_r keep their state in plain memory without a lock. This state is treated like memory of
// the program. random and rand guard their state by a lock that only glibc can acquire. Therefore an abstract lock
// ensures that only one transaction at a time uses the state of random and rand. The first use in a block saves the
// state, and a roll-back of the block restores it with initstate and setstate. If another thread calls random outside
// of transactions at that very moment, it may get a number of another sequence.
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "libc/context_state.hpp"
#include "libc/effects.hpp"
#include "libc/memory.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {

/// The state of random before its first use in a block.
struct saved_generator {
    std::size_t index;  ///< index in the log of handlers
    saved_generator* older;
    char* state;  ///< state inside glibc, or the program's state that was passed to initstate
    std::size_t size;
    char bytes[256];
};

namespace {

constexpr char generator = 0;  // identifies the lock

/// While an object of this class lives, random uses another state. So the bytes of the real state are as glibc stores
/// them between uses.
class other_state_scope {
public:
    other_state_scope() noexcept : state_{::initstate(1, other_, sizeof other_)} {}
    ~other_state_scope() { ::setstate(state_); }
    other_state_scope(const other_state_scope&) = delete;
    other_state_scope& operator=(const other_state_scope&) = delete;
    [[nodiscard]] char* state() const noexcept { return state_; }

private:
    char other_[8];
    char* state_;
};

/// Returns the size of a state, which is encoded in its first word (random(3): 8, 32, 64, 128 or 256 bytes).
std::size_t size_of(const char* state) noexcept {
    std::int32_t kind = 0;
    std::memcpy(&kind, state, sizeof kind);
    constexpr std::size_t sizes[] = {8, 32, 64, 128, 256};
    return sizes[kind % 5];
}

class restore_generator final : public detail::handler {
public:
    restore_generator(context_state& s, std::size_t index) noexcept
        : state_{s}, saved_{index, s.generator, nullptr, 0, {}} {}
    void save() noexcept {
        const other_state_scope now;
        saved_.state = now.state();
        saved_.size = size_of(now.state());
        std::memcpy(saved_.bytes, now.state(), saved_.size);
        state_.generator = &saved_;
    }
    void run(tx&, abort_cause) override {
        if (saved_.state == nullptr) return;
        state_.generator = saved_.older;
        const other_state_scope now;
        if (now.state() == saved_.state) std::memcpy(saved_.state, saved_.bytes, saved_.size);
    }

private:
    context_state& state_;
    saved_generator saved_;
};

/// Call this before a use of random. If there is no memory to save the state, makes the transaction irrevocable.
void lock_generator(tx& t) {
    descriptor& d = descriptor::of(t);
    context_state* const s = state_of(d);
    const errno_guard saved_errno;
    bool mine = s != nullptr && hold_until_end(t, {.of = &generator});
    const bool noted = mine && s->generator != nullptr &&
                       (d.frame_->parent == nullptr || s->generator->index >= d.frame_->mark.deferred);
    if (mine && !noted) {
        try {
            auto made = std::make_unique<restore_generator>(*s, d.deferred_log.size());
            auto* const at = made.get();
            detail::access::add(t, detail::handler_point::on_abort, std::move(made));
            at->save();
        } catch (const std::bad_alloc&) {
            mine = false;
        }
    }
    if (!mine) become_irrevocable(t, "random, without memory to save its state");
}

/// Finds drand48's state through a pointer into the state that glibc returns. Runs before the program can seed the
/// generator.
drand48_data* find_data() noexcept {
    unsigned short seed[3] = {0, 0, 0};
    unsigned short* const old = ::seed48(seed);
    auto* const data = reinterpret_cast<drand48_data*>(reinterpret_cast<char*>(old) - offsetof(drand48_data, __old_x));
    std::memcpy(data->__x, data->__old_x, sizeof seed);
    return data;
}
drand48_data* const data = [] {
    auto* const found = find_data();
    const drand48_data fresh{};
    if (std::memcmp(found->__x, fresh.__x, sizeof fresh.__x) == 0) std::memset(found, 0, sizeof *found);
    return found;
}();

/// Runs `call(data)` on a private copy of the state and writes the copy back.
template <class Call>
auto with(tx& t, drand48_data* of, Call call) {
    drand48_data copy;
    copy_in(t, &copy, of, sizeof copy);
    const auto result = call(&copy);
    copy_out(t, of, &copy, sizeof copy);
    return result;
}
template <class Call>
auto with_data(tx& t, Call call) {
    return with(t, data, call);
}
/// Runs `call` on a private copy of the state that the caller passes, and writes the copy back.
template <class Call>
auto with_state(tx& t, unsigned short* state, Call call) {
    unsigned short copy[3];
    copy_in(t, copy, state, sizeof copy);
    const auto result = with_data(t, [&](drand48_data* d) { return call(copy, d); });
    copy_out(t, state, copy, sizeof copy);
    return result;
}

}  // namespace

long random(tx& t) {
    lock_generator(t);
    return ::random();
}
int rand(tx& t) {
    lock_generator(t);
    return ::rand();
}
void srandom(tx& t, unsigned seed) {
    lock_generator(t);
    ::srandom(seed);
}
void srand(tx& t, unsigned seed) { libc::srandom(t, seed); }

int rand_r(tx& t, unsigned* seed) {
    unsigned copy = read(t, seed);
    const int result = ::rand_r(&copy);
    write(t, seed, copy);
    return result;
}

double drand48(tx& t) {
    return with_data(t, [](drand48_data* d) {
        double x = 0;
        ::drand48_r(d, &x);
        return x;
    });
}
long lrand48(tx& t) {
    return with_data(t, [](drand48_data* d) {
        long x = 0;
        ::lrand48_r(d, &x);
        return x;
    });
}
long mrand48(tx& t) {
    return with_data(t, [](drand48_data* d) {
        long x = 0;
        ::mrand48_r(d, &x);
        return x;
    });
}
double erand48(tx& t, unsigned short* state) {
    return with_state(t, state, [](unsigned short* s, drand48_data* d) {
        double x = 0;
        ::erand48_r(s, d, &x);
        return x;
    });
}
long nrand48(tx& t, unsigned short* state) {
    return with_state(t, state, [](unsigned short* s, drand48_data* d) {
        long x = 0;
        ::nrand48_r(s, d, &x);
        return x;
    });
}
long jrand48(tx& t, unsigned short* state) {
    return with_state(t, state, [](unsigned short* s, drand48_data* d) {
        long x = 0;
        ::jrand48_r(s, d, &x);
        return x;
    });
}
void srand48(tx& t, long seed) {
    with_data(t, [seed](drand48_data* d) { return ::srand48_r(seed, d); });
}

unsigned short* seed48(tx& t, unsigned short* seed) {
    libc::seed48_r(t, seed, data);
    return data->__old_x;
}
void lcong48(tx& t, unsigned short* parameters) { libc::lcong48_r(t, parameters, data); }

// These functions are irrevocable, because glibc does not report how many bytes it writes into a state.
char* initstate(tx& t, unsigned seed, char* state, std::size_t size) {
    lock_generator(t);
    become_irrevocable(t, "initstate", "srandom starts the sequence of the same state anew");
    return ::initstate(seed, state, size);
}
char* setstate(tx& t, char* state) {
    lock_generator(t);
    become_irrevocable(t, "setstate", "random_r has its state in memory of the program's");
    return ::setstate(state);
}

#define TUTTI_NUMBER(type, name)                                                        \
    int name(tx& t, drand48_data* of, type* to) {                                       \
        type x = 0;                                                                     \
        const int result = with(t, of, [&](drand48_data* d) { return ::name(d, &x); }); \
        write(t, to, x);                                                                \
        return result;                                                                  \
    }
#define TUTTI_NUMBER_OF_STATE(type, name)                                                     \
    int name(tx& t, unsigned short* state, drand48_data* of, type* to) {                      \
        unsigned short copy[3];                                                               \
        copy_in(t, copy, state, sizeof copy);                                                 \
        type x = 0;                                                                           \
        const int result = with(t, of, [&](drand48_data* d) { return ::name(copy, d, &x); }); \
        copy_out(t, state, copy, sizeof copy);                                                \
        write(t, to, x);                                                                      \
        return result;                                                                        \
    }
TUTTI_NUMBER(double, drand48_r)
TUTTI_NUMBER(long, lrand48_r)
TUTTI_NUMBER(long, mrand48_r)
TUTTI_NUMBER_OF_STATE(double, erand48_r)
TUTTI_NUMBER_OF_STATE(long, nrand48_r)
TUTTI_NUMBER_OF_STATE(long, jrand48_r)
#undef TUTTI_NUMBER
#undef TUTTI_NUMBER_OF_STATE

int srand48_r(tx& t, long seed, drand48_data* of) {
    return with(t, of, [seed](drand48_data* d) { return ::srand48_r(seed, d); });
}
int seed48_r(tx& t, unsigned short* seed, drand48_data* of) {
    unsigned short copy[3];
    copy_in(t, copy, seed, sizeof copy);
    return with(t, of, [&](drand48_data* d) { return ::seed48_r(copy, d); });
}
int lcong48_r(tx& t, unsigned short* parameters, drand48_data* of) {
    unsigned short copy[7];
    copy_in(t, copy, parameters, sizeof copy);
    return with(t, of, [&](drand48_data* d) { return ::lcong48_r(copy, d); });
}

}  // namespace tutti::libc

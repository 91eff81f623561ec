// The language that the programs are written in: the public interface, with every access told to the journal.
//
// A program is a few functions, one a thread, over a handful of places that every execution finds at 0. What is written
// is always a value that no other step writes, so that a value says where it came from; "has it been written?" takes
// the place of conditions on values. A body is run again after a restart and must not keep anything.
#pragma once

#include <vector>

#include "opacity.hpp"
#include "tutti/tutti.hpp"

namespace interleaving {

/// A place that blocks read and write.
struct spot {
    enum class kind : std::uint8_t { variable, wide_variable, plain_word };
    kind is;
    int index;
};
inline constexpr spot x{spot::kind::variable, 0}, y{spot::kind::variable, 1}, z{spot::kind::variable, 2};
inline constexpr spot w{spot::kind::wide_variable, 0};  // lives in a node of its own behind the variable
inline constexpr spot p{spot::kind::plain_word, 0}, q{spot::kind::plain_word, 1}, r{spot::kind::plain_word, 2};
inline constexpr spot p2{spot::kind::plain_word, 3};  // under the record of p

/// An object that blocks make and drop; 0 is none.
using object = int;

struct refused {};  // what block::fail throws

class actor;

/// Whose the abstract locks of the programs are.
inline constexpr char locks_of_all = 0;

/// A block that runs: what a body may do.
class block {
public:
    block(actor& who, tutti::tx& t) noexcept : actor_{who}, tx_{t} {}

    value read(spot s);
    void write(spot s);
    /// Reads it, and tells whether anybody has written it.
    bool written(spot s) { return read(s) != 0; }

    /// A closed nested block; false if it was cancelled.
    template <class F>
    bool nested(F body);
    /// The rest of the block from a checkpoint on.
    template <class F>
    void checkpoint(F rest);
    /// or_else.
    template <class F, class G>
    void either(F first, G second);
    /// An open nested block under the abstract lock `name`, and what undoes it. In the history both are transactions of
    /// another thread, four further on; where the engine nests it closed, so does this.
    template <class F, class G>
    void apart(std::uint64_t name, F body, G undo);

    /// Takes the abstract lock `name` until its end.
    void acquire(std::uint64_t name);
    [[noreturn]] void retry();
    /// A retry whose time is up as soon as it has slept.
    void retry_for_a_moment();
    [[noreturn]] void restart();
    [[noreturn]] void cancel();
    [[noreturn]] void fail();
    void become_visible();
    void become_irrevocable();
    /// No other block runs from here on, so that plain words may be touched directly.
    void become_alone();
    value read_directly(spot plain_word);
    void write_directly(spot plain_word);
    [[nodiscard]] unsigned number_of_attempt() const noexcept { return tx_.attempt(); }

    /// Creates an object and puts it into the one slot for objects.
    void make();
    /// The object in the slot.
    object find();
    value read(object o);
    void write(object o);
    /// Empties the slot and destroys the object that was in it.
    void drop(object o);

    /// The context stops running in the middle of the block, as if preempted, until another thread calls actor::wake.
    void be_suspended();
    /// The clock goes on by so much. As in a context that is switched away, which is not sampled: so every execution
    /// finds that nothing is known yet about how long the block takes.
    void attempt_let_pass(std::chrono::nanoseconds time);

private:
    template <class F>
    auto inside(F& body, int depth);
    [[nodiscard]] int depth() const;
    /// One attempt of a transaction that thread `number` runs apart.
    template <class F>
    static void attempt_apart(int number, tutti::tx& t, F& body);
    static void expects_apart(int number);
    static void enters_apart(int number, tutti::tx& t);
    static void asks_apart(int number);
    static void ended_apart(int number, bool committed);
    void opened(int depth);
    void closed();
    void undone(int depth);

    actor& actor_;
    tutti::tx& tx_;
};

enum class outcome : std::uint8_t { committed, cancelled, refused };

/// A thread of a program.
class actor {
public:
    explicit actor(int number) noexcept : number_{number} {}

    template <class F>
    outcome transact(const tutti::options& how, F body);
    template <class F>
    outcome transact(F body) {
        return transact(tutti::options{}, body);
    }
    /// With restarts that jump. The body holds nothing that has a destructor and opens no nested block.
    template <class F>
    outcome transact_jumping(F body);

    /// A block that runs alone because no other thread begins any; what comes first are blocks that show it. False: it
    /// did not run, because one does.
    bool transact_as_biased_owner(void (*body)(block&));

    /// A block that runs alone from its begin on. False: it did not, because the algorithm runs every one so.
    bool transact_alone(void (*body)(block&));

    /// A block of the language. False: it did not run, because the algorithm runs none, or runs every block alone.
    bool transact_of_the_language(void (*body)(block&));

    /// A variable outside of any block.
    value load(spot s);
    void store(spot s);
    /// A plain word, directly: the program sees to it that it is private.
    value peek(spot s);
    void poke(spot s);

    /// Asks the transaction that `thread` is in to die; true if it will.
    bool kill(int thread);
    /// Gives back what a killed and suspended transaction owns.
    void evict(int thread);
    /// Ends be_suspended of all threads, now or later.
    void wake();
    /// Waits until a thread has suspended itself.
    void await_suspension();

private:
    friend class block;
    template <class F>
    void run(tutti::tx& t, F& body);
    void expects();
    void enters(tutti::tx& t);
    void asks();
    void ended(bool committed);

    int number_;
};

struct program {
    const char* name;
    std::vector<void (*)(actor&)> threads;  // at most four
    bool is_always_woken = false;           // no thread has to wait until a time limit helps it
};

/// All of them, in the order of the files that they come from.
[[nodiscard]] const std::vector<program>& all_programs();
/// Throws std::out_of_range.
[[nodiscard]] const program& program_named(const char* name);

[[nodiscard]] std::vector<program> conflict_programs();
[[nodiscard]] std::vector<program> mode_programs();
[[nodiscard]] std::vector<program> nesting_programs();
[[nodiscard]] std::vector<program> waiting_programs();
[[nodiscard]] std::vector<program> memory_programs();

// --- Implementation of the templates.

template <class F>
auto block::inside(F& body, int depth) {
    return [this, &body, depth](tutti::tx&) {
        opened(depth);
        body(*this);
        closed();
    };
}

template <class F>
bool block::nested(F body) {
    const int outside = depth();
    bool kept = false;
    try {
        kept = tutti::try_atomically(inside(body, outside));
    } catch (...) {
        undone(outside);
        throw;
    }
    if (!kept) undone(outside);
    return kept;
}

template <class F>
void block::checkpoint(F rest) {
    const int outside = depth();
    try {
        tutti::checkpoint(tx_, inside(rest, outside));
    } catch (...) {
        undone(outside);
        throw;
    }
}

template <class F, class G>
void block::either(F first, G second) {
    const int outside = depth();
    try {
        tutti::or_else(tx_, inside(first, outside), inside(second, outside));
    } catch (...) {
        undone(outside);
        throw;
    }
}

template <class F>
void block::attempt_apart(int number, tutti::tx& t, F& body) {
    enters_apart(number, t);
    actor other{number};
    block b{other, t};
    body(b);
    asks_apart(number);
}

template <class F, class G>
void block::apart(std::uint64_t name, F body, G undo) {
    const int number = actor_.number_ + 4;
    if (tutti::detail::nests_closed(tx_)) return static_cast<void>(nested(body));
    expects_apart(number);
    try {
        tutti::open_nested(
            tx_, {{&locks_of_all, name}}, [&](tutti::tx& t) { attempt_apart(number, t, body); },
            [undo, number](tutti::tx& t) {
                expects_apart(number);
                auto mine = undo;
                attempt_apart(number, t, mine);
                t.on_commit([number] { ended_apart(number, true); });
            });
    } catch (...) {
        ended_apart(number, false);
        throw;
    }
    ended_apart(number, true);
}

template <class F>
void actor::run(tutti::tx& t, F& body) {
    enters(t);
    block b{*this, t};
    body(b);
    asks();
}

template <class F>
outcome actor::transact(const tutti::options& how, F body) {
    expects();
    outcome result = outcome::committed;
    try {
        if (!tutti::try_atomically(how, [&](tutti::tx& t) { run(t, body); })) result = outcome::cancelled;
    } catch (const refused&) {
        result = outcome::refused;
    }
    ended(result == outcome::committed);
    return result;
}

template <class F>
outcome actor::transact_jumping(F body) {
    expects();
    outcome result = outcome::committed;
    try {
        tutti::atomically(tutti::no_unwind, [&](tutti::tx& t) { run(t, body); });
    } catch (const tutti::cancelled&) {
        result = outcome::cancelled;
    } catch (const refused&) {
        result = outcome::refused;
    }
    ended(result == outcome::committed);
    return result;
}

}  // namespace interleaving

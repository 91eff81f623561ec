// The language of the programs: the public interface, with every access recorded in the journal.
//
// A program consists of a few functions, one for each thread, over a few places that hold 0 at the start of every
// execution. Every step writes a unique value, so a value identifies its writer; instead of conditions on values,
// programs ask "has it been written?". A body runs again after a restart and must not keep any state.
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
inline constexpr spot w{spot::kind::wide_variable, 0};  // stored in a node of its own behind the variable
inline constexpr spot p{spot::kind::plain_word, 0}, q{spot::kind::plain_word, 1}, r{spot::kind::plain_word, 2};
inline constexpr spot p2{spot::kind::plain_word, 3};  // shares the orec of p

/// An object that blocks make and drop; 0 means none.
using object = int;

struct refused {};  // thrown by block::fail

class actor;

/// The owner of the programs' abstract locks.
inline constexpr char locks_of_all = 0;

/// A running block: the actions that a body may take.
class block {
public:
    block(actor& who, tutti::tx& t) noexcept : actor_{who}, tx_{t} {}

    value read(spot s);
    void write(spot s);
    /// Reads the place. Returns true if it has been written.
    bool written(spot s) { return read(s) != 0; }

    /// Runs a closed nested block. Returns false if it was cancelled.
    template <class F>
    bool nested(F body);
    /// Runs the rest of the block from a checkpoint on.
    template <class F>
    void checkpoint(F rest);
    /// Runs or_else.
    template <class F, class G>
    void either(F first, G second);
    /// Runs an open nested block under the abstract lock `name`, with its undo. In the history both are transactions of
    /// another thread, whose number is four higher. If the engine closes the nested block, so does this function.
    template <class F, class G>
    void open_nested(std::uint64_t name, F body, G undo);

    /// Takes the abstract lock `name` until the block's end.
    void acquire(std::uint64_t name);
    [[noreturn]] void retry();
    /// Retries with a time limit that expires as soon as the block has slept.
    void retry_with_a_time_limit();
    [[noreturn]] void restart();
    [[noreturn]] void cancel();
    [[noreturn]] void fail();
    void become_visible();
    void become_irrevocable();
    /// Makes the block run alone from here on, so that it may use plain words directly.
    void become_serial();
    value read_directly(spot plain_word);
    void write_directly(spot plain_word);
    [[nodiscard]] unsigned number_of_attempt() const noexcept { return tx_.attempt(); }

    /// Registers a handler that runs after the commit, in two steps. A block that runs alone must not come before or
    /// between these steps.
    void handle_after_commit();

    /// Creates an object and puts it into the only slot for objects.
    void make();
    /// Returns the object in the slot.
    object find();
    value read(object o);
    void write(object o);
    /// Empties the slot and destroys the object in it.
    void drop(object o);

    /// Stops the context in the middle of the block, as if preempted, until another thread calls actor::wake.
    void be_suspended();
    /// Advances the clock by `time`, as in a context that is switched away, which is not sampled. In every execution,
    /// the block's duration is therefore still unknown.
    void let_time_pass(std::chrono::nanoseconds time);

private:
    template <class F>
    auto inside(F& body, int depth);
    [[nodiscard]] int depth() const;
    /// One attempt of a transaction that thread `number` runs in an open nested block.
    template <class F>
    static void attempt_open_nested(int number, tutti::tx& t, F& body);
    static void expect_open_nested(int number);
    static void enter_open_nested(int number, tutti::tx& t);
    static void ask_to_commit_open_nested(int number);
    static void end_open_nested(int number, bool committed);
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
    /// Runs a block with restarts by jumps. The body has no object with a destructor and opens no nested block.
    template <class F>
    outcome transact_jumping(F body);

    /// Runs a block that is alone because no other thread begins one. Earlier blocks of this thread show this. Returns
    /// false if the block did not run because another thread begins one.
    bool transact_as_biased_owner(void (*body)(block&));

    /// Runs a block that is alone from its start on. Returns false if the block did not run because the
    /// algorithm runs every block alone.
    bool transact_serial(void (*body)(block&));

    /// Runs a block of the language. Returns false if the block did not run. The reason is that the algorithm runs no
    /// such blocks, or that it runs every block alone.
    bool transact_in_the_language(void (*body)(block&));

    /// Accesses a variable outside of any block.
    value load(spot s);
    void store(spot s);
    /// Accesses a plain word directly. The program must ensure that the word is private.
    value peek(spot s);
    void poke(spot s);

    /// Kills the transaction of `thread`. Returns true if that transaction will abort.
    bool kill(int thread);
    /// Releases everything that a killed and suspended transaction owns.
    void evict(int thread);
    /// Ends be_suspended of all threads, now or later.
    void wake();
    /// Waits until a thread has suspended itself.
    void await_suspension();

private:
    friend class block;
    template <class F>
    void run(tutti::tx& t, F& body);
    void expect_block();
    void enter_block(tutti::tx& t);
    /// Reports an error if a committed transaction has a handler that has not ended.
    static void expect_no_handlers();
    void ask_to_commit();
    void ended(bool committed);

    int number_;
};

struct program {
    const char* name;
    std::vector<void (*)(actor&)> threads;  // at most four
    bool is_always_woken = false;           // no thread ever needs a time limit to wake up
};

/// Returns all programs, in the order of their source files.
[[nodiscard]] const std::vector<program>& all_programs();
/// Returns the named program. Throws std::out_of_range.
[[nodiscard]] const program& program_named(const char* name);

[[nodiscard]] std::vector<program> conflict_programs();
[[nodiscard]] std::vector<program> mode_programs();
[[nodiscard]] std::vector<program> nesting_programs();
[[nodiscard]] std::vector<program> waiting_programs();
[[nodiscard]] std::vector<program> memory_programs();
[[nodiscard]] std::vector<program> snapshot_programs();

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
void block::attempt_open_nested(int number, tutti::tx& t, F& body) {
    enter_open_nested(number, t);
    actor other{number};
    block b{other, t};
    body(b);
    ask_to_commit_open_nested(number);
}

template <class F, class G>
void block::open_nested(std::uint64_t name, F body, G undo) {
    const int number = actor_.number_ + 4;
    if (tutti::detail::nests_closed(tx_)) return static_cast<void>(nested(body));
    expect_open_nested(number);
    try {
        tutti::open_nested(
            tx_, {{&locks_of_all, name}}, [&](tutti::tx& t) { attempt_open_nested(number, t, body); },
            [undo, number](tutti::tx& t) {
                expect_open_nested(number);
                auto mine = undo;
                attempt_open_nested(number, t, mine);
                t.on_commit([number] { end_open_nested(number, true); });
            });
    } catch (...) {
        end_open_nested(number, false);
        throw;
    }
    end_open_nested(number, true);
}

template <class F>
void actor::run(tutti::tx& t, F& body) {
    enter_block(t);
    block b{*this, t};
    body(b);
    ask_to_commit();
}

template <class F>
outcome actor::transact(const tutti::options& how, F body) {
    expect_block();
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
    expect_block();
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

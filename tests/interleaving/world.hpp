// The places and objects of the programs. Every execution builds one world anew at the same addresses: the engine
// hashes addresses, and an execution must be repeatable.
#pragma once

#include <array>

#include "journal.hpp"
#include "program.hpp"

namespace interleaving {

/// A value too large for a variable's word, which can tell whether it is torn or destroyed.
struct wide {
    explicit wide(value v = 0) noexcept : one{v}, other{~v} {}
    wide(const wide&) noexcept = default;
    wide& operator=(const wide&) noexcept = default;
    ~wide() { *const_cast<volatile value*>(&other) = one; }
    [[nodiscard]] bool whole() const noexcept { return one == ~*const_cast<const volatile value*>(&other); }
    value one, other;
};

struct world {
    static constexpr int words_per_kind = 3;
    static constexpr int place_of_wide = 2 * words_per_kind + 1;
    static constexpr int place_of_slot = place_of_wide + 1;
    static int place(spot s) noexcept;

    /// Plain words are far enough apart for orecs of their own, except for the neighbour of the first.
    struct alignas(128) spaced_word {
        value word = 0;
        value neighbour = 0;
    };
    /// The representation of an `object`; its destructor records the destruction.
    struct item {
        explicit item(object number) noexcept : serial{number} {}
        ~item();
        tutti::var<value> content{0};
        object serial;
    };
    /// The facts about an object during the execution.
    struct knowledge {
        item* at = nullptr;
        int place = 0;
        bool destroyed = false;
    };

    explicit world(journal& log);
    ~world();
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    value& word(spot plain) {
        return plain.index < words_per_kind ? words[static_cast<std::size_t>(plain.index)].word : words[0].neighbour;
    }
    knowledge& known(object o) { return objects[static_cast<std::size_t>(o - first_object)]; }

    journal& log;
    std::array<tutti::var<value>, words_per_kind> variables;
    std::array<spaced_word, words_per_kind>& words;
    tutti::var<wide> behind{wide{}};
    /// Twice the object in the slot, or a unique odd number that means that the slot is empty.
    tutti::var<value> slot{0};
    std::vector<knowledge> objects;
    object first_object;
    object remains = 0;  // the content of the slot at the end
    std::array<tutti::tx*, scheduler::max_threads> contexts{};
    tutti::detail::shared<std::uint32_t> suspended{0}, awake{0};
    /// The number of committed transactions with handlers, and the number of those whose handlers have ended.
    tutti::detail::shared<std::uint32_t> decided{0}, handled{0};
};

/// Returns the plain words of every world: the engine knows them by their addresses.
[[nodiscard]] std::array<world::spaced_word, world::words_per_kind>& plain_words();
/// Returns the world of the running execution.
[[nodiscard]] world& here();
/// Ends the present world and begins the next one. REQUIRES: no thread of the present world will continue.
world& next_world(journal& log);

}  // namespace interleaving

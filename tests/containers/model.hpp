// Random programs of transactions, which run on a container and on its model from the standard library.
//
// A program is a list of blocks; a block is a list of steps and its end. Every step returns its result as integers.
// Container and model must return the same results, and have the same content after every block.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "support/effort.hpp"
#include "tutti/tutti.hpp"

namespace tutti::containers {

/// The result of a step, or the whole content of a container in its own order.
using seen = std::vector<long>;

struct step {
    int what;
    int key;
    int value;
};
inline std::ostream& operator<<(std::ostream& to, const step& s) {
    return to << s.what << '(' << s.key << ',' << s.value << ')';
}

enum class ending { commits, cancels, throws, nested_cancels };
struct block {
    std::vector<step> steps;
    ending end;
};
inline std::ostream& operator<<(std::ostream& to, const block& b) {
    for (const step& s : b.steps) to << s << ' ';
    return to << "-> " << static_cast<int>(b.end);
}

/// Programs of steps 0 … kinds-1 on keys 0 … keys-1. Most blocks commit, so that containers get large.
inline rc::Gen<std::vector<block>> programs(int kinds, int keys) {
    const auto make_step = [](std::tuple<int, int, int> from) {
        return step{std::get<0>(from), std::get<1>(from), std::get<2>(from)};
    };
    const auto one_step = rc::gen::map(
        rc::gen::tuple(rc::gen::inRange(0, kinds), rc::gen::inRange(0, keys), rc::gen::inRange(0, 1000)), make_step);
    const auto end = rc::gen::weightedElement<ending>(
        {{7, ending::commits}, {1, ending::cancels}, {1, ending::throws}, {1, ending::nested_cancels}});
    const auto one_block = rc::gen::map(
        rc::gen::pair(rc::gen::scale(0.25, rc::gen::container<std::vector<step>>(one_step)), end),
        [](std::pair<std::vector<step>, ending> from) { return block{std::move(from.first), from.second}; });
    return rc::gen::container<std::vector<block>>(one_block);
}

/// Convert integers to and from the value types of the tests.
template <class T>
T make(int from) {
    if constexpr (std::is_same_v<T, std::string>)
        return "a text too long for the small buffer, number " + std::to_string(from);
    else if constexpr (std::is_same_v<T, std::shared_ptr<int>>) return std::make_shared<int>(from);
    else return T(from);
}
inline long number_of(long v) { return v; }
inline long number_of(const std::string& v) { return std::stol(v.substr(v.rfind(' '))); }
inline long number_of(const std::shared_ptr<int>& v) { return *v; }
template <class T>
long number_of(const std::optional<T>& v) {
    return v ? number_of(*v) : -1;
}

/// A small value type without a default constructor.
struct no_default {
    explicit no_default(int from) : value{from} {}
    int value;
};
inline long number_of(no_default v) { return v.value; }

/// Runs the program on the container and on the model. `Trial::on(t, subject, step)` and `Trial::on(model, step)`
/// return a step's result; `Trial::all(t, subject)` and `Trial::all(model)` return the content.
template <class Trial, class Subject, class Model>
void run(const std::vector<block>& program, Subject& subject, Model model) {
    for (const block& b : program) {
        Model after = model;
        seen expected, found;
        const auto steps = [&](tx& t) {
            after = model;
            expected.clear();
            found.clear();
            for (const step& s : b.steps) {
                const seen one = Trial::on(t, subject, s);
                found.insert(found.end(), one.begin(), one.end());
                const seen other = Trial::on(after, s);
                expected.insert(expected.end(), other.begin(), other.end());
            }
        };
        bool stays = false;
        switch (b.end) {
            case ending::commits:
                atomically(steps);
                stays = true;
                break;
            case ending::cancels:
                stays = try_atomically([&](tx& t) {
                    steps(t);
                    cancel(t);
                });
                break;
            case ending::throws:
                try {
                    atomically([&](tx& t) {
                        steps(t);
                        throw std::runtime_error{"in the middle"};
                    });
                } catch (const std::runtime_error&) {}
                break;
            case ending::nested_cancels:
                atomically([&](tx& t) {
                    const seen before = Trial::all(t, subject);
                    stays = try_atomically([&](tx& inner) {
                        steps(inner);
                        cancel(inner);
                    });
                    RC_ASSERT(Trial::all(t, subject) == before);
                });
                break;
        }
        RC_ASSERT(found == expected);
        if (stays) model = after;
        const seen held = atomically({.read_only = true}, [&](tx& t) { return Trial::all(t, subject); });
        RC_ASSERT(held == Trial::all(model));
    }
}

/// Runs fewer programs in slow sanitizer builds. RapidCheck reads the variable at the first property.
inline const bool configured = [] {
    const std::string each = "max_success=" + std::to_string(support::rounds(200));
    return setenv("RC_PARAMS", each.c_str(), 0) == 0;
}();

}  // namespace tutti::containers

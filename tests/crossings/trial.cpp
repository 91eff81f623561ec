#include "trial.hpp"

#include <algorithm>

#include "history.hpp"
#include "interpreter.hpp"

namespace crossings {
namespace {

struct counts {
    long objects, shares, captures;
};

counts alive_now() { return {of_objects.alive(), of_shares.alive(), of_captures.alive()}; }

/// Returns the number of objects that must be alive, in addition to the earlier ones, when the places have this
/// content.
counts due(const model& m) {
    counts out{0, 0, 0};
    for (const long number : m.object) {
        if (number == 0) continue;
        ++out.objects;
        const long kind = (number - 1) % kinds_of_object;
        if (kind == 1 || kind == kind_that_restarts) ++out.captures;
        if (kind == 13) ++out.shares;
    }
    for (const long number : m.share)
        if (number != 0) ++out.shares;
    return out;
}

std::optional<std::string> wrong_number(const char* of, long before, long expected, long now) {
    if (now == before + expected) return std::nullopt;
    return std::string{now > before + expected ? "leak: of " : "destroyed too early: of "} + of + " " +
           std::to_string(now - before) + " are alive, and not " + std::to_string(expected);
}

std::optional<std::string> check(const program& p, const engine& e, world& w, model& places) {
    std::atomic<std::uint32_t> clock{0};
    const std::vector<trace> traces = interpret(p, w, clock);
    strictness how;
    how.alone = p.threads.size() * static_cast<std::size_t>(p.copies) == 1;
    how.in_hardware = e.algorithm == "htm" || e.algorithm == "hytm";
    std::vector<transaction> all;
    for (std::size_t i = 0; i < traces.size(); ++i)
        if (const auto wrong = read_trace(traces[i], static_cast<int>(i), how, all)) {
            std::string text = "trace: " + *wrong + "\n";
            for (const event& happened : traces[i].events()) text += "    " + print(happened) + '\n';
            return text;
        }
    return find_no_order(all, places);
}

/// Runs the program on places of its own, which are destroyed before it returns.
std::optional<std::string> judge_alone(const program& p, const engine& e) {
    const counts before = alive_now();
    world w;
    model places;
    if (const auto wrong = check(p, e, w, places)) return wrong;
    const counts expected = due(places);
    // Destructors may retire objects themselves.
    for (int i = 0; i < 4; ++i) {
        const counts now = alive_now();
        if (now.objects == before.objects + expected.objects && now.shares == before.shares + expected.shares &&
            now.captures == before.captures + expected.captures)
            break;
        collect_what_is_retired();
    }
    const counts now = alive_now();
    if (auto wrong = wrong_number("objects", before.objects, expected.objects, now.objects)) return wrong;
    if (auto wrong = wrong_number("shared values", before.shares, expected.shares, now.shares)) return wrong;
    return wrong_number("captured objects", before.captures, expected.captures, now.captures);
}

/// Returns the error in the blocks that special members have run, if any.
std::optional<std::string> wrong_blocks(const char* of, const member_blocks& b) {
    const long counted = b.in_variable(), committed = b.committed(), returned = b.returned();
    if (counted != committed)
        return std::string{"blocks of "} + of + ": " + std::to_string(committed) + " committed, and the variable has " +
               std::to_string(counted);
    if (committed < returned)
        return std::string{"blocks of "} + of + ": " + std::to_string(returned) + " returned, and " +
               std::to_string(committed) + " committed";
    return std::nullopt;
}

}  // namespace

std::optional<std::string> judge(const program& p, const engine& e) {
    if (p.threads.empty()) return std::nullopt;
    const long values_before = of_values.alive();
    if (auto wrong = judge_alone(p, e)) return wrong;
    for (int i = 0; i < 4 && of_values.alive() != values_before; ++i) collect_what_is_retired();
    if (auto wrong = wrong_number("values", values_before, 0, of_values.alive())) return wrong;
    if (auto wrong = wrong_blocks("destructors", in_destructors)) return wrong;
    return wrong_blocks("copies", in_copies);
}

}  // namespace crossings

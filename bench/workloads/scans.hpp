// Long readers beside short updates: one thread adds up all elements of an array, the others move units between two
// random elements. A case counts either the scans or the updates. With one thread, the case runs only what it counts.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "harness/cases.hpp"
#include "harness/random.hpp"
#include "harness/worker.hpp"
#include "harness/worker_group.hpp"

namespace bench {

enum class counted : std::uint8_t { scans, updates };

template <class E, unsigned Size>
struct scanned_array {
    using element = typename E::template cell<long>;
    using context = typename E::context;

    void move(context& c, unsigned from, unsigned to) {
        if (from == to) return;
        elements[from].set(c, elements[from].get(c) - 1);
        elements[to].set(c, elements[to].get(c) + 1);
    }
    long total(context& c) const {
        long sum = 0;
        for (unsigned i = 0; i < Size; ++i) sum += elements[i].get(c);
        return sum;
    }

    std::unique_ptr<element[]> elements{new element[Size]()};
};

template <class E, unsigned Size, counted Counted>
outcome run_scans(const plan& how) {
    static const auto array = std::make_unique<scanned_array<E, Size>>();
    outcome result = timed_round(how, [](unsigned index, const stop_flag& stop) {
        worker<E> w;
        thread_result done;
        const bool scans = Counted == counted::scans ? index == 0 : index == 1;
        std::uint64_t operations = 0;
        if (scans) {
            operations =
                repeat<1>(stop, [&] { done.invariant_sum += w.read([](auto& c) { return array->total(c); }) != 0; });
        } else {
            random_numbers random{index + 2};
            operations = repeat(stop, [&] {
                const std::uint64_t bits = random();
                const auto from = static_cast<unsigned>(below(Size, bits));
                const auto to = static_cast<unsigned>(below(Size, random()));
                w.update([from, to](auto& c) { array->move(c, from, to); });
            });
        }
        if (scans == (Counted == counted::scans)) {
            done.operations = operations;
            done.bodies = w.bodies();
        }
        return done;
    });
    if (result.invariant_sum != 0) result.broken = "sums were wrong: " + std::to_string(result.invariant_sum);
    return result;
}

template <class E, unsigned Size>
void add_scans_of(const std::string& size) {
    add_case<E>("scans", "scan-" + size, run_scans<E, Size, counted::scans>);
    add_case<E>("scans", "update-" + size, run_scans<E, Size, counted::updates>);
}

template <class E>
void add_scans() {
    add_scans_of<E, 1'000>("1k");
    add_scans_of<E, 10'000>("10k");
    add_scans_of<E, 100'000>("100k");
    add_scans_of<E, 1'000'000>("1m");
}

}  // namespace bench

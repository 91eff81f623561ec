// libstdc++ objects that blocks call, copy and destroy through function pointers, and functions compiled in libstdc++.
// The blocks end in every way, and are compared with plain code.
#define _GLIBCXX_ASSERTIONS 1

#include <algorithm>
#include <any>
#include <chrono>
#include <functional>
#include <memory_resource>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "cxx.hpp"

namespace {

int sum = 0;

struct large {
    int values[40];
    void operator()(int by) {
        for (int& v : values) v += by;
        sum += values[39];
    }
};
[[gnu::transaction_callable]] void add(int by) { sum += by; }

std::function<void(int)> small = [](int by) { sum += by; };
std::function<void(int)> big = large{};
std::function<void(int)> pointer = add;
std::function<void(int)> assigned, empty;

void call_functions() {
    small(1);
    big(10);
    pointer(100);
    assigned = big;
    assigned(1000);  // a copy is changed: the original keeps its values
    const std::function<void(int)> local{[by = 5](int more) { sum += by * more; }};
    assigned = local;
    assigned(2);
    assigned = nullptr;
    std::function<void(int)> moved{std::move(big)};
    moved.swap(big);
}

void functions() {
    for (const ending e : every_ending) {
        sum = 0;
        big = large{};
        assigned = small;
        cxx::run_beside(e, [] { call_functions(); });
        if (e == ending::cancel) {
            EXPECT(sum == 0 && big.target<large>()->values[0] == 0 && assigned);
        } else {
            EXPECT(sum == 1 + 10 + 100 + 1010 + 10 && big.target<large>()->values[39] == 10 && !assigned);
        }
    }
    bool caught = false;
    try {
        cxx::run_beside(ending::commit, [] { empty(1); });
    } catch (const std::bad_function_call&) {
        caught = true;
    }
    EXPECT(caught);
}

struct record {
    int values[40];
};
std::any a_number = 1, a_record = record{}, nothing;

[[gnu::noinline]] void change_anys() {
    ++*std::any_cast<int>(&a_number);
    std::any copy = a_record;
    std::any_cast<record&>(copy).values[3] = 33;
    nothing = copy;
    a_record = std::any_cast<int>(a_number);
    a_number.swap(nothing);
    sum += a_number.type() == typeid(record) ? std::any_cast<record&>(a_number).values[3] : 1000;
    if (std::any_cast<long>(&nothing) != nullptr) sum += 1000;
    copy.reset();
}

void anys() {
    for (const ending e : every_ending) {
        sum = 0;
        a_number = 1;
        a_record = record{};
        nothing.reset();
        cxx::run_beside(e, [] { change_anys(); });
        if (e == ending::cancel) {
            EXPECT(sum == 0 && std::any_cast<int>(a_number) == 1 && !nothing.has_value());
            EXPECT(std::any_cast<record&>(a_record).values[3] == 0);
        } else {
            EXPECT(sum == 33 && std::any_cast<int>(nothing) == 2 && std::any_cast<int>(a_record) == 2);
            EXPECT(std::any_cast<record&>(a_number).values[3] == 33);
        }
    }
}

struct keyed {
    int key;
    int place;
};
std::vector<keyed> sorted;

void sorts() {
    std::vector<keyed> before;
    for (int i = 0; i != 300; ++i) before.push_back({(i * 7919) % 13, i});
    std::vector<keyed> expected = before;
    const auto less = [](const keyed& a, const keyed& b) { return a.key < b.key; };
    const auto same = [](const keyed& a, const keyed& b) { return a.key == b.key && a.place == b.place; };
    std::stable_sort(expected.begin(), expected.end(), less);
    for (const ending e : every_ending) {
        sorted = before;
        cxx::run_beside(e, [&less] { std::stable_sort(sorted.begin(), sorted.end(), less); });
        const std::vector<keyed>& wanted = e == ending::cancel ? before : expected;
        EXPECT(std::equal(sorted.begin(), sorted.end(), wanted.begin(), wanted.end(), same));
    }
}

std::vector<int> checked{1, 2, 3};
std::string text;
double number = -12.5;
float narrow = 0.25F;

void checked_access() {
    for (const ending e : every_ending) {
        checked = {1, 2, 3};
        cxx::run_beside(e, [] { checked[1] += checked.front() + checked.back(); });
        EXPECT(checked[1] == (e == ending::cancel ? 2 : 6));
    }
}

void numbers_as_text() {
    for (const double d : {-12.5, 0.1, 1e300, -0.0}) {
        for (const ending e : every_ending) {
            number = d;
            text = "before";
            cxx::run_beside(e, [] { text = std::to_string(number); });
            EXPECT(text == (e == ending::cancel ? "before" : std::to_string(d)));
        }
    }
    cxx::run_beside(ending::commit, [] { text = std::to_string(narrow); });
    EXPECT(text == "0.250000");
}

std::chrono::steady_clock::time_point steady;
std::chrono::system_clock::time_point of_day;

void clocks() {
    const auto steady_before = std::chrono::steady_clock::now();
    const auto of_day_before = std::chrono::system_clock::now();
    cxx::run_beside(ending::commit, [] {
        steady = std::chrono::steady_clock::now();
        of_day = std::chrono::system_clock::now();
    });
    EXPECT(steady_before <= steady && steady <= std::chrono::steady_clock::now());
    EXPECT(of_day_before <= of_day && of_day <= std::chrono::system_clock::now());
    const auto kept = steady;
    cxx::run_beside(ending::cancel, [] { steady = std::chrono::steady_clock::now(); });
    EXPECT(steady == kept);
}

std::pmr::vector<int> from_default;
char buffer[1 << 16];
std::pmr::monotonic_buffer_resource from_buffer{buffer, sizeof buffer};

struct alignas(64) wide {
    int value;
};
std::pmr::vector<wide> aligned;
std::pmr::vector<int> in_buffer{&from_buffer};

void resources() {
    for (const ending e : every_ending) {
        const std::size_t before = from_default.size();
        EXPECT(in_buffer.size() == before && aligned.size() == before);
        cxx::run_beside(e, [] {
            for (int i = 0; i != 20; ++i) {
                from_default.push_back(i);
                in_buffer.push_back(i);
                aligned.push_back({i});
            }
            std::pmr::vector<int> local{1, 2, 3};
            sum = local.back();
        });
        const std::size_t after = before + (e == ending::cancel ? 0 : 20);
        EXPECT(from_default.size() == after && in_buffer.size() == after && aligned.size() == after);
        for (std::size_t i = 0; i != after; ++i) {
            EXPECT(from_default[i] == static_cast<int>(i % 20) && in_buffer[i] == from_default[i]);
            EXPECT(aligned[i].value == from_default[i]);
        }
    }
}

int count = 3;
int* array = nullptr;

void arrays() {
    for (const ending e : every_ending) {
        delete[] array;
        array = nullptr;
        cxx::run_beside(e, [] {
            array = new int[static_cast<std::size_t>(count)];
            array[count - 1] = 9;
        });
        EXPECT(e == ending::cancel ? array == nullptr : array[2] == 9);
    }
    count = -1;
    bool caught = false;
    try {
        cxx::run_beside(ending::restarts, [] { array = new int[static_cast<std::size_t>(count)]; });
    } catch (const std::bad_array_new_length&) {
        caught = true;
    }
    EXPECT(caught);
}

/// Two threads call and replace a function that counts in its own state.
struct counter {
    int calls = 0;
    int padding[20]{};
    void operator()(int by) { calls += by; }
};
std::function<void(int)> shared = counter{};

void crowd() {
    constexpr int turns = 5000;
    const auto work = [] {
        for (int i = 0; i != turns; ++i) {
            run(i % 7 == 0 ? ending::restarts : ending::commit, [] {
                std::function<void(int)> copy = shared;
                copy(1);
                shared = std::move(copy);
            });
            run(ending::cancel, [] {
                shared(1);
                shared = nullptr;
            });
        }
    };
    std::thread other{work};
    work();
    other.join();
    EXPECT(shared.target<counter>()->calls == 2 * turns);
}

}  // namespace

void cxx::try_objects() {
    functions();
    anys();
    sorts();
    checked_access();
    numbers_as_text();
    clocks();
    resources();
    arrays();
    crowd();
}

void cxx::fail_assertion() {
    run(ending::commit, [] { checked[static_cast<std::size_t>(sum) + 3] = 1; });
    std::_Exit(1);
}

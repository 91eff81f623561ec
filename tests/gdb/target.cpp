// The program that gdb.sh inspects: one of each container, a thread that sleeps in retry, and one that stops inside a
// named block.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <tutti/containers/hash_map.hpp>
#include <tutti/containers/hash_set.hpp>
#include <tutti/containers/ordered_map.hpp>
#include <tutti/containers/ordered_set.hpp>
#include <tutti/containers/queue.hpp>
#include <tutti/containers/vector.hpp>
#include <tutti/tutti.hpp>

#include "language/processes.hpp"

namespace {

tutti::var<int> number{42};
tutti::var<std::string> text{"a text that is longer than what fits into the object"};
tutti::ordered_map<int, std::string> phone_book;
tutti::ordered_set<int> squares;
tutti::hash_map<std::string, long> ages;
tutti::hash_set<int> primes;
tutti::vector<double> halves;
tutti::vector<std::string> words;
tutti::queue<int> line;

[[gnu::noinline]] void stop_here() { asm volatile("" ::: "memory"); }

void fill() {
    tutti::atomically([](tutti::tx& t) {
        for (int i = 0; i < 40; ++i) {
            phone_book.insert(t, i, "subscriber " + std::to_string(i));
            squares.insert(t, i * i);
            halves.push_back(t, i / 2.0);
        }
        ages.insert(t, "Ada", 36);
        ages.insert(t, "Grace", 85);
        for (const int p : {2, 3, 5}) primes.insert(t, p);
        words.push_back(t, "all");
        words.push_back(t, "together");
        for (int i = 7; i < 10; ++i) line.push(t, i);
        (void)line.pop(t);
    });
}

}  // namespace

int main() {
    fill();
    std::atomic<pid_t> in_block{0};
    std::thread{[&in_block] {
        tutti::atomically({.name = "sleeper"}, [&in_block](tutti::tx& t) {
            in_block.store(::gettid());
            if (number.get(t) > 0) tutti::retry(t);
        });
    }}.detach();
    // From its block on, the thread sleeps only in retry.
    while (in_block.load() == 0 || !sleeps(in_block.load())) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    tutti::atomically({.name = "writer"}, [](tutti::tx& t) {
        if (t.attempt() < 3) tutti::restart(t);
        number.set(t, 43);
        stop_here();
    });
    std::_Exit(0);
}

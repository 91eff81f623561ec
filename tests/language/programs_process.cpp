// Threads that end, and shared objects that are loaded and unloaded while blocks run.
#include "programs.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <thread>

namespace language {

// clang-format off

namespace {

long shared_count = 0;
pthread_key_t at_exit_key;

}  // namespace

void thread_exits() {
    EXPECT(pthread_key_create(&at_exit_key, [](void*) { __transaction_atomic { ++shared_count; } }) == 0);
    for (int i = 0; i != 50; ++i) {
        pthread_t t;
        EXPECT(pthread_create(&t, nullptr, [](void*) -> void* {
            pthread_setspecific(at_exit_key, &shared_count);
            __transaction_atomic { ++shared_count; }
            pthread_exit(nullptr);
        }, nullptr) == 0);
        pthread_join(t, nullptr);
    }
    EXPECT(shared_count == 100);
}

namespace {

TUTTI_PURE void pure_exit(int status) { std::exit(status); }

typedef long (*adder)(long*, long) __attribute__((transaction_safe));

}  // namespace

void plugins(const char* file) {
    std::atomic<bool> stop{false};
    std::thread busy{[&] { while (!stop) { __transaction_atomic { ++shared_count; } } }};
    for (int i = 0; i != 50; ++i) {
        void* const object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
        EXPECT(object != nullptr);
        const auto add = reinterpret_cast<adder>(dlsym(object, "plugin_add"));
        long sum = 0;
        __transaction_atomic { sum = 40; add(&sum, 2); if (sum != 42) pure_exit(1); }
        EXPECT(sum == 42 && _ITM_inTransaction() == 0);
        EXPECT(dlclose(object) == 0);
    }
    stop = true;
    busy.join();
}

// clang-format on

}  // namespace language

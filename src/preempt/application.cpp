#include "preempt/application.hpp"

#include <algorithm>
#include <cstdlib>

namespace tutti::preempt {
namespace {

// The entries are prefixes, because the names of all versions of a library begin in the same way.
constexpr std::string_view runtimes[] = {
    "libc.so",      "ld-linux",    "libpthread.so", "libdl.so",    "librt.so",     "libresolv.so",
    "libstdc++.so", "libc++.so",   "libc++abi",     "libgcc_s.so", "libunwind.so", "libasan.so",
    "libtsan.so",   "libubsan.so", "liblsan.so",    "linux-vdso",
};

// `syscall` is in the list because a call of it may be a futex wait.
constexpr std::string_view takes_locks[] = {
    "pthread_mutex_", "pthread_rwlock_",
    "pthread_spin_",  "pthread_cond_",
    "pthread_once",   "pthread_barrier_",
    "sem_",           "mtx_",
    "cnd_",           "call_once",
    "__cxa_guard_",   "flockfile",
    "GOMP_",          "omp_",
    "__kmpc_",        "syscall",
};

template <std::size_t N>
bool begins_with_one_of(std::string_view name, const std::string_view (&beginnings)[N]) noexcept {
    return std::ranges::any_of(beginnings, [&](std::string_view b) { return name.starts_with(b); });
}

bool may_hold_a_lock(const loaded_object& o) {
    if (o.contains(reinterpret_cast<std::uintptr_t>(&std::malloc))) return true;
    return std::ranges::any_of(o.imports(), [](const loaded_object::import& i) {
        return !i.local && begins_with_one_of(i.name, takes_locks);
    });
}

bool may_be_interrupted(const loaded_object& o) {
    return !begins_with_one_of(o.name(), runtimes) && !is_runtime(o) && !may_hold_a_lock(o);
}

}  // namespace

bool is_runtime(const loaded_object& object) noexcept {
    const std::string_view name = object.name();
    return name.starts_with("libtutti") || name.starts_with("libitm.so") ||
           object.contains(reinterpret_cast<std::uintptr_t>(&is_runtime));
}

std::vector<const loaded_object*> application_of(const loaded_object& object, const std::vector<loaded_object>& all) {
    std::vector<const loaded_object*> application{&object};
    for (std::size_t i = 0; i < application.size(); ++i) {
        for (const std::string_view name : application[i]->needed()) {
            const auto found = std::ranges::find(all, name, &loaded_object::name);
            if (found == all.end() || std::ranges::find(application, &*found) != application.end()) continue;
            if (may_be_interrupted(*found)) application.push_back(&*found);
        }
    }
    return application;
}

}  // namespace tutti::preempt

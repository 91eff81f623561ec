// Every public template and inline function, to check for warnings that users would see.
#include <tutti/c/allocation.h>
#include <tutti/c/base.h>
#include <tutti/c/block.h>
#include <tutti/c/checkpoint.h>
#include <tutti/c/configuration.h>
#include <tutti/c/control.h>
#include <tutti/c/handlers.h>
#include <tutti/c/plain.h>
#include <tutti/c/statistics.h>
#include <tutti/c/var.h>
#include <tutti/tutti.h>
#include <string>
#include <tutti/algorithm.hpp>
#include <tutti/atomically.hpp>
#include <tutti/c/interop.hpp>
#include <tutti/checkpoint.hpp>
#include <tutti/containers/bounded_queue.hpp>
#include <tutti/containers/element_tree.hpp>
#include <tutti/containers/hash_map.hpp>
#include <tutti/containers/ordered_map.hpp>
#include <tutti/containers/queue.hpp>
#include <tutti/containers/slot_array.hpp>
#include <tutti/containers/vector.hpp>
#include <tutti/counter.hpp>
#include <tutti/deadline.hpp>
#include <tutti/errors.hpp>
#include <tutti/interrupt.hpp>
#include <tutti/memory.hpp>
#include <tutti/mode.hpp>
#include <tutti/open_nesting.hpp>
#include <tutti/options.hpp>
#include <tutti/policy.hpp>
#include <tutti/retry.hpp>
#include <tutti/server/codec.hpp>
#include <tutti/server/no_preemption_guard.hpp>
#include <tutti/server/procedure.hpp>
#include <tutti/server/reply.hpp>
#include <tutti/server/service.hpp>
#include <tutti/server/settings.hpp>
#include <tutti/statistics.hpp>
#include <tutti/tutti.hpp>
#include <tutti/tx.hpp>
#include <tutti/var.hpp>

template class tutti::hash_map<long, long>;
template class tutti::hash_map<std::string, std::string>;
template class tutti::ordered_map<long, long>;
template class tutti::ordered_map<std::string, std::string>;
template class tutti::queue<std::string>;
template class tutti::bounded_queue<int>;
template class tutti::vector<int>;
template class tutti::vector<std::string>;
template class tutti::var<int>;
template class tutti::var<char>;
template class tutti::var<double>;

void use() {
    tutti::var<short> v;
    tutti::atomically([&](tutti::tx& t) {
        v.set(t, v.get(t));
        tutti::or_else(t, [](tutti::tx& first) { tutti::retry(first); }, [](tutti::tx&) {});
    });
    tutti::atomically(tutti::no_unwind, [&](tutti::tx& t) { tutti::retry_for(t, std::chrono::seconds{1}); });
}

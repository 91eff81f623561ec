// A separate file, because not every machine has oneTBB.
#include <tbb/concurrent_hash_map.h>

#include "engines/maps.hpp"
#include "workloads/maps.hpp"

namespace bench {
namespace {

/// Two operations of oneTBB's map cannot be combined into one atomic operation.
struct tbb_map : map_engine {
    static constexpr const char* name = "tbb";
    static constexpr bool moves = false;

    class map {
    public:
        bool find(map_word key) {
            table::const_accessor found;
            if (!table_.find(found, key)) return false;
            benchmark::DoNotOptimize(found->second);
            return true;
        }
        bool insert(map_word key, map_word value) { return table_.insert({key, value}); }
        bool erase(map_word key) { return table_.erase(key); }
        map_contents all() const {
            map_contents c;
            for (const auto& [key, value] : table_) c.add(value);
            return c;
        }

    private:
        using table = tbb::concurrent_hash_map<map_word, map_word>;
        table table_;
    };
};

[[maybe_unused]] const bool added = (add_maps<tbb_map>(), true);

}  // namespace
}  // namespace bench

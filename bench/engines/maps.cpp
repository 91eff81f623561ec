#include "engines/maps.hpp"

#include "workloads/maps.hpp"

namespace bench {
namespace {

[[maybe_unused]] const bool added = (add_maps<tutti_hash_map>(), add_maps<std_unordered_map>(),
                                     add_maps<tutti_ordered_map>(), add_maps<std_map>(), true);

}  // namespace
}  // namespace bench

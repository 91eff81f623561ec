#include "cluster/workloads.hpp"

#include <algorithm>

#include "cluster/tpcc/workload.hpp"
#include "cluster/workloads/bank.hpp"
#include "cluster/workloads/hash_table.hpp"
#include "cluster/workloads/linked_list.hpp"
#include "cluster/workloads/loan.hpp"
#include "cluster/workloads/search_tree.hpp"
#include "cluster/workloads/skip_list.hpp"
#include "cluster/workloads/vacation.hpp"

namespace cluster_app {
namespace {

struct known {
    const char* name;
    std::uint64_t objects;
    bool has_steps;
    std::unique_ptr<workload> (*make)(const extent&, tutti::cluster::node&);
};

template <class W>
std::unique_ptr<workload> make_one(const extent& size, tutti::cluster::node& here) {
    return std::make_unique<W>(size, here);
}

constexpr known all[] = {
    {"bank", 10'000, true, make_one<bank>},    {"hash", 2'000, true, make_one<hash_table>},
    {"list", 50, true, make_one<linked_list>}, {"skiplist", 50, true, make_one<skip_list>},
    {"tree", 50, true, make_one<search_tree>}, {"vacation", 10'000, false, make_one<vacation>},
    {"loan", 10'000, false, make_one<loan>},   {"tpcc", 1000, false, make_tpcc},
};

const known& of(const std::string& name) { return *std::ranges::find(all, name, &known::name); }

}  // namespace

std::vector<std::string> workload_names() {
    std::vector<std::string> names;
    for (const known& k : all) names.emplace_back(k.name);
    return names;
}

bool has_steps(const std::string& name) { return of(name).has_steps; }

std::uint64_t usual_objects(const std::string& name) { return of(name).objects; }

std::unique_ptr<workload> make_workload(const std::string& name, const extent& size, tutti::cluster::node& here) {
    return of(name).make(size, here);
}

}  // namespace cluster_app

// The choice of the algorithm for C.
#include "api/c_boundary.hpp"
#include "tutti/algorithm.hpp"

using tutti::api::reported;

// Names and summaries are literals of the table of algorithms, so a view's data ends with a zero and lives on.

int tutti_use_algorithm(const char* name) {
    return reported([name] {
        if (name == nullptr) throw tutti::usage_error{"tutti_use_algorithm: the name is null"};
        tutti::use_algorithm(name);
    });
}

const char* tutti_algorithm() { return tutti::algorithm().data(); }

const char* tutti_algorithm_name(size_t index) {
    const char* name = nullptr;
    reported([&] {
        const auto all = tutti::available_algorithms();
        if (index < all.size()) name = all[index].name.data();
    });
    return name;
}

const char* tutti_algorithm_summary(size_t index) {
    const char* summary = nullptr;
    reported([&] {
        const auto all = tutti::available_algorithms();
        if (index < all.size()) summary = all[index].summary.data();
    });
    return summary;
}

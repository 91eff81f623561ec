// Chooses the algorithm and the policy for C.
#include "api/c_api/boundary.hpp"
#include "tutti/algorithm.hpp"
#include "tutti/policy.hpp"

using tutti::api::reported;

// Names and summaries are literals in the tables of algorithms and policies. So the characters of such a view end with
// a zero and are valid forever.

namespace {

/// Returns the member `text` of the description at `index`, or null past the last description.
template <class Description>
const char* text_at(size_t index, std::vector<Description> (*available)(), std::string_view Description::* text) {
    const char* found = nullptr;
    reported([&] {
        const auto all = available();
        if (index < all.size()) found = (all[index].*text).data();
    });
    return found;
}

}  // namespace

int tutti_use_algorithm(const char* name) {
    return reported([name] {
        if (name == nullptr) throw tutti::usage_error{"tutti_use_algorithm: the name is null"};
        tutti::use_algorithm(name);
    });
}

const char* tutti_algorithm() { return tutti::algorithm().data(); }

const char* tutti_algorithm_name(size_t index) {
    return text_at(index, tutti::available_algorithms, &tutti::algorithm_description::name);
}

const char* tutti_algorithm_summary(size_t index) {
    return text_at(index, tutti::available_algorithms, &tutti::algorithm_description::summary);
}

int tutti_use_policy(const char* name) {
    return reported([name] {
        if (name == nullptr) throw tutti::usage_error{"tutti_use_policy: the name is null"};
        tutti::use_policy(name);
    });
}

const char* tutti_policy_in_force() { return tutti::policy_in_force().data(); }

const char* tutti_policy_name(size_t index) {
    return text_at(index, tutti::available_policies, &tutti::policy_description::name);
}

const char* tutti_policy_summary(size_t index) {
    return text_at(index, tutti::available_policies, &tutti::policy_description::summary);
}

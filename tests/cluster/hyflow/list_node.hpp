// The node of the lists of figures 3.2 and 3.4.
#pragma once

#include <atomic>
#include <string>

#include <tutti/cluster/hyflow.hpp>

namespace hyflow_test {

using namespace tutti::cluster::hyflow;

class ListNode : public HyflowObject {
public:
    ListNode() = default;
    ListNode(int value, const std::string& id) : HyflowObject{id}, value_{value} {}

    int getValue() const { return value_; }
    const std::string& getNextId() const { return next_; }
    void setNextId(const std::string& next) { next_ = next; }

    // in the form of Boost.Serialization
    template <class Archive>
    void serialize(Archive& ar, const unsigned int /*version*/) {
        ar & value_;
        ar & next_;
    }

private:
    int value_ = 0;
    std::string next_ = "NULL";
};

/// Returns an id for a new node, unique among the threads of this process.
inline std::string next_list_id() {
    static std::atomic<unsigned> made{0};
    return "node-" + std::to_string(made.fetch_add(1));
}

inline void make_list() {
    HYFLOW_ATOMIC_START { HYFLOW_PUBLISH_OBJECT(new ListNode(0, "HEAD")); }
    HYFLOW_ATOMIC_END;
}

}  // namespace hyflow_test

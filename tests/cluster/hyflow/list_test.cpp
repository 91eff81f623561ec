// The list of figure 3.2, with blocks written by the macros.
#include <algorithm>
#include <vector>

#include "cluster/hyflow/list_node.hpp"
#include "cluster/hyflow/threads.hpp"
#include "support/effort.hpp"
#include "support/watchdog.hpp"

namespace hyflow_test {

HYFLOW_REGISTER(ListNode);

namespace {

using tutti::cluster::placement;

template <class BeforeTheWrite>
void add_node(int value, BeforeTheWrite&& hook) {
    HYFLOW_ATOMIC_START {
        std::string head = "HEAD";
        HYFLOW_FETCH(head, false);

        ListNode* headNodeRead = (ListNode*)HYFLOW_ON_READ(head);
        std::string oldNext = headNodeRead->getNextId();
        ListNode* newNode = new ListNode(value, next_list_id());
        newNode->setNextId(oldNext);
        HYFLOW_PUBLISH_OBJECT(newNode);
        hook();

        ListNode* headNodeWrite = (ListNode*)HYFLOW_ON_WRITE(head);
        headNodeWrite->setNextId(newNode->getId());
    }
    HYFLOW_ATOMIC_END;
}

void addNode(int value) {
    add_node(value, [] {});
}

bool deleteNode(int value) {
    bool found = false;
    HYFLOW_ATOMIC_START {
        ListNode* targetNode = NULL;
        std::string head("HEAD");
        std::string prev = head, next;
        found = false;

        HYFLOW_FETCH(head, true);
        targetNode = (ListNode*)HYFLOW_ON_READ(head);
        next = targetNode->getNextId();

        while (next.compare("NULL") != 0) {
            HYFLOW_FETCH(next, true);
            targetNode = (ListNode*)HYFLOW_ON_READ(next);
            int nodeValue = targetNode->getValue();
            if (nodeValue == value) {
                ListNode* prevNode = (ListNode*)HYFLOW_ON_WRITE(prev);
                ListNode* currentNode = (ListNode*)HYFLOW_ON_WRITE(next);
                prevNode->setNextId(currentNode->getNextId());
                HYFLOW_DELETE_OBJECT(currentNode);
                // The block owns the node's memory until the block ends.
                found = currentNode->getValue() == value;
                break;
            }
            prev = next;
            next = targetNode->getNextId();
        }
    }
    HYFLOW_ATOMIC_END;
    return found;
}

std::vector<int> values() {
    std::vector<int> all;
    HYFLOW_ATOMIC_START {
        all.clear();
        std::string next = ((ListNode*)HYFLOW_ON_READ("HEAD"))->getNextId();
        while (next != "NULL") {
            const ListNode* node = (const ListNode*)HYFLOW_ON_READ(next);
            all.push_back(node->getValue());
            next = node->getNextId();
        }
    }
    HYFLOW_ATOMIC_END;
    std::ranges::sort(all);
    return all;
}

TEST(hyflow_list, keeps_additions_and_deletions_of_three_nodes) {
    tutti::support::watchdog guard{"keeps_additions_and_deletions_of_three_nodes"};
    for (const placement where : {placement::home, placement::writer}) {
        const auto nodes = tutti::cluster::testing::start_nodes(3, where);
        const thread_on here{*nodes[0]};
        make_list();
        constexpr unsigned threads = 3;
        const int each = static_cast<int>(tutti::support::rounds(20));
        std::atomic<int> missed{0};
        on_threads(nodes, threads, [&](unsigned i) {
            const int first = static_cast<int>(i) * each;
            for (int v = first; v < first + each; ++v) addNode(v);
            for (int v = first; v < first + each; v += 2) missed += deleteNode(v) ? 0 : 1;
        });
        std::vector<int> right;
        for (int i = 0; i < static_cast<int>(threads); ++i) {
            for (int v = 1; v < each; v += 2) right.push_back(i * each + v);
        }
        EXPECT_EQ(missed.load(), 0);
        EXPECT_EQ(values(), right);
        EXPECT_FALSE(deleteNode(0));
    }
}

// Catches a block that does not run again, and a block that keeps its objects of the first attempt.
TEST(hyflow_list, repeats_a_block_after_another_nodes_commit) {
    const auto nodes = tutti::cluster::testing::start_nodes(2, placement::home);
    const thread_on here{*nodes[0]};
    make_list();
    int runs = 0;
    add_node(1, [&] {
        if (++runs == 1) meanwhile(*nodes[1], [] { addNode(2); });
    });
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(values(), (std::vector<int>{1, 2}));
}

TEST(hyflow_objects, are_reached_through_handles) {
    tutti::cluster::node alone;
    use(alone);  // for all threads
    make_list();
    HYFLOW_ATOMIC_START {
        const HyflowObject* head = HYFLOW_ON_READ("HEAD");
        ((ListNode*)HYFLOW_ON_WRITE(head))->setNextId("x");
        EXPECT_EQ(((ListNode*)HYFLOW_ON_READ(head))->getNextId(), "x");
        EXPECT_EQ(head->getId(), "HEAD");
        EXPECT_FALSE(HYFLOW_NFETCH("nowhere", true, false));
        EXPECT_TRUE(HYFLOW_NFETCH("HEAD", true, false));
    }
    HYFLOW_ATOMIC_END;
    std::thread{[] {
        HYFLOW_ATOMIC_START { EXPECT_EQ(((ListNode*)HYFLOW_ON_READ("HEAD"))->getNextId(), "x"); }
        HYFLOW_ATOMIC_END;
    }}.join();
    tutti::cluster::hyflow::detail::node_of_process = nullptr;
}

TEST(hyflow_objects, carry_changes_made_after_publication) {
    const auto nodes = tutti::cluster::testing::start_nodes(2, placement::home);
    const thread_on here{*nodes[0]};
    for (int i = 0; i < 8; ++i) {  // half of the ids are at home on each node
        const std::string id = next_list_id();
        HYFLOW_ATOMIC_START {
            ListNode* fresh = new ListNode(7, id);
            HYFLOW_PUBLISH_OBJECT(fresh);
            fresh->setNextId("later");
        }
        HYFLOW_ATOMIC_END;
        meanwhile(*nodes[1], [&] {
            HYFLOW_ATOMIC_START {
                const ListNode* node = (const ListNode*)HYFLOW_ON_READ(id);
                EXPECT_EQ(node->getValue(), 7);
                EXPECT_EQ(node->getNextId(), "later");
                EXPECT_EQ(node->getId(), id);
            }
            HYFLOW_ATOMIC_END;
        });
    }
}

class Stranger : public HyflowObject {
public:
    using HyflowObject::HyflowObject;
    Stranger() : HyflowObject{"stranger"} {}
    template <class Archive>
    void serialize(Archive&) {}
};

template <class Error, class F>
std::string message_of(F&& f) {
    try {
        f();
    } catch (const Error& e) {
        return e.what();
    }
    return "nothing was thrown";
}

TEST(hyflow_objects, are_refused_if_missing_or_not_serializable) {
    using tutti::usage_error;
    using tutti::cluster::no_such_object;
    const auto in_block = [](auto&& body) {
        return [&body] {
            HYFLOW_ATOMIC_START { body(__context__); }
            HYFLOW_ATOMIC_END;
        };
    };
    const auto publish = [](HyflowContext* __context__) { HYFLOW_PUBLISH_OBJECT(new Stranger); };
    const auto fetch = [](HyflowContext* __context__) { HYFLOW_FETCH("nowhere", true); };
    const auto erase = [](HyflowContext* __context__) {
        const Stranger s;
        HYFLOW_DELETE_OBJECT(&s);
    };
    EXPECT_NE(message_of<usage_error>(in_block(publish)).find("hyflow::use(node)"), std::string::npos);
    tutti::cluster::node alone;
    const thread_on here{alone};
    EXPECT_NE(message_of<usage_error>(in_block(publish)).find("HYFLOW_REGISTER(class)"), std::string::npos);
    EXPECT_NE(message_of<no_such_object>(in_block(fetch)), "nothing was thrown");
    EXPECT_NE(message_of<no_such_object>(in_block(erase)), "nothing was thrown");
    make_list();
    EXPECT_THROW(make_list(), no_such_object);
}

// Bytes from another program, or a broken one.
TEST(hyflow_objects, are_refused_from_invalid_bytes) {
    using tutti::cluster::serializer;
    using tutti::cluster::hyflow::detail::boxed;
    std::string bytes;
    serializer<boxed>::encode(bytes, boxed{std::make_unique<ListNode>(3, "three")});
    boxed again;
    serializer<boxed>::decode(bytes, again);
    EXPECT_EQ(static_cast<ListNode*>(again.get())->getValue(), 3);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        EXPECT_ANY_THROW(serializer<boxed>::decode(std::string_view{bytes}.substr(0, length), again)) << length;
    }
    std::string unknown{bytes};
    unknown[4] = '?';  // in the name of the class
    EXPECT_THROW(serializer<boxed>::decode(unknown, again), std::invalid_argument);
    std::string endless{bytes};
    endless[3] = '\x7f';  // in the length of that name
    EXPECT_THROW(serializer<boxed>::decode(endless, again), std::length_error);
    EXPECT_EQ(static_cast<ListNode*>(again.get())->getValue(), 3);
}

}  // namespace
}  // namespace hyflow_test

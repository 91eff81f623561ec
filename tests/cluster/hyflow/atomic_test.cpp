// The Atomic class: the list of figure 3.4, and actions after a block commits or aborts.
#include "cluster/hyflow/account.hpp"
#include "cluster/hyflow/list_node.hpp"
#include "cluster/hyflow/threads.hpp"

namespace hyflow_test {
namespace {

using tutti::cluster::placement;

class ListArgs : public BenchMarkArgs {
public:
    explicit ListArgs(int v) : value{v} {}
    int value;
};

class List {
public:
    static void addNodeAtomically(HyflowObject*, BenchMarkArgs* args, HyflowContext* __context__, BenchMarkReturn*) {
        ListNode* headNode = (ListNode*)HYFLOW_ON_WRITE("HEAD");
        ListNode* newNode = new ListNode(((ListArgs*)args)->value, next_list_id());
        newNode->setNextId(headNode->getNextId());
        HYFLOW_PUBLISH_OBJECT(newNode);
        headNode->setNextId(newNode->getId());
    }

    static void deleteNodeAtomically(HyflowObject*, BenchMarkArgs* args, HyflowContext* __context__, BenchMarkReturn*) {
        int value = ((ListArgs*)args)->value;
        ListNode* targetNode = NULL;
        std::string head("HEAD");
        std::string prev = head, next;

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

                break;
            }
            prev = next;
            next = targetNode->getNextId();
        }
    }

    static void run(Atomic::function what, int value) {
        Atomic atomic;
        ListArgs args(value);

        atomic.atomically = what;
        atomic.execute(NULL, &args, NULL);
    }
    static void addNode(int value) { run(List::addNodeAtomically, value); }
    static void deleteNode(int value) { run(List::deleteNodeAtomically, value); }

    static int length() {
        int count = 0;
        HYFLOW_ATOMIC_START {
            count = 0;
            for (std::string next = "HEAD"; next != "NULL"; ++count) {
                next = ((ListNode*)HYFLOW_ON_READ(next))->getNextId();
            }
        }
        HYFLOW_ATOMIC_END;
        return count - 1;
    }
};

TEST(hyflow_atomic, runs_the_list_of_three_nodes) {
    const auto nodes = tutti::cluster::testing::start_nodes(3, placement::home);
    const thread_on here{*nodes[0]};
    make_list();
    on_threads(nodes, 3, [](unsigned i) {
        for (int k = 0; k < 12; ++k) List::addNode(static_cast<int>(i) * 100 + k);
        for (int k = 0; k < 8; ++k) List::deleteNode(static_cast<int>(i) * 100 + k);
    });
    EXPECT_EQ(List::length(), 3 * 4);
}

// Catches an Atomic block that commits apart from the block around it.
TEST(hyflow_atomic, is_part_of_the_enclosing_block) {
    tutti::cluster::node alone;
    const thread_on here{alone};
    make_list();
    const auto fails = [] {
        HYFLOW_ATOMIC_START {
            List::addNode(1);
            throw std::runtime_error{"no"};
        }
        HYFLOW_ATOMIC_END;
    };
    EXPECT_THROW(fails(), std::runtime_error);
    EXPECT_EQ(List::length(), 0);
}

class Payment : public BenchMarkArgs {
public:
    Payment(std::string to, long money) : account{std::move(to)}, amount{money} {}
    void getClone(BenchMarkArgs** copy) override { *copy = new Payment(*this); }
    std::string account;
    long amount;
};

class Paid : public BenchMarkReturn {
public:
    void getClone(BenchMarkReturn** copy) override { *copy = new Paid(*this); }
    long amount = 0;
};

void pay(HyflowObject*, BenchMarkArgs* args, HyflowContext* __context__, BenchMarkReturn* result) {
    const auto* p = (Payment*)args;
    BankAccount::deposit(p->account, p->amount, __context__);
    ((Paid*)result)->amount = p->amount;
}
void take_back(HyflowObject*, BenchMarkArgs* args, HyflowContext* __context__, BenchMarkReturn* result) {
    BankAccount::withdraw(((Payment*)args)->account, ((Paid*)result)->amount, __context__);
    BankAccount::deposit("undone", 1, __context__);
}
void receipt(HyflowObject*, BenchMarkArgs*, HyflowContext* __context__, BenchMarkReturn* result) {
    BankAccount::deposit("receipts", ((Paid*)result)->amount, __context__);
}

/// Pays in an open nested block. The block's arguments and result end together with the block, as in figure 5.7.
void pay_openly(const std::string& to, long money, Atomic::function on_commit) {
    Atomic atomic;
    Payment args(to, money);
    Paid result;
    atomic.atomically = pay;
    atomic.onAbort = take_back;
    atomic.onCommit = on_commit;
    atomic.execute(NULL, &args, &result);
}

class hyflow_open : public ::testing::Test {
protected:
    void SetUp() override {
        for (const char* id : {"a", "b", "undone", "receipts"}) open_account(id, 0);
    }
    std::vector<std::unique_ptr<tutti::cluster::node>> nodes = tutti::cluster::testing::start_nodes(2, placement::home);
    thread_on here{*nodes[0]};
};

// Catches an inner commit that other nodes do not see, a missing undo, and an onCommit that runs for a failed block.
TEST_F(hyflow_open, commits_immediately_and_is_undone_on_failure) {
    const auto fails = [&] {
        HYFLOW_ATOMIC_START {
            pay_openly("a", 5, receipt);
            meanwhile(*nodes[1], [] { EXPECT_EQ(balance("a"), 5); });
            throw std::runtime_error{"no"};
        }
        HYFLOW_ATOMIC_END;
    };
    EXPECT_THROW(fails(), std::runtime_error);
    EXPECT_EQ(balance("a"), 0);
    EXPECT_EQ(balance("undone"), 1);
    EXPECT_EQ(balance("receipts"), 0);
}

// Catches an onCommit that runs as part of the block: the block then conflicts over objects that only onCommit uses.
TEST_F(hyflow_open, calls_onCommit_after_the_outer_commit) {
    int runs = 0;
    HYFLOW_ATOMIC_START {
        ++runs;
        pay_openly("a", 5, receipt);
        pay_openly("a", 6, receipt);
        BankAccount::deposit("b", 1, __context__);
        if (runs == 1) {
            meanwhile(*nodes[1], [] {
                EXPECT_EQ(balance("receipts"), 0);
                pay_in("receipts", 100);
            });
        }
    }
    HYFLOW_ATOMIC_END;
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(balance("a"), 11);
    EXPECT_EQ(balance("undone"), 0);
    EXPECT_EQ(balance("receipts"), 111);
    pay_openly("a", 7, receipt);  // outside of any block
    EXPECT_EQ(balance("receipts"), 118);
}

// Catches a missing undo when the block runs again, which counts its payment twice.
TEST_F(hyflow_open, is_undone_and_repeated_on_conflict) {
    int runs = 0;
    HYFLOW_ATOMIC_START {
        BankAccount::deposit("b", 1, __context__);
        pay_openly("a", 5, receipt);
        if (++runs == 1) meanwhile(*nodes[1], [] { pay_in("b", 10); });
    }
    HYFLOW_ATOMIC_END;
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(balance("a"), 5);
    EXPECT_EQ(balance("b"), 11);
    EXPECT_EQ(balance("undone"), 1);
    EXPECT_EQ(balance("receipts"), 5);
}

TEST_F(hyflow_open, requires_copies_and_forbids_checkpoints) {
    using tutti::usage_error;
    Atomic none;
    EXPECT_THROW(none.execute(NULL, NULL, NULL), usage_error);
    ListArgs no_copy{1};
    Atomic follows;
    follows.atomically = List::addNodeAtomically;
    follows.onCommit = receipt;
    EXPECT_THROW(follows.execute(NULL, &no_copy, NULL), usage_error);
    const auto beside_checkpoints = [] {
        HYFLOW_ATOMIC_START {
            HYFLOW_CHECKPOINT_INIT;
            pay_openly("a", 5, nullptr);
        }
        HYFLOW_ATOMIC_END;
    };
    EXPECT_THROW(beside_checkpoints(), usage_error);
    EXPECT_EQ(balance("a"), 0);
}

}  // namespace
}  // namespace hyflow_test

// The bank of figure 3.3: a checkpoint between the two halves of a transfer.
#include "cluster/hyflow/account.hpp"
#include "cluster/hyflow/threads.hpp"
#include "support/effort.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace hyflow_test {

HYFLOW_REGISTER(BankAccount);

namespace {

using tutti::cluster::placement;

struct halves {
    int withdrawals = 0, deposits = 0;
};

/// Transfers as in the figure. The counts are kept outside of the block, so no roll-back resets them.
template <class AfterWithdrawal, class AfterDeposit>
halves transfer(const std::string& account1, const std::string& account2, long money, AfterWithdrawal&& withdrawn,
                AfterDeposit&& deposited) {
    halves ran;
    HYFLOW_ATOMIC_START {
        HYFLOW_CHECKPOINT_INIT;

        BankAccount::withdraw(account1, money, __context__);
        ++ran.withdrawals;
        withdrawn();

        HYFLOW_CHECKPOINT_HERE;

        BankAccount::deposit(account2, money, __context__);
        ++ran.deposits;
        deposited();
    }
    HYFLOW_ATOMIC_END;
    return ran;
}

constexpr auto nothing = [] {};

// Catches a conflict after the checkpoint that rolls back further, and a roll-back that loses the withdrawal.
TEST(hyflow_bank, repeats_only_the_deposit_if_its_account_changed) {
    for (const placement where : {placement::home, placement::writer}) {
        const auto nodes = tutti::cluster::testing::start_nodes(2, where);
        const thread_on here{*nodes[0]};
        open_account("from", 100);
        open_account("to", 100);
        bool met = false;
        const halves ran = transfer("from", "to", 30, nothing, [&] {
            if (!std::exchange(met, true)) meanwhile(*nodes[1], [] { pay_in("to", 1000); });
        });
        EXPECT_EQ(ran.withdrawals, 1);
        EXPECT_EQ(ran.deposits, 2);
        EXPECT_EQ(balance("from"), 70);
        EXPECT_EQ(balance("to"), 1130);
    }
}

// Catches a roll-back to a checkpoint although the reads before the checkpoint are stale.
TEST(hyflow_bank, repeats_both_if_the_first_account_changed) {
    const auto nodes = tutti::cluster::testing::start_nodes(2, placement::home);
    const thread_on here{*nodes[0]};
    open_account("from", 100);
    open_account("to", 100);
    bool met = false;
    const halves ran = transfer("from", "to", 30, nothing, [&] {
        if (!std::exchange(met, true)) meanwhile(*nodes[1], [] { pay_in("from", 1000); });
    });
    EXPECT_EQ(ran.withdrawals, 2);
    EXPECT_EQ(ran.deposits, 2);
    EXPECT_EQ(balance("from"), 1070);
    EXPECT_EQ(balance("to"), 130);
}

TEST(hyflow_bank, restarts_before_the_first_checkpoint) {
    const auto nodes = tutti::cluster::testing::start_nodes(2, placement::home);
    const thread_on here{*nodes[0]};
    open_account("from", 100);
    open_account("to", 100);
    bool met = false;
    const halves ran = transfer(
        "from", "to", 30,
        [&] {
            if (!std::exchange(met, true)) meanwhile(*nodes[1], [] { pay_in("from", 1000); });
        },
        nothing);
    EXPECT_EQ(ran.withdrawals, 2);
    EXPECT_EQ(balance("from") + balance("to"), 1200);
}

// Catches money that a roll-back creates or loses, between nodes that all roll back.
TEST(hyflow_bank, keeps_its_money_under_checkpoints) {
    tutti::support::watchdog guard{"keeps_its_money_under_checkpoints"};
    for (const placement where : {placement::home, placement::writer}) {
        const auto nodes = tutti::cluster::testing::start_nodes(3, where);
        const thread_on here{*nodes[0]};
        constexpr std::size_t accounts = 5;
        const auto name = [](std::size_t i) { return "account-" + std::to_string(i); };
        for (std::size_t i = 0; i < accounts; ++i) open_account(name(i), 100);
        std::atomic<int> wrong{0};
        on_threads(nodes, 6, [&](unsigned n) {
            tutti::support::random dice{n + 1};
            for (std::size_t k = 0; k < tutti::support::rounds(100); ++k) {
                if (dice.one_in(5)) {
                    long sum = 0;
                    HYFLOW_ATOMIC_START {
                        sum = 0;
                        for (std::size_t i = 0; i < accounts; ++i) {
                            sum += ((BankAccount*)HYFLOW_ON_READ(name(i)))->checkBalance();
                        }
                    }
                    HYFLOW_ATOMIC_END;
                    if (sum != static_cast<long>(accounts) * 100) ++wrong;
                } else {
                    transfer(name(dice.below(accounts)), name(dice.below(accounts)), 1, nothing, nothing);
                }
            }
        });
        long sum = 0;
        for (std::size_t i = 0; i < accounts; ++i) sum += balance(name(i));
        EXPECT_EQ(sum, static_cast<long>(accounts) * 100);
        EXPECT_EQ(wrong.load(), 0);
    }
}

}  // namespace
}  // namespace hyflow_test

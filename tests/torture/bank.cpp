// Money moves between accounts in nested blocks, some of which are cancelled, restarted or fail. The sum stays
// constant, and a written memo stays equal to the number of transfers.
#include <array>

#include "torture/scenario.hpp"

namespace tutti::torture {
namespace {

constexpr std::size_t accounts = 64;
constexpr long each_has = 100;

class bank final : public scenario {
public:
    bank() {
        for (auto& a : accounts_) a.store(each_has);
    }
    [[nodiscard]] const char* name() const override { return "bank"; }

    void step(support::random& dice) override {
        const manner how = manner::draw(dice);
        switch (dice.below(6)) {
            case 0: check(how, dice.one_in(2)); break;
            case 1: transfer_or_else(dice); break;
            case 2: transfer_and_write_it_down(dice); break;
            case 3: outside(dice); break;
            default: transfer(how, dice);
        }
    }

    std::string audit() override {
        long sum = 0;
        for (auto& a : accounts_) sum += a.load();
        if (sum != total) return "the accounts hold " + std::to_string(sum) + ", not " + std::to_string(total);
        if (memo_.load() != std::to_string(written_.load())) return "the memo says " + memo_.load();
        return {};
    }

private:
    static constexpr long total = accounts * each_has;

    void move(tx& t, std::size_t from, std::size_t to, long amount) {
        accounts_[from].set(t, accounts_[from].get(t) - amount);
        accounts_[to].set(t, accounts_[to].get(t) + amount);
    }

    void check(const manner& how, bool read_only) {
        run(how, {.name = "bank check", .read_only = read_only}, [&](tx& t) {
            long sum = 0;
            for (auto& a : accounts_) sum += a.get(t);
            if (sum != total) violated(name(), "a block sees the sum " + std::to_string(sum));
        });
    }

    /// Makes two transfers in nested blocks; the dice decide which of them have no effect, and how.
    void transfer(const manner& how, support::random& dice) {
        const std::size_t a = dice.below(accounts), b = dice.below(accounts), c = dice.below(accounts);
        const auto amount = static_cast<long>(dice.below(10));
        const std::size_t fate = dice.below(12);
        unsigned again = 0;
        run(how, {.name = "bank transfer"}, [&](tx& t) {
            move(t, a, b, amount);
            (void)try_atomically([&](tx& inner) {
                move(inner, b, c, amount);
                (void)try_atomically([&](tx& innermost) {
                    move(innermost, c, a, 2 * amount);
                    if (fate == 1) cancel(innermost);
                });
                if (fate == 2) cancel(inner);
                if (fate == 3 && !inner.irrevocable() && ++again < 3) restart(inner);
            });
            if (fate == 4) t.become_irrevocable("torture");
            if (fate == 5 && !t.irrevocable()) t.become_visible();
            if (fate == 6) throw staged_failure{};
            if (fate == 7) cancel(t);
            move(t, c, a, 1);
        });
    }

    /// Pays from an account with sufficient funds, or from another.
    void transfer_or_else(support::random& dice) {
        const std::size_t a = dice.below(accounts), b = dice.below(accounts), to = dice.below(accounts);
        const auto pay = [&](std::size_t from) {
            return [this, from, to](tx& t) {
                move(t, from, to, 50);
                if (accounts_[from].get(t) < 0) retry(t);  // rolls the move back
            };
        };
        atomically({.name = "bank or_else"}, [&](tx& t) { or_else(t, pay(a), pay(b), [](tx&) {}); });
    }

    void transfer_and_write_it_down(support::random& dice) {
        const std::size_t a = dice.below(accounts), b = dice.below(accounts);
        manner how = manner::draw(dice);
        how.jumps = false;  // strings have destructors
        const std::string expected = run(how, {.name = "bank memo"}, [&](tx& t) {
            const long number = written_.get(t);
            if (memo_.get(t) != std::to_string(number))
                violated(name(), "the memo differs from the number of transfers");
            move(t, a, b, 1);
            written_.set(t, number + 1);
            memo_.set(t, std::to_string(number + 1));
            return memo_.get(t);
        });
        if (expected.empty()) violated(name(), "an empty memo");
    }

    void outside(support::random& dice) {
        const std::size_t a = dice.below(accounts);
        (void)accounts_[a].load();
        const std::string text = memo_.load();
        if (text.empty()) violated(name(), "an empty memo, seen from outside");
    }

    std::array<var<long>, accounts> accounts_;
    var<long> written_{0};
    var<std::string> memo_{"0"};
};

}  // namespace

std::unique_ptr<scenario> make_bank() { return std::make_unique<bank>(); }

}  // namespace tutti::torture

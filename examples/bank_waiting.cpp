// Waiting for money: a withdrawal that is not covered sleeps until a deposit has covered it.
#include <chrono>
#include <cstdio>
#include <thread>
#include <tutti/tutti.hpp>

class account {
public:
    explicit account(long balance) : balance_{balance} {}
    long balance(tutti::tx& t) const { return balance_.get(t); }
    void deposit(tutti::tx& t, long amount) { balance_.set(t, balance_.get(t) + amount); }
    void withdraw(tutti::tx& t, long amount) {
        if (balance_.get(t) < amount) tutti::retry(t);
        balance_.set(t, balance_.get(t) - amount);
    }

private:
    tutti::var<long> balance_;
};

// Any function with a tx& can call this: a transfer is a step of any block, and waits if its withdrawal waits.
void transfer(tutti::tx& t, account& from, account& to, long amount) {
    to.deposit(t, amount);
    from.withdraw(t, amount);
}

int main() {
    account salary{0}, savings{50}, landlord{0}, shop{0};

    const std::jthread employer{[&] {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        tutti::atomically([&](tutti::tx& t) { salary.deposit(t, 1000); });
    }};

    // Sleeps until the salary has arrived. Meanwhile the deposit is undone: no thread sees half a transfer.
    tutti::atomically([&](tutti::tx& t) { transfer(t, salary, landlord, 700); });

    // Pays from the savings if they cover the amount, otherwise from the salary. Waits while neither does.
    const auto pay = [&](long amount) {
        return tutti::atomically([&](tutti::tx& t) {
            const auto from = [&](account& a, const char* name) {
                return [&shop, &a, name, amount](tutti::tx& u) {
                    transfer(u, a, shop, amount);
                    return name;
                };
            };
            return tutti::or_else(t, from(savings, "savings"), from(salary, "salary"));
        });
    };
    const char* const first = pay(40);
    const char* const second = pay(40);

    // Waits for a raise, but only for a limited time.
    const bool raised = tutti::atomically([&](tutti::tx& t) {
        if (salary.balance(t) >= 5000) return true;
        tutti::retry_for(t, std::chrono::milliseconds{10});
        return false;
    });

    const long left = tutti::atomically([&](tutti::tx& t) { return savings.balance(t) + salary.balance(t); });
    std::printf("paid from %s, then from %s; %s; %ld left\n", first, second, raised ? "a raise" : "no raise", left);
    return left == 270 && !raised ? 0 : 1;
}

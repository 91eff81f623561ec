// The accounts of figure 3.3.
#pragma once

#include <string>

#include <tutti/cluster/hyflow.hpp>

namespace hyflow_test {

using namespace tutti::cluster::hyflow;

class BankAccount : public HyflowObject {
public:
    BankAccount() = default;
    BankAccount(const std::string& id, long amount) : HyflowObject{id}, amount_{amount} {}

    long checkBalance() const { return amount_; }
    void add(long money) { amount_ += money; }

    template <class Archive>
    void serialize(Archive& ar) {
        ar(amount_);
    }

    // Functions of a block get its context.
    static void withdraw(const std::string& id, long money, HyflowContext* __context__) {
        HYFLOW_FETCH(id, false);
        ((BankAccount*)HYFLOW_ON_WRITE(id))->add(-money);
    }
    static void deposit(const std::string& id, long money, HyflowContext* __context__) {
        withdraw(id, -money, __context__);
    }

private:
    long amount_ = 0;
};

inline void open_account(const std::string& id, long amount) {
    HYFLOW_ATOMIC_START { HYFLOW_PUBLISH_OBJECT(new BankAccount(id, amount)); }
    HYFLOW_ATOMIC_END;
}

inline long balance(const std::string& id) {
    long amount = 0;
    HYFLOW_ATOMIC_START { amount = ((BankAccount*)HYFLOW_ON_READ(id))->checkBalance(); }
    HYFLOW_ATOMIC_END;
    return amount;
}

inline void pay_in(const std::string& id, long money) {
    HYFLOW_ATOMIC_START { BankAccount::deposit(id, money, __context__); }
    HYFLOW_ATOMIC_END;
}

}  // namespace hyflow_test

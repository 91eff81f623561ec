// Waiting: numbered tokens pass through bounded buffers, with retry, or_else and limits. No token is lost or doubled,
// and none overtakes an older one of its lane. The watchdog reports a hang after a lost wake-up.
#include <array>

#include "torture/scenario.hpp"

namespace tutti::torture {
namespace {

constexpr std::size_t lanes = 3, capacity = 4;

/// A ring: `in` and `out` count all tokens that ever entered and left.
struct lane {
    std::array<var<long>, capacity> slots{};
    var<long> in{0}, out{0};
};

class hand_over final : public scenario {
public:
    [[nodiscard]] const char* name() const override { return "hand-over"; }

    // Steps wait only briefly: all workers might want to take at the same time.
    void step(support::random& dice) override {
        const manner how = waiting_manner(dice);
        if (dice.one_in(2)) put(how, lanes_[dice.below(lanes)], true);
        else take(how, dice.below(lanes), true);
    }

    // Dedicated threads wait without a limit. Consumers wait only while all lanes are empty, and producers only while
    // their lane is full, so at least one can always continue.
    [[nodiscard]] unsigned dedicated_threads() const override { return 4; }
    void run_dedicated(unsigned index, support::random& dice) override {
        const manner how = waiting_manner(dice);
        if (index % 2 == 0) put(how, lanes_[dice.below(lanes)], false);
        else take(how, dice.below(lanes), false);
    }

    std::string audit() override {
        for (auto& l : lanes_) {
            const long inside = l.in.load() - l.out.load();
            if (inside < 0 || inside > static_cast<long>(capacity)) return "a lane holds " + std::to_string(inside);
        }
        return {};
    }

private:
    static manner waiting_manner(support::random& dice) {
        manner how = manner::draw(dice);
        if (how.mode == mode::irrevocable) how.mode = mode::visible;  // an irrevocable block cannot wait
        how.jumps = false;
        return how;
    }
    void require(bool held, const char* what) {
        if (!held) violated(name(), what);
    }

    void put(const manner& how, lane& l, bool limited) {
        run(how, {.name = "hand-over put"}, [&](tx& t) {
            if (stopping.get(t)) return;
            const long number = l.in.get(t);
            if (number - l.out.get(t) == static_cast<long>(capacity)) {
                if (!limited) retry(t);
                retry_for(t, std::chrono::milliseconds{2});
                return;
            }
            l.slots[static_cast<std::size_t>(number) % capacity].set(t, number);
            l.in.set(t, number + 1);
        });
    }

    void take(const manner& how, std::size_t first, bool limited) {
        const auto from = [&](std::size_t offset) {
            return [this, limited, l = &lanes_[(first + offset) % lanes]](tx& t) {
                if (stopping.get(t)) return;
                const long number = l->out.get(t);
                if (number == l->in.get(t)) {
                    if (!limited) retry(t);
                    retry_for(t, std::chrono::milliseconds{2});
                    return;
                }
                require(l->slots[static_cast<std::size_t>(number) % capacity].get(t) == number,
                        "a token is out of order");
                l->out.set(t, number + 1);
            };
        };
        run(how, {.name = "hand-over take"}, [&](tx& t) { or_else(t, from(0), from(1), from(2)); });
    }

    std::array<lane, lanes> lanes_;
};

}  // namespace

std::unique_ptr<scenario> make_hand_over() { return std::make_unique<hand_over>(); }

}  // namespace tutti::torture

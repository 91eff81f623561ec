// Boxes of plain memory. One transaction makes a box private, its thread changes it directly, and another transaction
// returns it. Transactions change shared boxes word by word, in every width.
#include <array>
#include <cstring>

#include "torture/scenario.hpp"

namespace tutti::torture {
namespace {

/// Every field has the same number, as far as it fits.
struct alignas(8) box {
    std::uint64_t full = 0;
    std::uint32_t half = 0;
    std::uint16_t quarter = 0;
    std::uint8_t small = 0;
    std::uint8_t tiny = 0;

    [[nodiscard]] bool sound() const { return same(full, half, quarter, small, tiny); }
    static bool same(std::uint64_t f, std::uint32_t h, std::uint16_t q, std::uint8_t s, std::uint8_t t) {
        return h == static_cast<std::uint32_t>(f) && q == static_cast<std::uint16_t>(f) &&
               s == static_cast<std::uint8_t>(f) && t == static_cast<std::uint8_t>(f);
    }
    void fill(std::uint64_t n) {
        full = n;
        half = static_cast<std::uint32_t>(n);
        quarter = static_cast<std::uint16_t>(n);
        small = static_cast<std::uint8_t>(n);
        tiny = static_cast<std::uint8_t>(n);
    }
};

class boxes final : public scenario {
public:
    boxes() {
        for (auto& s : shelf_) s = new box;
    }
    ~boxes() override {
        for (auto* b : shelf_) delete b;
    }
    [[nodiscard]] const char* name() const override { return "boxes"; }

    void step(support::random& dice) override {
        manner how = manner::draw(dice);
        box** const place = &shelf_[dice.below(shelf_.size())];
        if (dice.one_in(6)) {
            take_and_put_back(how, place, dice);
        } else {
            // The block privatizes nothing, so it may waive the wait of a commit.
            if (dice.one_in(2)) how.privatization = privatization::waived;
            const std::uint64_t number = dice.next() % 100'000;
            if (dice.one_in(2))
                run(how, {.name = "boxes check", .read_only = true}, [&](tx& t) { read_box(t, place); });
            else run(how, {.name = "boxes change"}, [&](tx& t) { change(t, place, number); });
        }
    }

    std::string audit() override {
        for (const auto* b : shelf_) {
            if (b == nullptr) return "a box was not returned";
            if (!b->sound()) return "a box is torn";
        }
        return {};
    }

private:
    void require(bool held, const char* what) {
        if (!held) violated(name(), what);
    }

    void take_and_put_back(const manner& how, box** place, support::random& dice) {
        box* taken = run(how, {.name = "boxes take"}, [&](tx& t) {
            box* const found = load(t, place);
            if (found != nullptr) store(t, place, nullptr);
            return found;
        });
        if (taken == nullptr) return;
        // The box is private: direct accesses from here on, including its deletion.
        require(taken->sound(), "a private box is torn");
        taken->fill(dice.next());
        if (dice.one_in(3)) {
            // The hardest direct use: a straggler would read the overwritten or freed memory.
            std::memset(static_cast<void*>(taken), 0xdd, sizeof(box));
            delete taken;
            taken = nullptr;
        }
        put_back(how, place, taken);
    }

    /// Repeats until it succeeds, because memory may run out repeatedly.
    void put_back(const manner& how, box** place, box* taken) {
        for (;;) {
            try {
                if (taken == nullptr) taken = new box;
                require(taken->sound(), "a straggler wrote into a private box");
                run(how, {.name = "boxes put"}, [&](tx& t) { store(t, place, taken); });
                return;
            } catch (const std::bad_alloc&) {}
        }
    }

    void read_box(tx& t, box** place) {
        const box* const b = load(t, place);
        if (b == nullptr) return;
        const std::uint16_t quarter = load(t, &b->quarter);
        const std::uint8_t tiny = load(t, &b->tiny);
        const std::uint64_t full = load(t, &b->full);
        const std::uint8_t small = load(t, &b->small);
        require(box::same(full, load(t, &b->half), quarter, small, tiny), "a block sees a torn box");
    }
    void change(tx& t, box** place, std::uint64_t number) {
        box* const b = load(t, place);
        if (b == nullptr) return;
        read_box(t, place);
        store(t, &b->tiny, static_cast<std::uint8_t>(number));
        store(t, &b->full, number);
        (void)try_atomically([&](tx& inner) {
            store(inner, &b->half, 1u);
            store(inner, &b->full, 2u);
            cancel(inner);
        });
        store(t, &b->quarter, static_cast<std::uint16_t>(number));
        store(t, &b->small, static_cast<std::uint8_t>(number));
        store(t, &b->half, static_cast<std::uint32_t>(number));
        read_box(t, place);
    }

    std::array<box*, 4> shelf_;
};

}  // namespace

std::unique_ptr<scenario> make_boxes() { return std::make_unique<boxes>(); }

}  // namespace tutti::torture

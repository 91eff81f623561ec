#include "torture/scenario.hpp"

namespace tutti::torture {

manner manner::draw(support::random& dice) {
    manner how{tutti::mode::optimistic, dice.one_in(2), dice.one_in(3)};
    // Irrevocable blocks exclude each other, so they are rare enough for other blocks to run.
    if (dice.one_in(5)) how.mode = tutti::mode::visible;
    else if (dice.one_in(30)) how.mode = tutti::mode::irrevocable;
    return how;
}

std::vector<std::unique_ptr<scenario>> all_scenarios() {
    std::vector<std::unique_ptr<scenario>> all;
    all.push_back(make_bank());
    all.push_back(make_list());
    all.push_back(make_boxes());
    all.push_back(make_hand_over());
    return all;
}

}  // namespace tutti::torture

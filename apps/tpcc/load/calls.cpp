#include "tpcc/load/calls.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace tpcc::load {
namespace {

/// Counts words while it writes them, because a request begins with their number.
class words {
public:
    template <class Word>
    words& operator<<(const Word& word) {
        const std::string text = fmt::format("{}", word);
        fmt::format_to(std::back_inserter(text_), "${}\r\n{}\r\n", text.size(), text);
        ++count_;
        return *this;
    }
    void append_to(std::string& request) const {
        fmt::format_to(std::back_inserter(request), "*{}\r\n{}", count_, text_);
    }

private:
    std::string text_;
    int count_ = 0;
};

std::string shown(const customer_choice& c) { return c.id != 0 ? std::to_string(c.id) : std::string{c.last.view()}; }

}  // namespace

call_source::call_source(const served_scale& of, int districts, std::uint64_t seed)
    : warehouses_{of.warehouses},
      districts_{districts},
      random_{derive_seed(seed, purpose::worker, 1)},
      inputs_{of.size, of.constants, of.warehouses, random_source{derive_seed(seed, purpose::worker, 2)}} {}

void call_source::append(std::string& to, profile which) {
    const warehouse_id home = random_.uniform(1, warehouses_);
    append(to, which, home, which == profile::stock_level ? random_.uniform(1, districts_) : 1);
}

void call_source::append(std::string& to, profile which, warehouse_id home, district_id terminal) {
    words w;
    w << "CALL";
    switch (which) {
        case profile::new_order: {
            const new_order_input in = inputs_.new_order(home);
            w << "new_order" << in.warehouse << among_ours(in.district) << in.customer;
            for (int l = 0; l < in.line_count; ++l) {
                const new_order_line_input& line = in.lines[static_cast<std::size_t>(l)];
                w << line.item << line.supply_warehouse << line.quantity;
            }
            break;
        }
        case profile::payment: {
            const payment_input in = inputs_.payment(home);
            w << "payment" << in.warehouse << among_ours(in.district) << in.customer.warehouse
              << among_ours(in.customer.district) << shown(in.customer) << in.amount;
            break;
        }
        case profile::order_status: {
            const order_status_input in = inputs_.order_status(home);
            w << "order_status" << in.customer.warehouse << among_ours(in.customer.district) << shown(in.customer);
            break;
        }
        case profile::delivery: {
            const delivery_input in = inputs_.delivery(home);
            w << "delivery" << in.warehouse << in.carrier;
            break;
        }
        case profile::stock_level: {
            const stock_level_input in = inputs_.stock_level(home, terminal);
            w << "stock_level" << in.warehouse << in.district << in.threshold;
            break;
        }
    }
    w.append_to(to);
}

profile call_source::draw_profile() noexcept {
    return static_cast<profile>(random_.uniform(0, static_cast<int>(profile_count) - 1));
}

double call_source::draw_gap(double rate) noexcept {
    // Uniform in (0, 1], so that the logarithm is finite.
    const double u = static_cast<double>((random_.next() >> 11) + 1) * 0x1p-53;
    return -std::log(u) / rate;
}

namespace {

template <class Words>
void append_any(std::string& to, const Words& given) {
    words w;
    for (const auto& word : given) w << word;
    w.append_to(to);
}

}  // namespace

void append_request(std::string& to, std::initializer_list<std::string_view> given) { append_any(to, given); }
void append_request(std::string& to, const std::vector<std::string>& given) { append_any(to, given); }

}  // namespace tpcc::load

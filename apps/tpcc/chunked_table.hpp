// A growing table of rows under dense numbers 1, 2, 3, …
//
// A fixed directory of variables points to chunks, made when their first row comes; a chunk's slots are variables that
// point to the rows. Two transactions conflict only over the same number (or over the birth of the same chunk), so a
// row is inserted without disturbing whoever reads others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include <tutti/tutti.hpp>

namespace tpcc {

template <class Row>
class chunked_table {
public:
    static constexpr std::size_t chunk_size = 4096;
    static constexpr std::size_t directory_size = 4096;
    /// The highest number, 16.7 million.
    static constexpr auto capacity = static_cast<std::int32_t>(chunk_size * directory_size);

    chunked_table() : directory_{std::make_unique<tutti::var<chunk*>[]>(directory_size)} {}
    chunked_table(const chunked_table&) = delete;
    chunked_table& operator=(const chunked_table&) = delete;
    /// REQUIRES: no transaction can reach the table.
    ~chunked_table() {
        for_each([](Row& row) { delete &row; });
        for (std::size_t i = 0; i < directory_size; ++i) delete directory_[i].load();
    }

    /// The row with that number, or null. O(1).
    [[nodiscard]] Row* find(tutti::tx& t, std::int32_t number) const {
        if (number < 1 || number > capacity) return nullptr;
        const chunk* const c = directory_[index(number) / chunk_size].get(t);
        return c == nullptr ? nullptr : c->slots[index(number) % chunk_size].get(t);
    }

    /// Puts a row made by `tutti::create` under that number; the table owns it once the transaction has committed.
    /// REQUIRES: number >= 1, and nothing is there yet. O(1).
    /// @throws std::length_error  when the number is beyond what the directory can hold
    void insert(tutti::tx& t, std::int32_t number, Row* row) {
        if (number > capacity) throw std::length_error{"a district's order table is full"};
        tutti::var<chunk*>& entry = directory_[index(number) / chunk_size];
        chunk* c = entry.get(t);
        if (c == nullptr) {
            c = tutti::create<chunk>(t);
            entry.set(t, c);
        }
        c->slots[index(number) % chunk_size].set(t, row);
    }

    /// Calls f(Row&) for every row, by number. REQUIRES: no transaction is writing the table.
    template <class F>
    void for_each(F f) const {
        for (std::size_t i = 0; i < directory_size; ++i) {
            const chunk* const c = directory_[i].load();
            if (c == nullptr) continue;
            for (const tutti::var<Row*>& slot : c->slots) {
                if (Row* const row = slot.load()) f(*row);
            }
        }
    }

private:
    struct chunk {
        std::array<tutti::var<Row*>, chunk_size> slots;
    };
    static std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number) - 1; }

    std::unique_ptr<tutti::var<chunk*>[]> directory_;
};

}  // namespace tpcc

// A growing array for one thread, which the thread also uses inside transactions. The array uses neither std::vector
// nor new[]: blocks of the language cannot call the functions by which these throw.
//
// A body that may run again clears the array first.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

namespace stamp {

template <class T>
    requires std::is_trivially_copyable_v<T>
class scratch {
public:
    scratch() = default;
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;
    ~scratch() { ::operator delete(static_cast<void*>(items_)); }

    void clear() noexcept { size_ = 0; }
    void push(const T& item) {
        if (size_ == capacity_) grow();
        items_[size_++] = item;
    }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    T& operator[](std::size_t i) noexcept { return items_[i]; }
    const T& operator[](std::size_t i) const noexcept { return items_[i]; }
    T* begin() noexcept { return items_; }
    T* end() noexcept { return items_ + size_; }
    const T* begin() const noexcept { return items_; }
    const T* end() const noexcept { return items_ + size_; }

private:
    void grow() {
        const std::size_t capacity = capacity_ == 0 ? 64 : 2 * capacity_;
        // NOLINTNEXTLINE(bugprone-sizeof-expression): T may well be a pointer
        T* const more = static_cast<T*>(::operator new(capacity * sizeof(T)));
        for (std::size_t i = 0; i < size_; ++i) more[i] = items_[i];
        ::operator delete(static_cast<void*>(items_));
        items_ = more;
        capacity_ = capacity;
    }

    T* items_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace stamp

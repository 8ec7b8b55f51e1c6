// Stacks for the rows whose runtime has none.
#pragma once

#include "tollgate.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace tollgate {

/// One stack for each task but task 0, which is the program itself. From operator new, as Boost's fixedsize_stack is from
/// malloc, so that the stacks of all stackful rows have the same distance and the same sets of the caches.
class Stacks {
public:
    explicit Stacks(std::uint64_t tasks) : stacks_(tasks) {
        for (std::uint64_t task = 1; task < tasks; ++task) stacks_[task].reset(new std::byte[stack_bytes]);
    }
    std::byte* bottom(std::uint64_t task) { return stacks_[task].get(); }
    std::byte* top(std::uint64_t task) { return bottom(task) + stack_bytes; }

private:
    std::vector<std::unique_ptr<std::byte[]>> stacks_;
};

}  // namespace tollgate

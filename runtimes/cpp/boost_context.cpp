// Boost.Context: its fiber class, and the assembly below it.
#include "stacks.hpp"
#include "tollgate.hpp"

#include <boost/context/detail/fcontext.hpp>
#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <boost/version.hpp>
#include <memory>
#include <utility>
#include <vector>

namespace {

/// The fiber class. Resuming consumes the handle of the task to resume, and returns the handle of the task that resumed this
/// one.
template <class Meter>
class Fibers {
    using Fiber = boost::context::fiber;

public:
    explicit Fibers(const tollgate::Settings& settings) : suspended_(settings.tasks) {
        for (std::uint64_t task = 1; task < settings.tasks; ++task) {
            Fiber fresh(std::allocator_arg, boost::context::fixedsize_stack(tollgate::stack_bytes),
                        [this, task, mxcsr = settings.mxcsr(task)](Fiber&& starter) -> Fiber {
                            tollgate::set_mxcsr(mxcsr);
                            suspended_[task - 1] = std::move(starter).resume();
                            auto& previous = suspended_[task - 1];
                            auto& next = suspended_[task + 1 == suspended_.size() ? 0 : task + 1];
                            for (;; previous = std::move(next).resume()) Meter::resumed(task);
                        });
            suspended_[task] = std::move(fresh).resume();
        }
    }

    void rounds(std::uint64_t rounds) {
        while (rounds-- > 0) {
            suspended_.back() = std::move(suspended_[1]).resume();
            Meter::resumed(0);
        }
    }

private:
    std::vector<Fiber> suspended_;  // destroying a handle unwinds its stack
};

/// jump_fcontext, which the fiber class and Boost.Fiber use.
template <class Meter>
class Fcontext {
public:
    explicit Fcontext(const tollgate::Settings& settings)
        : suspended_(settings.tasks), stacks_(settings.tasks) {
        for (starting_ = 1; starting_ < settings.tasks; ++starting_) {
            const auto top = stacks_.top(starting_);
            const auto fresh = boost::context::detail::make_fcontext(top, tollgate::stack_bytes, &body);
            suspended_[starting_] = boost::context::detail::jump_fcontext(fresh, this).fctx;
        }
    }

    void rounds(std::uint64_t rounds) {
        while (rounds-- > 0) {
            suspended_.back() = boost::context::detail::jump_fcontext(suspended_[1], nullptr).fctx;
            Meter::resumed(0);
        }
    }

private:
    static void body(boost::context::detail::transfer_t from) {
        auto& ring = *static_cast<Fcontext*>(from.data);
        const auto task = ring.starting_;
        auto& previous = ring.suspended_[task - 1];
        auto& next = ring.suspended_[task + 1 == ring.suspended_.size() ? 0 : task + 1];
        previous = boost::context::detail::jump_fcontext(from.fctx, nullptr).fctx;
        for (;; previous = boost::context::detail::jump_fcontext(next, nullptr).fctx) Meter::resumed(task);
    }

    std::vector<boost::context::detail::fcontext_t> suspended_;
    tollgate::Stacks stacks_;
    std::uint64_t starting_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    tollgate::Settings settings(argc, argv);
    const char* version = "Boost " BOOST_LIB_VERSION ", g++ " __VERSION__;
    const char* note = "stacks of 16 KiB";
    settings.mxcsr_differs = settings.mechanism.ends_with("-mxcsr");
    if (settings.mechanism.starts_with("fiber")) return tollgate::measure<Fibers>(settings, version, note);
    if (settings.mechanism == "fcontext") return tollgate::measure<Fcontext>(settings, version, note);
    tollgate::fail("unknown mechanism: " + settings.mechanism);
}

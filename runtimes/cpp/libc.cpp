// Switches of the C library: swapcontext, and jumps between stacks.
#include "stacks.hpp"
#include "tollgate.hpp"

#include <csetjmp>
#include <gnu/libc-version.h>
#include <ucontext.h>
#include <vector>

namespace {

/// Makes a context that calls `body` on its own stack.
void prepare(ucontext_t& context, tollgate::Stacks& stacks, std::uint64_t task, void (*body)()) {
    if (getcontext(&context) != 0) tollgate::fail("getcontext failed");
    context.uc_stack.ss_sp = stacks.bottom(task);
    context.uc_stack.ss_size = tollgate::stack_bytes;
    makecontext(&context, body, 0);
}

/// swapcontext, which also saves and restores the mask of signals: a system call in each switch.
template <class Meter>
class Ucontext {
public:
    explicit Ucontext(const tollgate::Settings& settings) : contexts_(settings.tasks), stacks_(settings.tasks) {
        for (std::uint64_t task = 1; task < settings.tasks; ++task) {
            starting_ = {this, task, settings.mxcsr(task)};
            prepare(contexts_[task], stacks_, task, &body);
            swapcontext(&contexts_[0], &contexts_[task]);
        }
    }

    void rounds(std::uint64_t rounds) {
        while (rounds-- > 0) {
            swapcontext(&contexts_[0], &contexts_[1]);
            Meter::resumed(0);
        }
    }

private:
    struct Start {
        Ucontext* ring;
        std::uint64_t task;
        std::uint32_t mxcsr;
    };

    // makecontext passes only integers, so the new context reads its start from here before another one starts.
    static void body() {
        const auto [ring, task, mxcsr] = starting_;
        auto* mine = &ring->contexts_[task];
        auto* next = &ring->contexts_[(task + 1) % ring->contexts_.size()];
        tollgate::set_mxcsr(mxcsr);
        swapcontext(mine, &ring->contexts_[0]);
        for (;; swapcontext(mine, next)) Meter::resumed(task);
    }

    static inline Start starting_;
    std::vector<ucontext_t> contexts_;
    tollgate::Stacks stacks_;
};

/// _setjmp and _longjmp between stacks that makecontext entered once. They save no mask of signals, no MXCSR and no x87
/// control word. A jump to another stack is undefined in C++, but the C libraries of Linux support it, and no destructor is
/// skipped.
template <class Meter>
class Setjmp {
public:
    explicit Setjmp(const tollgate::Settings& settings) : seats_(settings.tasks), stacks_(settings.tasks) {
        for (std::uint64_t task = 1; task < settings.tasks; ++task) {
            ucontext_t entry;
            starting_ = {this, task};
            prepare(entry, stacks_, task, &body);
            swapcontext(&home_, &entry);
        }
    }

    void rounds(std::uint64_t rounds) {
        for (left_ = rounds; left_ > 0; --left_) {
            pass(seats_[0], seats_[1]);
            Meter::resumed(0);
        }
    }

private:
    struct Seat {
        std::jmp_buf buffer;
    };
    struct Start {
        Setjmp* ring;
        std::uint64_t task;
    };

    static void pass(Seat& mine, Seat& next) {
        if (_setjmp(mine.buffer) == 0) _longjmp(next.buffer, 1);
    }

    static void body() {
        const auto [ring, task] = starting_;
        auto& mine = ring->seats_[task];
        auto& next = ring->seats_[(task + 1) % ring->seats_.size()];
        ucontext_t entered;  // entered once: later resumptions are jumps
        if (_setjmp(mine.buffer) == 0) swapcontext(&entered, &ring->home_);
        for (;; pass(mine, next)) Meter::resumed(task);
    }

    static inline Start starting_;
    ucontext_t home_;
    std::vector<Seat> seats_;
    tollgate::Stacks stacks_;
    std::uint64_t left_ = 0;  // not a local variable: a jump may lose those
};

}  // namespace

int main(int argc, char** argv) {
    tollgate::Settings settings(argc, argv);
    const auto version = std::string("glibc ") + gnu_get_libc_version() + ", g++ " __VERSION__;
    const char* note = "stacks of 16 KiB";
    settings.mxcsr_differs = settings.mechanism == "ucontext-mxcsr";
    if (settings.mechanism.starts_with("ucontext")) return tollgate::measure<Ucontext>(settings, version.c_str(), note);
    if (settings.mechanism == "setjmp") return tollgate::measure<Setjmp>(settings, version.c_str(), note);
    tollgate::fail("unknown mechanism: " + settings.mechanism);
}

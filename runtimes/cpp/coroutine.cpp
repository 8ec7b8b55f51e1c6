// C++20 coroutines: stackless, so only the variables that live across the suspension are saved.
#include "tollgate.hpp"

#include <coroutine>
#include <exception>
#include <utility>
#include <vector>

namespace {

/// A coroutine that starts suspended, never returns, and is destroyed with its owner.
class Coroutine {
public:
    struct promise_type {
        std::uint64_t value = 0;
        Coroutine get_return_object() { return Coroutine(std::coroutine_handle<promise_type>::from_promise(*this)); }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(std::uint64_t yielded) noexcept {
            value = yielded;
            return {};
        }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };

    Coroutine(Coroutine&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Coroutine& operator=(Coroutine&&) = delete;
    ~Coroutine() {
        if (handle_) handle_.destroy();
    }

    std::coroutine_handle<> handle() const { return handle_; }
    /// The next value, as in a generator.
    std::uint64_t next() const {
        handle_.resume();
        return handle_.promise().value;
    }

private:
    explicit Coroutine(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
    std::coroutine_handle<promise_type> handle_;
};

/// Suspends this task and continues with another, which await_suspend names, without a caller between them.
struct Transfer {
    std::coroutine_handle<> next;
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept { return next; }
    void await_resume() const noexcept {}
};

/// Symmetric transfer. Task 0 counts the rounds and returns to the caller of rounds() after the last one.
template <class Meter>
class Symmetric {
public:
    explicit Symmetric(const tollgate::Settings& settings) : following_(settings.tasks) {
        tasks_.reserve(settings.tasks);
        tasks_.push_back(first());
        for (std::uint64_t task = 1; task < settings.tasks; ++task) tasks_.push_back(other(task));
        for (std::uint64_t task = 0; task < settings.tasks; ++task)
            following_[task] = tasks_[(task + 1) % settings.tasks].handle();
    }

    void rounds(std::uint64_t rounds) {
        rounds_ = rounds;
        tasks_.front().handle().resume();
    }

private:
    Coroutine first() {
        while (true) {
            const auto next = following_[0];
            for (auto left = rounds_; left > 0; --left) {
                co_await Transfer{next};
                Meter::resumed(0);
            }
            co_await std::suspend_always();
        }
    }
    Coroutine other(std::uint64_t task) {
        const auto next = following_[task];
        while (true) {
            Meter::resumed(task);
            co_await Transfer{next};
        }
    }

    std::vector<Coroutine> tasks_;
    std::vector<std::coroutine_handle<>> following_;
    std::uint64_t rounds_ = 0;
};

/// Generators, resumed in turn by one loop, which is the dispatcher.
template <class Meter>
class Generators {
public:
    explicit Generators(const tollgate::Settings& settings) {
        generators_.reserve(settings.tasks);
        for (std::uint64_t task = 0; task < settings.tasks; ++task) generators_.push_back(numbers(task));
    }

    void rounds(std::uint64_t rounds) {
        for (; rounds > 0; --rounds) {
            for (const auto& generator : generators_) sum_ += generator.next();
            dispatched_ += generators_.size();
        }
    }
    static std::uint64_t dispatched() { return dispatched_; }

private:
    static Coroutine numbers(std::uint64_t task) {
        for (std::uint64_t number = 0;; ++number) {
            Meter::resumed(task);
            co_yield number;
        }
    }

    static inline std::uint64_t dispatched_ = 0;
    std::vector<Coroutine> generators_;
    std::uint64_t sum_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    const tollgate::Settings settings(argc, argv);
    const char* version = "C++20, g++ " __VERSION__;
    if (settings.mechanism == "transfer") return tollgate::measure<Symmetric>(settings, version, "");
    if (settings.mechanism == "generator") return tollgate::measure<Generators>(settings, version, "");
    tollgate::fail("unknown mechanism: " + settings.mechanism);
}

// std::thread: a ring of seats with a thread on each; the thread that creates the ring has seat 0.
#include "tollgate.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace {

enum class Turn { none, one, last };

/// A condition variable, notified after the mutex is released: a thread that wakes while its waker still holds the mutex
/// sleeps again, which doubles the switches.
class CondvarSeat {
public:
    void give(Turn turn) {
        {
            const std::lock_guard lock(mutex_);
            turn_ = turn;
        }
        given_.notify_one();
    }
    Turn take() {
        std::unique_lock lock(mutex_);
        given_.wait(lock, [this] { return turn_ != Turn::none; });
        return std::exchange(turn_, Turn::none);
    }

private:
    std::mutex mutex_;
    std::condition_variable given_;
    Turn turn_ = Turn::none;
};

/// std::atomic's wait and notify_one. The library may spin and yield before it sleeps; the kernel's count shows it.
class AtomicSeat {
public:
    void give(Turn turn) {
        turn_.store(turn, std::memory_order_release);
        turn_.notify_one();
    }
    Turn take() {
        turn_.wait(Turn::none, std::memory_order_acquire);
        return turn_.exchange(Turn::none, std::memory_order_acquire);
    }

private:
    std::atomic<Turn> turn_ = Turn::none;
};

template <class Seat, class Meter>
class Threads {
public:
    static constexpr bool threads = true;

    explicit Threads(const tollgate::Settings& settings) : seats_(settings.tasks) {
        threads_.reserve(settings.tasks - 1);
        for (std::uint64_t task = 1; task < settings.tasks; ++task) {
            try {
                threads_.emplace_back(&body, task, std::ref(seats_[task]), std::ref(seats_[(task + 1) % settings.tasks]));
            } catch (const std::system_error& error) {
                tollgate::fail("thread " + std::to_string(task) + " cannot start: " + error.what());
            }
        }
    }
    ~Threads() {
        seats_[1].give(Turn::last);
        for (auto& thread : threads_) thread.join();
    }

    void rounds(std::uint64_t rounds) {
        while (rounds-- > 0) {
            seats_[1].give(Turn::one);
            seats_[0].take();
            Meter::resumed(0);
        }
    }

private:
    static void body(std::uint64_t task, Seat& mine, Seat& next) {
        while (mine.take() != Turn::last) {
            Meter::resumed(task);
            next.give(Turn::one);
        }
        next.give(Turn::last);
    }

    std::deque<Seat> seats_;
    std::vector<std::thread> threads_;
};

template <class Meter>
using Condvar = Threads<CondvarSeat, Meter>;
template <class Meter>
using Atomic = Threads<AtomicSeat, Meter>;

}  // namespace

int main(int argc, char** argv) {
    const tollgate::Settings settings(argc, argv);
    const char* version = "libstdc++, g++ " __VERSION__;
    if (settings.mechanism == "condvar") return tollgate::measure<Condvar>(settings, version, "");
    if (settings.mechanism == "atomic-wait") return tollgate::measure<Atomic>(settings, version, "");
    tollgate::fail("unknown mechanism: " + settings.mechanism);
}

// Boost.Fiber. The ready queue of the round-robin scheduler contains the tasks and the scheduler's own dispatcher, whose
// visits are counted.
#include "tollgate.hpp"

#include <boost/fiber/all.hpp>
#include <boost/version.hpp>
#include <deque>
#include <memory>
#include <vector>

namespace {

/// Boost's own scheduler, which also counts how often it picks the dispatcher. That costs 7 % of a yield, so the timed batches
/// run without it, and the same number of switches runs once more with it.
struct CountingScheduler final : boost::fibers::algo::round_robin {
    static inline std::uint64_t dispatched = 0;

    boost::fibers::context* pick_next() noexcept override {
        auto* next = round_robin::pick_next();
        dispatched += next != nullptr && next->is_context(boost::fibers::type::dispatcher_context);
        return next;
    }
};

struct Dispatched {
    struct Counting {
        Counting() { boost::fibers::use_scheduling_algorithm<CountingScheduler>(); }
        ~Counting() { boost::fibers::use_scheduling_algorithm<boost::fibers::algo::round_robin>(); }
    };
    static std::uint64_t dispatched() { return CountingScheduler::dispatched; }
};

/// Fibers that are joined at the end of their scope.
class Crew {
public:
    ~Crew() {
        for (auto& fiber : fibers_) fiber.join();
    }

    /// Queues a fiber. (launch::dispatch would run it immediately, and all others before it returns.)
    template <class Body>
    void start(std::uint32_t mxcsr, Body body) {
        fibers_.emplace_back(boost::fibers::launch::post, std::allocator_arg,
                             boost::fibers::fixedsize_stack(tollgate::stack_bytes), [mxcsr, body] {
                                 tollgate::set_mxcsr(mxcsr);
                                 body();
                             });
    }

private:
    std::vector<boost::fibers::fiber> fibers_;
};

/// this_fiber::yield().
template <class Meter>
class Yield : public Dispatched {
public:
    explicit Yield(const tollgate::Settings& settings) {
        for (std::uint64_t task = 1; task < settings.tasks; ++task) {
            crew_.start(settings.mxcsr(task), [this, task] {
                for (; !over_; boost::this_fiber::yield()) Meter::resumed(task);
            });
        }
    }
    ~Yield() { over_ = true; }

    void rounds(std::uint64_t rounds) {
        while (rounds-- > 0) {
            boost::this_fiber::yield();
            Meter::resumed(0);
        }
    }

private:
    bool over_ = false;
    Crew crew_;
};

/// unbuffered_channel: task i takes a token from its channel and puts it into that of task i + 1.
template <class Meter>
class Channel : public Dispatched {
public:
    explicit Channel(const tollgate::Settings& settings) : channels_(settings.tasks) {
        for (std::uint64_t task = 1; task < settings.tasks; ++task) {
            crew_.start(settings.mxcsr(task), [task, &mine = channels_[task], &next = following(task)] {
                bool token;
                while (mine.pop(token) == boost::fibers::channel_op_status::success) {
                    Meter::resumed(task);
                    next.push(token);
                }
            });
        }
    }
    ~Channel() {
        for (auto& channel : channels_) channel.close();
    }

    void rounds(std::uint64_t rounds) {
        bool token = true;
        while (rounds-- > 0) {
            channels_[1].push(token);
            channels_[0].pop(token);
            Meter::resumed(0);
        }
    }

private:
    using Token = boost::fibers::unbuffered_channel<bool>;
    Token& following(std::uint64_t task) { return channels_[(task + 1) % channels_.size()]; }

    std::deque<Token> channels_;
    Crew crew_;
};

}  // namespace

int main(int argc, char** argv) {
    tollgate::Settings settings(argc, argv);
    const char* version = "Boost " BOOST_LIB_VERSION ", g++ " __VERSION__;
    const char* note = "fixedsize_stack of 16 KiB, round_robin; visits of its dispatcher counted in as many switches more, untimed";
    settings.mxcsr_differs = settings.mechanism == "yield-mxcsr";
    if (settings.mechanism == "channel") return tollgate::measure<Channel>(settings, version, note);
    if (settings.mechanism.starts_with("yield")) return tollgate::measure<Yield>(settings, version, note);
    tollgate::fail("unknown mechanism: " + settings.mechanism);
}

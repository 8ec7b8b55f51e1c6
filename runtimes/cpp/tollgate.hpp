// The protocol for all C++ runtimes: parameters, clock, counting, batches and output.
//
// A runtime is a class template over a meter:
//
//     template <class Meter> struct Ring {
//         explicit Ring(const tollgate::Settings&);  // creates the tasks; each has run up to its first switch
//         void rounds(std::uint64_t);                // runs so many rounds; the caller is task 0 or the dispatcher
//         static std::uint64_t dispatched();         // optional: visits of the dispatcher since the start
//         static constexpr bool threads = true;      // optional: the kernel switches, and its count is printed
//         struct Counting;                           // optional: dispatched() grows only while one lives
//     };
//
// Each task calls Meter::resumed(task) each time it gets control, and nothing else of ours. With Count that is one
// addition; Stamp reads the clock too. They are two types, so that no batch includes the cost of the choice.
#pragma once

#include "clock.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tollgate {

/// Bytes of each stack whose size we choose: small, so that a million fit.
inline constexpr std::size_t stack_bytes = 16 * 1024;

/// Ends the program with a reason instead of figures.
[[noreturn]] inline void fail(const std::string& why) {
    std::printf("tollgate-runtime 1\nfail %s\nend\n", why.c_str());
    std::fflush(stdout);
    std::_Exit(0);
}

/// The parameters.
struct Settings {
    std::string mechanism;
    std::uint64_t tasks = 2, batches = 1, batch = 2, singles = 0;
    std::uint64_t warm_min_ms = 0, warm_max_ms = 0;
    /// Odd tasks have another MXCSR than even ones.
    bool mxcsr_differs = false;

    Settings(int argc, char** argv) {
        for (const std::string_view argument : std::vector<std::string_view>(argv + 1, argv + argc)) {
            const auto equals = argument.find('=');
            if (equals == argument.npos) fail("not key=value: " + std::string(argument));
            const auto key = argument.substr(0, equals);
            const auto value = std::string(argument.substr(equals + 1));
            if (key == "mechanism") mechanism = value;
            if (key == "tasks") tasks = number(value);
            if (key == "batches") batches = number(value);
            if (key == "batch") batch = number(value);
            if (key == "singles") singles = number(value);
            if (key == "warm_min_ms") warm_min_ms = number(value);
            if (key == "warm_max_ms") warm_max_ms = number(value);
        }
        if (tasks < 2 || batch == 0 || batch % tasks != 0) fail("batch must be a multiple of two or more tasks");
    }

    /// The MXCSR of a task.
    std::uint32_t mxcsr(std::uint64_t task) const { return mxcsr_differs && task % 2 == 1 ? 0x1fa0 : 0x1f80; }

private:
    static std::uint64_t number(const std::string& text) {
        char* end = nullptr;
        const auto value = std::strtoull(text.c_str(), &end, 10);
        if (text.empty() || *end != '\0') fail("not a number: " + text);
        return value;
    }
};

/// Resumptions of each task.
inline std::vector<std::uint64_t> resumes;

/// Counts.
struct Count {
    static void resumed(std::uint64_t task) { ++resumes[task]; }
};

/// Counts and times each switch: from just before a task gives up the processor until just after the next one has it.
struct Stamp {
    static inline std::vector<std::uint64_t> ticks;
    static inline std::uint64_t start;

    static void resumed(std::uint64_t task) {
        const auto end = Clock::now();
        ++resumes[task];
        if (ticks.size() < ticks.capacity()) ticks.push_back(end - start);
        start = Clock::now();
    }
};

inline std::uint64_t resident_bytes() {
    std::uint64_t size = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> size >> resident;
    return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// Context switches of this process by the kernel, voluntary or not: a thread that is woken often preempts its waker.
inline std::uint64_t kernel_switches() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw);
}

/// Measures a ring and prints everything.
template <template <class> class Ring>
int measure(const Settings& settings, const char* version, const char* note) {
    const auto rounds = settings.batch / settings.tasks;
    resumes.assign(settings.tasks, 0);
    const auto rss_before = resident_bytes();
    std::uint64_t rss_after, warm = 0, counted, dispatched = 0, kernel;
    bool steady = false;
    std::vector<std::uint64_t> samples(settings.batches);
    const auto sum = [] { return std::accumulate(resumes.begin(), resumes.end(), std::uint64_t{0}); };
    {
        Ring<Count> ring(settings);
        ring.rounds(1);
        rss_after = resident_bytes();
        const auto batch = [&] {
            set_mxcsr(settings.mxcsr(0));
            const auto start = Clock::now();
            ring.rounds(rounds);
            return Clock::now() - start;
        };

        constexpr std::size_t window = 8;
        const auto warm_start = monotonic_raw();
        const auto elapsed_ms = [&] { return (monotonic_raw() - warm_start) / 1'000'000; };
        std::uint64_t before = 0, fastest = UINT64_MAX;
        for (unsigned calm = 0, made = 0; !steady && elapsed_ms() < settings.warm_max_ms;) {
            fastest = std::min(fastest, batch());
            warm += settings.batch;
            if (++made % window != 0) continue;
            calm = before != 0 && fastest * 100 >= before * 98 ? calm + 1 : 0;
            steady = calm >= 2 && elapsed_ms() >= settings.warm_min_ms;
            before = std::exchange(fastest, UINT64_MAX);
        }

        const auto counted_before = sum(), kernel_before = kernel_switches();
        if constexpr (requires { ring.dispatched(); }) dispatched = ring.dispatched();
        for (auto& sample : samples) sample = batch();
        kernel = kernel_switches() - kernel_before;
        counted = sum() - counted_before;
        if constexpr (requires { typename Ring<Count>::Counting; }) {
            const typename Ring<Count>::Counting counting;
            ring.rounds(rounds * settings.batches);
        }
        if constexpr (requires { ring.dispatched(); }) dispatched = ring.dispatched() - dispatched;
    }

    // In a second set of tasks, whose loops read the clock. A very large set is not created twice.
    const auto singles = settings.tasks <= 10'000 ? settings.singles : 0;
    std::vector<std::uint64_t> pairs(singles);
    for (auto& pair : pairs) {
        const auto start = Clock::now();
        pair = Clock::now() - start;
    }
    if (singles > 0) {
        Ring<Stamp> ring(settings);
        ring.rounds(1);
        Stamp::ticks.reserve(singles);
        set_mxcsr(settings.mxcsr(0));
        Stamp::start = Clock::now();
        ring.rounds((singles + settings.tasks - 1) / settings.tasks);
    }

    const auto scale = Clock::ns_per_tick();
    const auto ns = [&](std::uint64_t ticks) { return static_cast<double>(ticks) * scale; };
    const auto print = [](const char* key, std::uint64_t value) { std::printf("%s %lu\n", key, value); };
    std::printf("tollgate-runtime 1\nversion %s\nclock %.3f %s\n", version, ns(Clock::step()), Clock::name());
    std::printf("rss %lu %lu\nwarm %lu %s\n", rss_before, rss_after, warm, steady ? "steady" : "limit");
    for (const auto ticks : samples) std::printf("sample %lu %.1f\n", settings.batch, ns(ticks));
    for (const auto ticks : pairs) std::printf("pair %.1f\n", ns(ticks));
    for (const auto ticks : Stamp::ticks) std::printf("single 1 %.1f\n", ns(ticks));
    print("count switches", settings.batch * settings.batches);
    print("count resumes", counted);
    if constexpr (requires { Ring<Count>::dispatched(); }) print("count dispatcher", dispatched);
    if constexpr (requires { Ring<Count>::threads; }) print("count kernel", kernel);
    if (*note != '\0') std::printf("note %s\n", note);
    std::printf("end\n");
    return 0;
}

}  // namespace tollgate

// The clock, and the state of the floating-point unit that some switches depend on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <time.h>
#include <vector>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace tollgate {

/// Sets the control and status of SSE: a switch that saves it is slow where its two sides differ, and one inexact
/// result of a floating-point operation makes them differ.
inline void set_mxcsr([[maybe_unused]] std::uint32_t value) {
#if defined(__x86_64__)
    _mm_setcsr(value);
#endif
}

/// The operating system's clock, in nanoseconds.
inline std::uint64_t monotonic_raw() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// The processor's counter where its rate is constant, else the operating system's clock.
class Clock {
public:
    static std::uint64_t now() {
#if defined(__x86_64__)
        if (counter) {
            _mm_lfence();
            const auto ticks = __rdtsc();
            _mm_lfence();
            return ticks;
        }
#endif
        return monotonic_raw();
    }
    /// Nanoseconds of a tick, by the operating system's clock since the program began.
    static double ns_per_tick() {
        if (!counter) return 1.0;
        return static_cast<double>(monotonic_raw() - began_ns) / static_cast<double>(now() - began);
    }
    /// The smallest step between two lengths that the clock tells apart, in ticks: some counters advance by many.
    static std::uint64_t step() {
        std::vector<std::uint64_t> lengths(1000);
        for (auto& length : lengths) {
            const auto start = now();
            length = now() - start;
        }
        std::sort(lengths.begin(), lengths.end());
        std::uint64_t step = UINT64_MAX;
        for (std::size_t i = 1; i < lengths.size(); ++i) {
            const auto apart = lengths[i] - lengths[i - 1];
            if (apart > 1) step = std::min(step, apart);  // neighbours are one step that was rounded either way
        }
        return step == UINT64_MAX ? 1 : step;
    }
    static const char* name() { return counter ? "lfence rdtsc lfence" : "clock_gettime(CLOCK_MONOTONIC_RAW)"; }

private:
    static bool invariant() {
#if defined(__x86_64__)
        unsigned a, b, c, d = 0;
        return __get_cpuid(0x8000'0007, &a, &b, &c, &d) != 0 && (d & 1u << 8) != 0;
#else
        return false;
#endif
    }
    static inline const bool counter = invariant();
    static inline const std::uint64_t began_ns = monotonic_raw(), began = now();
};

}  // namespace tollgate

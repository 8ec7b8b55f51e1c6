// What the harnesses of all cores share: memory, a timer, and the trace of what retires.
#pragma once
#include <cstdint>
#include <cstdio>
#include <deque>
#include <vector>

constexpr uint64_t ROM = 0x10000000, RAM = 0x80000000, CLINT = 0x02000000;
constexpr uint64_t RAM_BYTES = 8 << 20;

// One simulated core with its surroundings.
struct Sim {
    // From the command line.
    uint64_t latency = 1;  // cycles from an accepted request to the first answer
    uint64_t entry = RAM, stop = 0, stops = 1, limit = 0;
    uint64_t irq_at = 0, irq_every = 0, irq_phases = 0, irq_handler = 0;

    std::vector<uint8_t> ram = std::vector<uint8_t>(RAM_BYTES);
    uint64_t cycle = 0;
    bool done = false;  // reached `stop` so often
    bool external = false;  // the interrupt line
    bool behind = false;    // an interrupt controller is before the core: the harness calls see()
    FILE *trace = nullptr;

    // The 8 aligned bytes at an address; false where there is neither memory nor a device.
    bool read(uint64_t address, uint64_t &data);
    bool write(uint64_t address, uint64_t data, uint8_t strobe);
    // The same for a bus of 32 bits.
    bool read32(uint64_t address, uint32_t &data);
    bool write32(uint64_t address, uint32_t data, uint8_t strobe);

    // An instruction left the core in this cycle. Its bits are those in memory.
    void retire(uint64_t pc, bool trapped);
    // The core sees the interrupt line raised in this cycle.
    void see();
    // Call once at the end of each cycle.
    void tick();

    bool running() const { return !done && cycle < limit; }
    bool timer() const { return mtime >= mtimecmp; }
    bool software() const { return msip & 1; }

  private:
    uint64_t mtime = 0, mtimecmp = ~0ull, msip = 0;
    bool started = false;
    uint64_t seen = 0, phase = 0, raise = ~0ull;
    uint8_t *bytes(uint64_t address);
};

// Answers that are under way, in order.
template <typename T> struct Delayed {
    std::deque<std::pair<uint64_t, T>> queue;
    void push(uint64_t due, T value) { queue.emplace_back(due, value); }
    bool ready(uint64_t now) const { return !queue.empty() && queue.front().first <= now; }
    T pop() {
        T value = queue.front().second;
        queue.pop_front();
        return value;
    }
};

// Simulates while `sim.running()`: one definition for each core.
void simulate(Sim &sim);
